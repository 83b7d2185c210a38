// The cell rule: which cell a coordinate lies in, and where in that cell.
//
//     quotient   q = x / cell_size          a true division: x * (1 / cell_size) would move points
//     cell       floor(q)                   for |q| < 2^51
//     offset     q - cell, as 32-bit fixed point, rounded to nearest, ties to even
//     tie rule   a position y that was moved lies in cell floor(y + 2^-20): a mean that rounding left just
//                below an edge counts as on it
//
// Sums of offsets are integers, so they do not depend on the order of adding; all exactness rests on this.
//
// The loops of every instruction set include this header. Its functions are static, because the linker
// would merge inline functions and might keep the copy that needs the newest instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernel/base/limits.hpp"

namespace mspp {

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double quotient_of(double x, double cell_size) { return x / cell_size; }

// False also for NaN.
static inline bool has_cell(double quotient) { return std::fabs(quotient) < static_cast<double>(kMaxCell); }

// floor(quotient) where has_cell(quotient); elsewhere a value that lies outside of (-2^51, 2^51) too, or NaN.
// Plain x86-64 has no instruction for floor, and a call for each number would be slow: adding 1.5 * 2^52
// rounds to an integer.
static inline double cell_of(double quotient) {
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(__SSE4_1__)
    const double rounded = (quotient + 0x1.8p52) - 0x1.8p52;
    return rounded - static_cast<double>(rounded > quotient);  // a branch would be mispredicted half the time
#else
    return std::floor(quotient);
#endif
}

// The addition itself rounds: a double in [2^20, 2^21) has an ulp of 2^-32.
static inline uint64_t offset_of(double quotient, double cell) {
    static_assert(kOffsetBits == 52 - 20);
    return bits_of(quotient - cell + 0x1p20) - bits_of(0x1p20);
}

// What the tie rule adds to a position: in cells, and in fixed point with `bits` bits per cell.
inline constexpr double kTieShift = 1.0 / (1 << kTieBits);
static inline uint64_t tie_shift(int bits) { return uint64_t{1} << (bits - kTieBits); }

// Rounds 0 <= x < 2^51 to the nearest integer, ties to even; the same on every machine.
static inline uint64_t nearest(double x) { return bits_of(x + 0x1p52) - bits_of(0x1p52); }

}  // namespace mspp
