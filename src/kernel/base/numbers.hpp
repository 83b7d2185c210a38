// The numbers: a coordinate in units of the bandwidth is a whole cell and a 32-bit fixed-point offset in it.
//
// Sums of such offsets are integers, so they do not depend on the order of adding; everything exact rests on
// this.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernel/base/limits.hpp"

namespace mspp {

using u64 = uint64_t;
using i64 = int64_t;
using u32 = uint32_t;
using i32 = int32_t;

inline constexpr double kCellLimit = static_cast<double>(kMaxCell);
inline constexpr double kOffsetMagic = 0x1p20;  // a double in [2^20, 2^21) has an ulp of 2^-32

// A fraction in [0, 1] as fixed point, rounded to nearest, ties to even: the addition itself rounds.
inline u64 offset_of(double fraction) {
    return std::bit_cast<u64>(fraction + kOffsetMagic) - std::bit_cast<u64>(kOffsetMagic);
}

// Rounds to the nearest integer, ties to even; for 0 <= x < 2^51, on every machine alike.
inline u64 nearest(double x) { return std::bit_cast<u64>(x + 0x1p52) - std::bit_cast<u64>(0x1p52); }

}  // namespace mspp
