// A hash of a row of whole numbers.
#pragma once

#include "kernel/base/mix_bits.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

inline constexpr u64 kGolden = 0x9E3779B97F4A7C15;

inline u64 hash_row(const i64* row, size_t d) {
    u64 hash = 0;
    for (size_t j = 0; j < d; ++j) hash = mix_bits((hash ^ static_cast<u64>(row[j])) + kGolden);
    return hash;
}

}  // namespace mspp
