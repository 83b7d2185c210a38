// The inner loops over points, one block at a time.
//
// loops.cpp is compiled once per instruction set (see CMakeLists.txt), and dispatch.cpp chooses one when the
// program runs. loops.cpp must not instantiate templates of the standard library: the linker merges equal
// instantiations and might keep one that needs instructions this machine lacks.
#pragma once

#include <cstdint>

#include "kernel/base/limits.hpp"
#include "kernel/cells/rank_word.hpp"

namespace mspp {

inline constexpr int kBlock = 512;  // points at a time: their offsets stay in the first-level cache
inline constexpr int kCopies = 4;   // of a dense table for bytes

// The box of cells that a table covers, repeated for eight points so that one pattern fits their interleaved
// coordinates.
struct BoxPattern {
    double cell_size[8 * kMaxKeyAxes];
    double low[8 * kMaxKeyAxes];     // first cell of the box
    double extent[8 * kMaxKeyAxes];  // cells along this axis
    double stride[8 * kMaxKeyAxes];  // the difference in key of two adjacent cells along this axis
};

// For points that are bytes: the part of the key and the offset of each of the 256 values.
struct ByteTables {
    double key[kMaxKeyAxes][256];
    uint64_t offset[kMaxKeyAxes][256];
};

// Numbers in a row of a dense table for bytes: count and sums, padded so that a row is one vector.
constexpr int byte_row_width(int d) { return d == 1 ? 2 : d <= 3 ? 4 : d <= 7 ? 8 : 16; }

// IN points (n, d), contiguous; OUT keys (n,), offsets (n, d). Returns false if a point is outside the box or
// not finite; the key and offsets of such a point are undefined. Keys are below 2^53, and exact.
template <class T>
using SplitFn = bool (*)(const T* points, int n, const BoxPattern& box, double* keys, uint64_t* offsets);

struct BlockLoops {
    SplitFn<float> split_f32[kMaxKeyAxes + 1];
    SplitFn<double> split_f64[kMaxKeyAxes + 1];
    // The same for bytes; their box holds all 256 values.
    void (*split_u8[kMaxKeyAxes + 1])(const uint8_t* points, int n, const ByteTables& tables, double* keys,
                                      uint64_t* offsets);
    // IN ids (n,), offsets (n, d); IN/OUT table of moments, rows of 1 + d.
    void (*add[kMaxKeyAxes + 1])(const int32_t* ids, const uint64_t* offsets, int n, uint64_t* table);
    // Splits and adds at once, for bytes and a dense table. IN rows (d, 256, width): what each value adds to
    // a row, with its part of the key in the upper half of the count. IN/OUT kCopies tables, `copy` numbers
    // apart, used in turn: neighbouring points are often in the same cell, and repeated additions to one row
    // would each wait for memory. OUT ids (n,).
    void (*add_u8[kMaxKeyAxes + 1])(const uint8_t* points, int n, const uint64_t* rows, uint64_t* tables,
                                    int64_t copy, int32_t* ids);
    // IN keys; OUT ids: the keys themselves.
    void (*ids_of_keys)(const double* keys, int n, int32_t* ids);
    // IN keys; IN/OUT bitmap.
    void (*mark)(const double* keys, int n, uint64_t* bitmap);
    // IN keys, words with `rows` marks; OUT ids: the ranks of the keys, below `rows` even if another thread
    // has changed the points since they were marked.
    void (*rank)(const double* keys, int n, const RankWord* words, int64_t rows, int32_t* ids);
};

struct LoopChoice {
    const char* name;  // of the instruction set
    const BlockLoops& loops;
    bool runs_here;
};

// All compiled loops, best first.
const LoopChoice* loop_choices(int& n);
// The loops of that name, or with null the best for this machine; null if there are none that run here.
const BlockLoops* find_loops(const char* name);

}  // namespace mspp
