// The limits of exact arithmetic and the constants of the search, each defined here only.
//
// `_kernel` exports them to Python, which passes them on to CUDA. Constants only, without templates of the
// standard library, because the loops of every instruction set include this header.
#pragma once

#include <cstdint>

namespace mspp {

inline constexpr int kOffsetBits = 32;                  // of a point's fixed-point offset in its cell
inline constexpr int kTieBits = 20;                     // a mean within 2^-20 below an edge is on it
inline constexpr int kWindowSumBits = 63;               // of a sum over a window along one axis
inline constexpr uint64_t kCountLimit = 0xFFFFFFFF;     // a heavier cell could overflow its sums of offsets
inline constexpr int64_t kMaxCell = int64_t{1} << 51;   // |x / cell_size| stays below: a fraction is left
inline constexpr int64_t kMaxExact = int64_t{1} << 53;  // a double holds every integer up to this
inline constexpr int kMaxReach = 64;                    // cells from the centre of a window to its border
inline constexpr int kFreeSteps = 64;                   // of a search, in which cells move however little
inline constexpr int kDoublingSteps = 8;            // after which the longest move of a resting cell doubles
inline constexpr int kMaxFeatures = 1 << 20;        // axes of a grid: products with them fit 64 bits
inline constexpr int kMaxKeyAxes = 10;              // cells of up to this many axes are numbered
inline constexpr int64_t kMaxColourCells = 20000;   // of a tracker: their ids have 16 bits
inline constexpr int64_t kMarginalCells = 1 << 16;  // of one feature: its finest cells are as many

}  // namespace mspp
