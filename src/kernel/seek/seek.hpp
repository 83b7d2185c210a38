// The search: cells with their counts and sums move to the mean of the window around them, 3^d cells or, with
// a reach r of more than 1, (2r+1)^d, until nothing moves.
//
// Positions are fixed point as well, F bits of a cell (32 unless the total weight is above 2^29), and a cell
// holds its count N and, per axis, the sum A of its points' absolute positions modulo 2^64. Window sums are
// then integer sums, whose order does not matter, so the result is the same on every machine and for any
// number of threads. The window's lower corner times N is taken off A modulo 2^64; what is left fits, and one
// double division gives the mean.
//
// Ties: the cell of a moved position y is floor(y + 2^-20), so that a mean which rounding left just below an
// edge counts as on it. All positions here carry that 2^-20 from the start; it is taken off again at the end.
#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <optional>

#include "kernel/base/errors.hpp"
#include "kernel/cells/periods.hpp"
#include "kernel/seek/displacement.hpp"
#include "kernel/seek/window.hpp"

namespace mspp {

// Bits left for the weight and for the position in a cell, where a sum over a window has to fit 63.
inline int window_bits(int reach) { return kWindowSumBits - std::bit_width(static_cast<u32>(2 * reach + 1)); }

struct Modes {
    Array<i32> cell_labels;   // a label for each cell of the grid
    Array<i64> cells;         // (k, d): where each mode is,
    Array<double> fractions;  // (k, d): and how far into its cell
    Array<u64> weights;       // (k,)
    int n_iter = 0;
    bool converged = false;
};

template <int D>
class Search {
  public:
    Search(const GridView& grid, const Box& box, Periods periods, int reach, u64 total, double tol,
           int n_threads, WindowSums sums)
        : d_(grid.d),
          reach_(reach),
          box_(box),
          ghosts_(box, periods, reach),
          keys_(make_keys<D>(grid.cells, grid.m, box)),
          next_keys_(box),
          moved_keys_(box),
          tol_(tol),
          n_threads_(n_threads),
          sums_(sums),
          bits_(std::min(kOffsetBits, window_bits(reach) - static_cast<int>(std::bit_width(total)))) {
        const int drop = kOffsetBits - bits_;
        lanes_.resize(static_cast<size_t>(grid.m * width()));
        for (i64 i = 0; i < grid.m; ++i) {
            const u64 n = grid.counts[i];
            lanes_[i * width()] = n;
            for (int j = 0; j < d(); ++j) {
                const u64 sum = grid.sums[i * d() + j];
                const u64 offsets = drop == 0 ? sum : (sum + (u64{1} << (drop - 1))) >> drop;
                lanes_[i * width() + j + 1] = offsets + n * (corner(i, j) + (u64{1} << (bits_ - kTieBits)));
            }
        }
        group_.resize(static_cast<size_t>(grid.m));
        std::iota(group_.begin(), group_.end(), 0u);
        parent_ = group_;
    }

    Modes run(int max_iter, const std::function<void()>& pulse) {
        Modes modes;
        while (modes.n_iter < max_iter && !modes.converged) {
            pulse();
            ++modes.n_iter;
            modes.converged = step();
        }
        finish(modes);
        return modes;
    }

  private:
    static constexpr u32 kNone = UINT32_MAX;

    int d() const { return D > 0 ? D : d_; }
    int width() const { return d() + 1; }
    u64 count(i64 i) const { return lanes_[i * width()]; }
    u64 corner(i64 i, int j) const { return static_cast<u64>(keys_.at(i, j)) << bits_; }

    struct View;
    struct Shift;

    // One step of Algorithm 2; true when the search has ended with it.
    bool step() {
        const i64 m = keys_.size();
        const View seen = look();
        positions_.resize(static_cast<size_t>(m * d()));
        next_keys_.resize(m);
        const std::optional<PlaneBox> box = by_planes(seen);
        int team = team_size(m, 4096, n_threads_);
        if (box) team = std::min(team, std::max(1, box->most_planes(m)));
        std::vector<Movement> moved(static_cast<size_t>(team), Movement(tol_));
        restless_.resize(static_cast<size_t>(m));
        std::atomic<bool> in_motion{false};
        parallel(team, [&](int t) {
            const Range cells = part(m, t, team);
            if (quiet_) rest(cells);
            Shift shift(*this, moved[t]);
            sum(seen, box, cells, shift);
            const char* restless = restless_.data();
            if (std::find(restless + cells.begin, restless + cells.end, 1) != restless + cells.end)
                in_motion = true;
        });
        for (int t = 1; t < team; ++t) moved[0].add(moved[t]);
        const bool at_rest = !in_motion.load() || settled(moved[0]);
        if (!ghosts_.none())
            for (i64 i = 0; i < m; ++i) ghosts_.put_back(next_keys_, i, bits_, &positions_[i * d()]);
        regroup();
        return at_rest;
    }

    void sum(const View& seen, const std::optional<PlaneBox>& box, Range cells, Shift& shift) {
        if constexpr (D == 0 || D >= 3) {
            if (box) {
                PlaneSums<D, Shift> planes(trie_, keys_, seen.trie, seen.cells, *box, cells, reach_, shift);
                return Walk(trie_, seen.trie, std::move(planes), reach_, trie_.levels().size() - 2)
                    .run(cells);
            }
        }
        Walk(trie_, seen.trie, RowSums<D, Shift>(keys_, seen.cells, reach_, shift), reach_).run(cells);
    }

    // What the cells see around them: themselves, and on axes with a period their ghosts.
    struct View {
        const Trie& trie;
        Filled<D> cells;
    };
    View look() {
        trie_.build(keys_, quiet_ ? stirred_.data() : nullptr);
        if (ghosts_.none()) return {trie_, {keys_, lanes_.data()}};
        ghosts_.build(keys_);
        ghosts_.fill(keys_, lanes_, bits_, seen_lanes_);
        seen_stirred_.assign(static_cast<size_t>(ghosts_.keys().size()), 1);
        if (quiet_)
            for (size_t k = 0; k < seen_stirred_.size(); ++k) seen_stirred_[k] = stirred_[ghosts_.origin(k)];
        seen_trie_.build(ghosts_.keys(), seen_stirred_.data());
        return {seen_trie_, {ghosts_.keys(), seen_lanes_.data()}};
    }

    // The plane to slide, where that is the cheaper way; both give the same sums. Near the end, when little
    // is stirred, only the walk over rows can pass the rest over.
    std::optional<PlaneBox> by_planes(const View& seen) const {
        if (d() < 3 || sums_ == WindowSums::rows || (sums_ == WindowSums::automatic && quiet_)) return {};
        const PlaneBox box(seen.trie, seen.cells.keys);
        const auto& levels = trie_.levels();
        const PlaneCost cost{static_cast<double>(keys_.size()),
                             static_cast<double>(levels.back().value.size()),
                             static_cast<double>(levels[levels.size() - 2].value.size())};
        if (sums_ == WindowSums::planes || cost.planes(box, d(), reach_) < cost.rows(d(), reach_)) return box;
        return {};
    }

    // What is not near anything stirred stays where it is: Walk passes it over.
    void rest(Range cells) {
        for (i64 i = cells.begin; i < cells.end; ++i) {
            next_keys_.copy(i, keys_, i);
            restless_[i] = count(i) > 0 && restless_before_[source_[i]];
            for (int j = 0; j < d(); ++j) positions_[i * d() + j] = before_[i64{source_[i]} * d() + j];
        }
    }

    // Takes the sum of each window: where its cell goes.
    struct Shift {
        Search& search;
        Movement& moved;
        std::vector<i64> cell;
        Shift(Search& search, Movement& moved)
            : search(search), moved(moved), cell(static_cast<size_t>(search.d())) {}

        void operator()(i64 i, const u64* total) {
            const int d = search.d(), bits = search.bits_;
            const u64 own = search.count(i), n = total[0], reach = static_cast<u64>(search.reach_);
            search.restless_[i] = 0;
            if (own == 0) return search.next_keys_.copy(i, search.keys_, i);
            const double divisor = static_cast<double>(n);
            u64 strays = n - own;  // not 0 where something is near, or the cell is left
            for (int j = 0; j < d; ++j) {
                const i64 below = search.keys_.at(i, j) - search.reach_;
                const u64 corner = static_cast<u64>(below) << bits;
                const u64 p =
                    nearest(static_cast<double>(static_cast<i64>(total[j + 1] - n * corner)) / divisor);
                search.positions_[i * d + j] = corner + p;
                cell[j] = below + static_cast<i64>(p >> bits);
                strays |= (p >> bits) ^ reach;
            }
            search.restless_[i] = strays != 0;
            search.next_keys_.set(i, cell.data());
            if (!moved.exceeds()) moved.add(search.mean_shift(i));
        }
    };

    // How far the points of cell i move together: at least N times the distance their mean moves (Jensen).
    double mean_shift(i64 i) const {
        const double n = static_cast<double>(count(i));
        double square = 0;
        for (int j = 0; j < d(); ++j) {
            const u64 off = lanes_[i * width() + j + 1] - count(i) * positions_[i * d() + j];
            const double delta = static_cast<double>(static_cast<i64>(off)) / n;
            square += delta * delta;
        }
        return n * std::sqrt(square) * std::ldexp(1.0, -bits_);
    }

    // The paper's test. Of the first step only the bound is known from a grid, and one step more costs
    // little; after that the points of a cell are the few groups that came to it, and the sum is taken over
    // these.
    bool settled(const Movement& bound) const {
        if (bound.exceeds() || arrived_.empty()) return false;
        Movement moved(tol_);
        for (size_t k = 0; k < arrived_.size(); ++k) {
            double square = 0;
            for (int j = 0; j < d(); ++j) {
                const u64 off = positions_[i64{arrived_[k]} * d() + j] - before_[k * d() + j];
                const double delta = static_cast<double>(static_cast<i64>(off));
                square += delta * delta;
            }
            moved.add(static_cast<double>(weight_before_[k]) * std::sqrt(square) * std::ldexp(1.0, -bits_));
        }
        return !moved.exceeds();
    }

    // Whether what was in cell i is again all that comes from it: one group, at the same place.
    bool still(i64 i) const {
        bool same = next_keys_.equal(i, keys_, i);
        for (int j = 0; j < d(); ++j)
            same = same && count(i) * positions_[i * d() + j] == lanes_[i * width() + j + 1];
        return same;
    }

    // The next state: the moved cells sorted, those that met merged. Where little moves, cells are marked as
    // stirred if their content changed, and a cell that was left stays one step longer, empty, so that its
    // neighbours notice.
    void regroup() {
        const i64 m = keys_.size();
        const int team = team_size(m, 1 << 15, n_threads_);
        std::vector<std::vector<u32>> left(static_cast<size_t>(team));
        std::vector<i64> moving(static_cast<size_t>(team));
        parallel(team, [&](int t) {
            const Range cells = part(m, t, team);
            for (i64 i = cells.begin; i < cells.end; ++i) {
                if (count(i) == 0) continue;
                moving[t] += !still(i);
                if (!next_keys_.equal(i, keys_, i)) left[t].push_back(static_cast<u32>(i));
            }
        });
        if (quiet_) move_empty();
        quiet_ = std::accumulate(moving.begin(), moving.end(), i64{0}) < m / 4;
        left_.clear();
        for (const auto& some : left)
            if (quiet_) left_.insert(left_.end(), some.begin(), some.end());
        next_keys_.resize(m + static_cast<i64>(left_.size()));
        for (size_t k = 0; k < left_.size(); ++k) next_keys_.copy(m + static_cast<i64>(k), keys_, left_[k]);
        gather(next_keys_.rank(arrived_, team), team);
    }

    // Empty cells weigh nothing: each goes along with another, and so is gone.
    void move_empty() {
        i64 filled = 0;
        while (count(filled) == 0) ++filled;
        for (i64 i = 0; i < keys_.size(); ++i) {
            if (count(i) == 0)
                next_keys_.copy(i, next_keys_, filled);
            else
                filled = i;
        }
    }

    // Adds up what arrived in each of `distinct` cells. Each thread has cells of its own and looks through
    // all arrivals for them.
    void gather(i64 distinct, int team) {
        next_lanes_.resize(static_cast<size_t>(distinct * width()));
        next_group_.resize(static_cast<size_t>(distinct));
        source_.resize(static_cast<size_t>(distinct));
        stirred_.resize(static_cast<size_t>(distinct));
        weight_before_.resize(static_cast<size_t>(keys_.size()));
        moved_keys_.resize(distinct);
        parallel(team, [&](int t) { gather(part(distinct, t, team)); });
        arrived_.resize(static_cast<size_t>(keys_.size()));
        std::swap(keys_, moved_keys_);
        lanes_.swap(next_lanes_);
        group_.swap(next_group_);
        before_.swap(positions_);
        restless_before_.swap(restless_);
    }

    void gather(Range own) {
        const i64 m = keys_.size();
        std::fill(&next_lanes_[own.begin * width()], &next_lanes_[own.begin * width()] + own.size() * width(),
                  0);
        std::fill_n(&next_group_[own.begin], own.size(), kNone);
        std::fill_n(&source_[own.begin], own.size(), 0);
        std::fill_n(&stirred_[own.begin], own.size(), 0);
        for (i64 i = 0; i < next_keys_.size(); ++i) {
            const i64 to = arrived_[i];
            if (to < own.begin || to >= own.end) continue;
            moved_keys_.copy(to, next_keys_, i);
            if (i >= m)
                stirred_[to] = 1;
            else
                arrive(i, to);
        }
    }

    void arrive(i64 i, i64 to) {
        const u64 n = weight_before_[i] = count(i);
        if (n == 0) return;
        u64* lanes = &next_lanes_[to * width()];
        lanes[0] += n;
        for (int j = 0; j < d(); ++j) lanes[j + 1] += n * positions_[i * d() + j];
        if (next_group_[to] == kNone)
            next_group_[to] = group_[i];
        else
            parent_[group_[i]] = next_group_[to];
        source_[to] = static_cast<u32>(i);
        if (quiet_ && !still(i)) stirred_[to] = 1;
    }

    void finish(Modes& modes) {
        std::vector<u32> order;
        for (i64 i = 0; i < keys_.size(); ++i)
            if (count(i) > 0) order.push_back(static_cast<u32>(i));
        std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return count(a) > count(b); });
        std::vector<i32> label_of_group(parent_.size(), -1);
        for (const i64 i : order) {
            label_of_group[group_[i]] = static_cast<i32>(modes.weights.size());
            modes.weights.push_back(count(i));
            for (int j = 0; j < d(); ++j) {
                const u64 sum = lanes_[i * width() + j + 1] - count(i) * corner(i, j);
                const double mean =
                    static_cast<double>(static_cast<i64>(sum)) / static_cast<double>(count(i));
                modes.cells.push_back(keys_.at(i, j) - 1 + box_.low[j]);
                modes.fractions.push_back(std::ldexp(mean, -bits_) - std::ldexp(1.0, -kTieBits));
            }
        }
        modes.cell_labels.resize(parent_.size());
        for (size_t g = 0; g < parent_.size(); ++g)
            modes.cell_labels[g] = label_of_group[root(static_cast<u32>(g))];
    }

    // The group that group g ended in; the way there is shortened for those who come after.
    u32 root(u32 g) {
        u32 top = g;
        while (parent_[top] != top) top = parent_[top];
        while (g != top) g = std::exchange(parent_[g], top);
        return top;
    }

    int d_;
    i64 reach_;
    const Box& box_;
    Ghosts<D> ghosts_;
    Keys<D> keys_, next_keys_;       // the occupied cells, sorted; where each of them goes
    Keys<D> moved_keys_;             // the occupied cells of the next step
    Array<u64> lanes_, next_lanes_;  // per cell: N, A_1 .. A_d
    Array<u32> group_, next_group_;  // per cell: the group that stands for all that met in it
    Array<u32> parent_;              // per group: the one it met, or itself
    Array<u64> positions_, before_;  // per cell: where it goes; and where the cells of the step before went
    Array<char> restless_, restless_before_;  // per cell, likewise: it has neighbours, or is left
    Array<u32> arrived_;                      // per cell of the step before: the cell it is in now
    Array<u64> weight_before_;                // per cell of the step before: its N
    Array<u32> source_;                       // per cell: a cell of the step before that came to it
    Array<char> stirred_;                     // per cell, while quiet: whether its content has changed
    std::vector<u32> left_;                   // cells that were left in this step
    Array<u64> seen_lanes_;                   // as lanes_, with those of ghosts
    Array<char> seen_stirred_;                // as stirred_
    bool quiet_ = false;                      // little moves: only what is near a stirred cell is looked at
    Trie trie_, seen_trie_;
    double tol_;
    int n_threads_;
    WindowSums sums_;
    int bits_;
};

// Modes of a grid whose axes may have periods, looking `reach` cells to every side. pulse() is called before
// each step and may throw to end the search.
inline Modes seek(const GridView& grid, Periods periods, int reach, double tol, int max_iter, int n_threads,
                  WindowSums sums, const std::function<void()>& pulse) {
    Modes modes;
    modes.converged = true;
    if (grid.m == 0) return modes;
    Box box(grid.d);
    box.add(grid.cells, grid.m);
    periods.widen(box, reach);
    const u64 total = std::accumulate(grid.counts, grid.counts + grid.m, u64{0});
    const int total_bits = window_bits(reach) - kTieBits;  // a position keeps the tie bits at least
    if (total >> total_bits)
        throw BadInput("the grid holds a weight of " + std::to_string(total) +
                       ", the search can add up less than 2**" + std::to_string(total_bits) +
                       " exactly; scale the weights down");
    return with_keys(box, [&](auto D) {
        return Search<D>(grid, box, periods, reach, total, tol, n_threads, sums).run(max_iter, pulse);
    });
}

}  // namespace mspp
