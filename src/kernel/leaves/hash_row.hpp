// A hash of a row of whole numbers.
#pragma once

#include <vector>

#include "kernel/base/mix_bits.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

inline constexpr u64 kGolden = 0x9E3779B97F4A7C15;

inline u64 add_to_hash(u64 hash, i64 value) { return mix_bits((hash ^ static_cast<u64>(value)) + kGolden); }

inline u64 hash_row(const i64* row, size_t d) {
    u64 hash = 0;
    for (size_t j = 0; j < d; ++j) hash = add_to_hash(hash, row[j]);
    return hash;
}

// Hashes some numbers of a row.
inline u64 hash_row(const i64* row, const std::vector<size_t>& places) {
    u64 hash = 0;
    for (const size_t j : places) hash = add_to_hash(hash, row[j]);
    return hash;
}

}  // namespace mspp
