// The state of a search: the occupied cells of a step, and where the last step moved them.
//
// Positions are fixed point with `bits` bits per cell: 32 unless the total weight is above 2^29. A cell has
// moments: its count N and, per axis, the sum A of its points' absolute positions modulo 2^64. All positions
// carry the 2^-20 of the tie rule from the start; read_modes (seek.hpp) removes it at the end.
//
// Most steps of a search move few cells. It is then incremental: a cell is `changed` if its content is not
// that of the step before, and only windows near changed cells are summed again.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/disjoint_sets.hpp"
#include "kernel/cells/grid.hpp"
#include "kernel/cells/periods.hpp"
#include "kernel/cells/trie.hpp"

namespace mspp {

// Bits that the weight of a window and a position in a cell may have together.
inline int window_bits(int reach) { return kWindowSumBits - std::bit_width(static_cast<u32>(2 * reach + 1)); }

// The cells whose content a step changes: their number, and a list of them if they are few.
class ChangingCells {
  public:
    explicit ChangingCells(i64 few) : few_(few) {}
    void add(i64 i) {
        if (++count_ <= few_) list_.push_back(static_cast<u32>(i));
    }
    i64 count() const { return count_; }
    const std::vector<u32>& list() const { return list_; }

  private:
    i64 few_, count_ = 0;
    std::vector<u32> list_;
};

template <int D>
struct SearchState {
    SearchState(const GridView& grid, const Box& box, Periods periods, int reach, u64 total)
        : axes(grid.d),
          reach(reach),
          bits(std::min(kOffsetBits, window_bits(reach) - static_cast<int>(std::bit_width(total)))),
          ghosts(box, periods, reach),
          keys(make_keys<D>(grid.cells, grid.m, box)),
          next_keys(box),
          groups(static_cast<size_t>(grid.m)),
          targets(box) {
        const int drop = kOffsetBits - bits;
        moments.resize(static_cast<size_t>(grid.m * width()));
        each_of({0, grid.m}, 2 * width(), [&](i64 i) {
            const u64 n = grid.counts[i];
            moments[i * width()] = n;
            for (int j = 0; j < d(); ++j) {
                const u64 sum = grid.sums[i * d() + j];
                const u64 offsets = drop == 0 ? sum : (sum + (u64{1} << (drop - 1))) >> drop;
                moments[i * width() + j + 1] = offsets + n * (corner(i, j) + tie_shift(bits));
            }
        });
        group.resize(static_cast<size_t>(grid.m));
        std::iota(group.begin(), group.end(), 0u);
    }

    int d() const { return D > 0 ? D : axes; }
    int width() const { return d() + 1; }
    u64 count(i64 i) const { return moments[i * width()]; }
    u64 corner(i64 i, int j) const { return static_cast<u64>(keys.at(i, j)) << bits; }
    bool stays(i64 i) const { return targets.equal(i, keys, i); }
    // Whether all points of cell i are at the position that the step moves them to.
    bool is_at(i64 i) const {
        bool same = true;
        for (int j = 0; j < d(); ++j)
            same = same && count(i) * positions[i * d() + j] == moments[i * width() + j + 1];
        return same;
    }

    const int axes;
    const i64 reach;
    const int bits;
    Ghosts<D> ghosts;
    bool incremental = false;  // few cells move: only windows near changed cells are summed

    // The occupied cells, sorted, and those of the next step. While the search is incremental, a cell that
    // was left stays one step longer with a count of 0, so that its neighbours see the change.
    Keys<D> keys, next_keys;
    Array<u64> moments, next_moments;  // per cell: N, A_1 .. A_d
    Array<u32> group, next_group;      // per cell: the group that represents all points in it
    DisjointSets groups;               // of the cells of the grid: those that have met

    // If incremental, per cell: whether its content has changed, and a cell of the last step that moved to
    // it; per cell of the last step: its position.
    Array<char> changed;
    Array<u32> source;
    Array<u64> last_positions;

    // Per cell: where this step moves it; per thread: the cells whose content it changes.
    Keys<D> targets;
    Array<u64> positions;
    std::vector<ChangingCells> changing;
};

}  // namespace mspp
