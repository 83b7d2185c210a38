// The inner loops over points, a block at a time. Compiled once per instruction set (see CMakeLists.txt) and
// chosen when the program runs, so nothing here may use templates of the standard library: the linker would
// merge them.
#pragma once

#include <cstdint>

namespace mspp {

inline constexpr int kBlock = 512;  // points split at a time: their offsets stay in the first-level cache
inline constexpr int kMaxFixedAxes = 6;  // loops for up to this many axes are unrolled

// The box of cells a table covers, repeated for eight points so that one pattern fits the interleaved
// coordinates.
struct BoxPattern {
    double bandwidth[8 * kMaxFixedAxes];
    double low[8 * kMaxFixedAxes];     // first cell of the box
    double extent[8 * kMaxFixedAxes];  // cells along this axis
    double stride[8 * kMaxFixedAxes];  // what one cell along this axis adds to the key
};

// IN points (n, d) contiguous; OUT keys (n,), offsets (n, d). False when a point is outside the box or not
// finite; then keys and offsets of that point mean nothing. Keys are below 2^53, and exact.
template <class T>
using SplitFn = bool (*)(const T* points, int n, const BoxPattern& box, double* keys, uint64_t* offsets);

// IN keys, offsets; IN/OUT table of rows (1 + d), ids (n,) or null.
using AddFn = void (*)(const double* keys, const uint64_t* offsets, int n, uint64_t* table, int32_t* ids);

struct BlockLoops {
    SplitFn<float> split_f32[kMaxFixedAxes + 1];
    SplitFn<double> split_f64[kMaxFixedAxes + 1];
    SplitFn<uint8_t> split_u8[kMaxFixedAxes + 1];
    AddFn add[kMaxFixedAxes + 1];
};

// The loops for the best instruction set of this machine.
const BlockLoops& block_loops();

}  // namespace mspp
