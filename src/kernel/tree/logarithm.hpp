// Base-2 logarithms in whole multiples of 2^-16, equal on every platform: integers and square roots only.
#pragma once

#include <bit>
#include <cmath>

#include "kernel/base/numbers.hpp"

namespace mspp {

inline constexpr int kLogBits = 16;
inline constexpr double kLogUnit = 1.0 / (1 << kLogBits);
inline constexpr double kLn2 = 0.6931471805599453;

namespace detail {

// log2(v) in units of 2^-16, rounded down, bit by bit: the definition.
inline i64 log2_units_by_bits(double v) {
    const u64 bits = std::bit_cast<u64>(v);
    i64 result = static_cast<i64>(bits >> 52) - 1023;
    u64 mantissa = ((bits & ((u64{1} << 52) - 1)) | (u64{1} << 52)) >> 21;  // 31 bits after the point
    for (int k = 0; k < kLogBits; ++k) {
        mantissa = mantissa * mantissa >> 31;
        const u64 carry = mantissa >> 32;  // 0 or 1
        mantissa >>= carry;
        result = result * 2 + static_cast<i64>(carry);
    }
    return result;
}

// Numbers from 1 to 2, 128 to a table.
struct LogTable {
    double inverse[128], log[128];
    LogTable() {
        for (int k = 0; k < 128; ++k) {
            inverse[k] = 1 / (1 + (k + 0.5) / 128);
            log[k] = -std::log2(inverse[k]);
        }
    }
};
inline const LogTable kLogTable;

}  // namespace detail

// log2(v) in units of 2^-16, rounded down. IN v > 0 and normal. A table and a polynomial are off by less than
// 2^-20 units, and the definition by less than 2^-14, so their results agree unless the logarithm is close to
// a whole number.
inline i64 log2_units(double v) {
    constexpr double kClose = 0x1p-12;
    const u64 bits = std::bit_cast<u64>(v), fraction = bits & ((u64{1} << 52) - 1);
    const size_t place = fraction >> 45;
    const double z = std::bit_cast<double>(fraction | u64{1023} << 52) * detail::kLogTable.inverse[place] - 1;
    const double series = z * (1 + z * (-1.0 / 2 + z * (1.0 / 3 - z / 4))) / kLn2;
    const double exponent = static_cast<double>(static_cast<i64>(bits >> 52) - 1023);
    const double units = (exponent + (detail::kLogTable.log[place] + series)) / kLogUnit;
    i64 result = static_cast<i64>(units);
    result -= static_cast<double>(result) > units;
    const double rest = units - static_cast<double>(result);
    return rest > kClose && rest < 1 - kClose ? result : detail::log2_units_by_bits(v);
}

inline double log2_of(double v) { return static_cast<double>(log2_units(v)) * kLogUnit; }

// 2^(units / 2^16).
inline double exp2_units(i64 units) {
    double result = 1, root = 2;
    for (int k = kLogBits - 1; k >= 0; --k) {
        root = std::sqrt(root);
        if (units >> k & 1) result *= root;
    }
    return std::ldexp(result, static_cast<int>(units >> kLogBits));
}

}  // namespace mspp
