// Window sums: for every query cell, the moments added up over the (2r+1)^d target cells around it, r being
// the reach.
//
// The sums are integers modulo 2^64, so a partial sum can be shared by many windows and subtracted again: the
// result is bit-identical for both methods, row_sums.hpp and plane_sums.hpp.
#pragma once

#include <array>
#include <vector>

#include "kernel/cells/keys.hpp"
#include "kernel/cells/trie.hpp"

namespace mspp {

// The method: along the rows of the walk, or by planes.
enum class WindowSums { automatic, rows, planes };

// Sorted cells with their moments: N, A_1 .. A_d per cell.
template <int D>
struct WeightedCells {
    const Keys<D>& keys;
    const u64* moments;
    int bits;  // of a position in a cell

    // Adds to the moments `to` what the sums of positions of cell k change by if it is found beyond edges.
    template <int Sign>
    void add_wraps(i64 k, int width, const Wrap* wrap, u64* to) const {
        for (; wrap; wrap = wrap->above)
            to[wrap->j + 1] += Sign * moments[k * width] * (static_cast<u64>(wrap->by) << bits);
    }
};

// N, A_1 .. A_d of one window; in registers if d is known at compile time.
template <int D>
struct Total : std::array<u64, D + 1> {
    explicit Total(int) {}
};
template <>
struct Total<0> : std::vector<u64> {
    explicit Total(int width) : std::vector<u64>(static_cast<size_t>(width)) {}
};

}  // namespace mspp
