// Periods: axes that come back to their start after a whole number of cells.
//
// Cells of such an axis are numbered from 0 to the period less one. What looks beyond an edge sees ghosts
// there: copies of the cells at the other edge, a period away. Ghosts are only looked at; what moves over an
// edge is put back. Both add whole periods to positions, modulo 2^64 as all of them are, and so exactly.
#pragma once

#include "kernel/cells/cells.hpp"

namespace mspp {

// The periods of a grid, in cells; 0 where an axis has none. A period must be as long as a window.
struct Periods {
    const i64* cells;  // (d,), or null: no axis has one
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
    Ghosts(const Box& box, Periods periods, i64 reach) : reach_(reach), scattered_(box), keys_(box) {
        for (size_t j = 0; j < box.low.size(); ++j)
            if (periods.at(j) > 0) axes_.push_back({static_cast<int>(j), 1 - box.low[j], periods.at(j)});
    }
    bool none() const { return axes_.empty(); }
    const Keys<D>& keys() const { return keys_; }   // the cells and their ghosts, sorted,
    u32 origin(i64 k) const { return origin_[k]; }  // and the cell that each of them shows

    void build(const Keys<D>& cells) {
        scattered_.resize(cells.size());
        for (i64 k = 0; k < cells.size(); ++k) scattered_.copy(k, cells, k);
        shown_.resize(static_cast<size_t>(cells.size()));
        std::iota(shown_.begin(), shown_.end(), 0u);
        for (const Axis& axis : axes_) {  // ghosts of ghosts stand beyond the corners
            const i64 m = scattered_.size();
            for (i64 k = 0; k < m; ++k) {
                const i64 v = scattered_.at(k, axis.j) - axis.start;
                if (v < reach_) add(k, axis.j, axis.period);
                if (v >= axis.period - reach_) add(k, axis.j, -axis.period);
            }
        }
        keys_.resize(scattered_.size());
        origin_.resize(shown_.size());
        scattered_.rank(place_, 1);
        for (i64 k = 0; k < scattered_.size(); ++k) {
            keys_.copy(place_[k], scattered_, k);
            origin_[place_[k]] = shown_[k];
        }
    }

    // Lanes of the cells and their ghosts: N, and A_j moved with the ghost.
    void fill(const Keys<D>& cells, const Array<u64>& from, int bits, Array<u64>& lanes) const {
        const size_t width = static_cast<size_t>(cells.axes() + 1);
        lanes.resize(origin_.size() * width);
        for (size_t k = 0; k < origin_.size(); ++k) {
            const u64* own = &from[origin_[k] * width];
            std::copy(own, own + width, &lanes[k * width]);
            for (const Axis& axis : axes_) {
                const i64 by = keys_.at(static_cast<i64>(k), axis.j) - cells.at(origin_[k], axis.j);
                lanes[k * width + static_cast<size_t>(axis.j) + 1] += own[0] * (static_cast<u64>(by) << bits);
            }
        }
    }

    // Puts cell i back between the edges, and its position with it.
    void put_back(Keys<D>& cells, i64 i, int bits, u64* position) {
        bool over = false;
        read(cells, i);
        for (const Axis& axis : axes_) {
            i64& at = cell_[static_cast<size_t>(axis.j)];
            const i64 by = at < axis.start ? axis.period : at >= axis.start + axis.period ? -axis.period : 0;
            over = over || by != 0;
            at += by;
            position[axis.j] += static_cast<u64>(by) << bits;
        }
        if (over) cells.set(i, cell_.data());
    }

  private:
    struct Axis {
        int j;
        i64 start, period;  // the key of cell 0; cells
    };

    void read(const Keys<D>& cells, i64 i) {
        cell_.resize(static_cast<size_t>(cells.axes()));
        for (int j = 0; j < cells.axes(); ++j) cell_[static_cast<size_t>(j)] = cells.at(i, j);
    }

    void add(i64 k, int j, i64 by) {
        const i64 ghost = scattered_.size();
        read(scattered_, k);
        cell_[static_cast<size_t>(j)] += by;
        scattered_.resize(ghost + 1);
        scattered_.set(ghost, cell_.data());
        shown_.push_back(shown_[static_cast<size_t>(k)]);
    }

    std::vector<Axis> axes_;
    i64 reach_;
    Keys<D> scattered_, keys_;
    Array<u32> shown_, origin_, place_;
    std::vector<i64> cell_;  // the one last read
};

}  // namespace mspp
