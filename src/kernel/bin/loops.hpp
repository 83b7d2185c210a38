// The inner loops over points, a block at a time. Compiled once per instruction set (see CMakeLists.txt) and
// chosen when the program runs, so block.cpp may use no templates of the standard library: the linker would
// merge them.
#pragma once

#include <cstdint>

#include "kernel/base/limits.hpp"

// A hint that this address will be read or written soon.
#if !defined(_MSC_VER)
#define MSPP_PREFETCH(p) __builtin_prefetch(p)
#elif defined(_M_X64)
#include <intrin.h>
#define MSPP_PREFETCH(p) _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0)
#else
#define MSPP_PREFETCH(p) static_cast<void>(p)
#endif

namespace mspp {

inline constexpr int kBlock = 512;  // points at a time: their offsets stay in the first-level cache
inline constexpr int kCopies = 4;   // of a dense table for bytes

// The box of cells a table covers, repeated for eight points so that one pattern fits the interleaved
// coordinates.
struct BoxPattern {
    double cell_size[8 * kMaxKeyAxes];
    double low[8 * kMaxKeyAxes];     // first cell of the box
    double extent[8 * kMaxKeyAxes];  // cells along this axis
    double stride[8 * kMaxKeyAxes];  // what one cell along this axis adds to the key
};

// For bytes there is nothing to compute: what each value adds to the key, and its offset.
struct ByteTables {
    double key[kMaxKeyAxes][256];
    uint64_t offset[kMaxKeyAxes][256];
};

// Numbers in a row of a dense table for bytes: count and sums, filled up so that a row is one vector.
constexpr int byte_row_width(int d) { return d == 1 ? 2 : d <= 3 ? 4 : 8; }

// 64 slots of a bitmap, and the marks in all earlier words: see rank.hpp.
struct RankWord {
    uint64_t marks, before;
};

// IN points (n, d) contiguous; OUT keys (n,), offsets (n, d). False when a point is outside the box or not
// finite; then keys and offsets of that point mean nothing. Keys are below 2^53, and exact.
template <class T>
using SplitFn = bool (*)(const T* points, int n, const BoxPattern& box, double* keys, uint64_t* offsets);

struct BlockLoops {
    SplitFn<float> split_f32[kMaxKeyAxes + 1];
    SplitFn<double> split_f64[kMaxKeyAxes + 1];
    // The same for bytes, whose box holds all 256 values.
    void (*split_u8[kMaxKeyAxes + 1])(const uint8_t* points, int n, const ByteTables& tables, double* keys,
                                      uint64_t* offsets);
    // IN ids (n,), offsets (n, d); IN/OUT table of rows (1 + d).
    void (*add[kMaxKeyAxes + 1])(const int32_t* ids, const uint64_t* offsets, int n, uint64_t* table);
    // Splitting and adding at once, for bytes and a dense table. IN rows (d, 256, 1 + d): what each value
    // adds, the key in the upper half of the count; IN/OUT kCopies tables, `copy` numbers apart, taken in
    // turn: neighbouring points are often in one cell, and adding to the same row again and again would wait
    // for memory each time. OUT ids (n,).
    void (*add_u8[kMaxKeyAxes + 1])(const uint8_t* points, int n, const uint64_t* rows, uint64_t* tables,
                                    int64_t copy, int32_t* ids);
    // IN keys; OUT ids: the keys themselves.
    void (*ids_of_keys)(const double* keys, int n, int32_t* ids);
    // IN keys; IN/OUT bitmap.
    void (*mark)(const double* keys, int n, uint64_t* bitmap);
    // IN keys, words with `rows` marks; OUT ids: the ranks of the keys, below `rows` even if the points have
    // changed since.
    void (*rank)(const double* keys, int n, const RankWord* words, int64_t rows, int32_t* ids);
};

struct LoopChoice {
    const char* name;  // of the instruction set
    const BlockLoops& loops;
    bool runs_here;
};

// All that were compiled, best first.
const LoopChoice* loop_choices(int& n);
// The loops of that name, or, with null, the best that run on this machine; null if they do not run here.
const BlockLoops* find_loops(const char* name);

}  // namespace mspp
