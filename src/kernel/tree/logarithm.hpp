// Base-2 logarithms in whole multiples of 2^-16, equal on every platform: integers and square roots only.
#pragma once

#include <bit>
#include <cmath>

#include "kernel/base/numbers.hpp"

namespace mspp {

inline constexpr int kLogBits = 16;
inline constexpr double kLogUnit = 1.0 / (1 << kLogBits);
inline constexpr double kLn2 = 0.6931471805599453;

// log2(v) in units of 2^-16, rounded down. IN v > 0 and normal.
inline i64 log2_units(double v) {
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
