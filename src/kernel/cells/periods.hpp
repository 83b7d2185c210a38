// Periods: axes that repeat after a whole number of cells.
//
// Cells of such an axis are numbered from 0 to the period less one. A window that reaches over an edge sees
// the cells at the other edge, one period away. On the last three axes, along which windows are summed, they
// have copies there, ghosts, which are only read; on the axes before, the walk (trie.hpp) looks beyond the
// edge. A corner of k axes would need 2^k ghosts, so their number is bounded in this way. A cell that moves
// over an edge is wrapped: moved back by one period. All of this adds whole periods to positions, which are
// modulo 2^64, so the result is exact.
#pragma once

#include "kernel/cells/keys.hpp"
#include "kernel/cells/trie.hpp"

namespace mspp {

// The cells in the period of each axis; 0 for an axis without one. A period is at least as long as a window.
struct Periods {
    const i64* cells;  // (d,), or null: no axis has a period
    i64 at(size_t j) const { return cells ? cells[j] : 0; }

    // Widens the box to hold all cells of each period and the ghosts within reach.
    void widen(Box& box, i64 reach) const {
        for (size_t j = 0; j < box.low.size(); ++j)
            if (at(j) > 0) {
                box.low[j] = -reach;
                box.high[j] = at(j) - 1 + reach;
            }
    }
};

template <int D>
class Ghosts {
  public:
    Ghosts(const Box& box, Periods periods, i64 reach) : reach_(reach), unsorted_(box), keys_(box) {
        for (size_t j = 0; j < box.low.size(); ++j) {
            if (periods.at(j) == 0) continue;
            axes_.push_back({static_cast<int>(j), 1 - box.low[j], periods.at(j)});
            if (j + kGhostAxes < box.low.size()) walked_.push_back(axes_.back());
        }
    }
    bool none() const { return axes_.empty(); }
    const std::vector<PeriodicAxis>& walked() const { return walked_; }  // the axes without ghosts
    const Keys<D>& keys() const { return keys_; }   // the cells and their ghosts, sorted,
    u32 origin(i64 k) const { return origin_[k]; }  // and the cell that each of them is a copy of

    void build(const Keys<D>& cells) {
        unsorted_.resize(cells.size());
        for (i64 k = 0; k < cells.size(); ++k) unsorted_.copy(k, cells, k);
        unsorted_origin_.resize(static_cast<size_t>(cells.size()));
        std::iota(unsorted_origin_.begin(), unsorted_origin_.end(), 0u);
        for (size_t a = walked_.size(); a < axes_.size(); ++a) {  // ghosts of ghosts lie beyond the corners
            const PeriodicAxis& axis = axes_[a];
            each_of({0, unsorted_.size()}, [&](i64 k) {
                const i64 v = unsorted_.at(k, axis.j) - axis.start;
                if (v < reach_) add(k, axis.j, axis.period);
                if (v >= axis.period - reach_) add(k, axis.j, -axis.period);
            });
        }
        keys_.resize(unsorted_.size());
        origin_.resize(unsorted_origin_.size());
        unsorted_.rank(ranks_, 1);
        each_of({0, unsorted_.size()}, [&](i64 k) {
            keys_.copy(ranks_[k], unsorted_, k);
            origin_[ranks_[k]] = unsorted_origin_[k];
        });
    }

    // OUT moments of the cells and their ghosts; the sum of positions A_j moves with the ghost.
    void fill(const Keys<D>& cells, const Array<u64>& from, int bits, Array<u64>& moments) const {
        const size_t width = static_cast<size_t>(cells.axes() + 1);
        moments.resize(origin_.size() * width);
        each_of({0, static_cast<i64>(origin_.size())}, cells.axes(), [&](i64 k) {
            const u64* own = &from[origin_[k] * width];
            std::copy(own, own + width, &moments[k * width]);
            for (const PeriodicAxis& axis : axes_) {
                const i64 by = keys_.at(k, axis.j) - cells.at(origin_[k], axis.j);
                moments[k * width + static_cast<size_t>(axis.j) + 1] +=
                    own[0] * (static_cast<u64>(by) << bits);
            }
        });
    }

    // Moves cell i back into the period, and its position with it.
    void wrap(Keys<D>& cells, i64 i, int bits, u64* position) {
        bool outside = false;
        read(cells, i);
        for (const PeriodicAxis& axis : axes_) {
            i64& at = cell_[static_cast<size_t>(axis.j)];
            const i64 by = at < axis.start ? axis.period : at >= axis.start + axis.period ? -axis.period : 0;
            outside = outside || by != 0;
            at += by;
            position[axis.j] += static_cast<u64>(by) << bits;
        }
        if (outside) cells.set(i, cell_.data());
    }

  private:
    static constexpr size_t kGhostAxes = 3;  // the axes of a plane and the one it slides along

    void read(const Keys<D>& cells, i64 i) {
        cell_.resize(static_cast<size_t>(cells.axes()));
        for (int j = 0; j < cells.axes(); ++j) cell_[static_cast<size_t>(j)] = cells.at(i, j);
    }

    void add(i64 k, int j, i64 by) {
        const i64 ghost = unsorted_.size();
        read(unsorted_, k);
        cell_[static_cast<size_t>(j)] += by;
        unsorted_.resize(ghost + 1);
        unsorted_.set(ghost, cell_.data());
        unsorted_origin_.push_back(unsorted_origin_[static_cast<size_t>(k)]);
    }

    std::vector<PeriodicAxis> axes_, walked_;
    i64 reach_;
    Keys<D> unsorted_, keys_;
    Array<u32> unsorted_origin_, origin_, ranks_;
    std::vector<i64> cell_;  // the cell last read
};

}  // namespace mspp
