// One step of the search (Algorithm 2): every cell moves to the mean of its window.
//
// Window sums are integers, so their order does not matter. N times the window's lower corner is subtracted
// from A modulo 2^64; the rest fits 63 bits, and one double division gives the mean. The result is therefore
// the same on every machine and for any number of threads.
#pragma once

#include <atomic>
#include <cmath>
#include <optional>

#include "kernel/seek/plane_sums.hpp"
#include "kernel/seek/row_sums.hpp"
#include "kernel/seek/state.hpp"

namespace mspp {

// Takes the sum of each window and sets where its cell moves.
template <int D>
class Shift {
  public:
    // IN limit: the longest move of a cell that rests; see rest.hpp. OUT changing: the cells with new
    // content.
    Shift(SearchState<D>& state, u64 limit, ChangingCells& changing)
        : s_(state), limit_(limit), changing_(changing), cell_(static_cast<size_t>(state.d())) {}

    void operator()(i64 i, const u64* total) {
        if (s_.count(i) == 0) return s_.targets.copy(i, s_.keys, i);
        bool leaves = aim(i, total);
        const bool alone = total[0] == s_.count(i), rests = !alone && is_short(i);
        if (rests && limit_ > 0) leaves = aim(i, &s_.moments[i * s_.width()]);
        moving_ = moving_ || leaves || !(alone || rests);
        rested_ = rested_ || rests;
        if (leaves || !s_.is_at(i)) changing_.add(i);
    }
    bool moving() const { return moving_; }  // whether a cell moved so far,
    bool rested() const { return rested_; }  // and whether one rests beside others

  private:
    // Sets the target of cell i to the mean of moments. Returns whether it is another cell.
    bool aim(i64 i, const u64* moments) {
        const int d = s_.d(), bits = s_.bits;
        const u64 n = moments[0], reach = static_cast<u64>(s_.reach);
        const double divisor = static_cast<double>(n);
        u64 differs = 0;
        for (int j = 0; j < d; ++j) {
            const i64 below = s_.keys.at(i, j) - s_.reach;
            const u64 corner = static_cast<u64>(below) << bits;
            const u64 p =
                nearest(static_cast<double>(static_cast<i64>(moments[j + 1] - n * corner)) / divisor);
            s_.positions[i * d + j] = corner + p;
            cell_[j] = below + static_cast<i64>(p >> bits);
            differs |= (p >> bits) ^ reach;
        }
        s_.targets.set(i, cell_.data());
        return differs != 0;
    }

    // Whether the target of cell i is at most the limit away from its mean, along every axis.
    bool is_short(i64 i) const {
        const u64 n = s_.count(i), longest = n * limit_;
        bool is_short = true;
        for (int j = 0; j < s_.d(); ++j) {
            const u64 move = s_.moments[i * s_.width() + j + 1] - n * s_.positions[i * s_.d() + j];
            is_short = is_short && move + longest <= 2 * longest;  // from -longest to longest
        }
        return is_short;
    }

    SearchState<D>& s_;
    const u64 limit_;
    ChangingCells& changing_;
    bool moving_ = false, rested_ = false;
    std::vector<i64> cell_;
};

template <int D>
class Stepper {
  public:
    Stepper(SearchState<D>& state, int n_threads, WindowSums sums)
        : s_(state), n_threads_(n_threads), sums_(sums) {}

    // Sets targets and positions of every cell. Returns whether one of them moves.
    bool run(u64 limit) {
        const i64 m = s_.keys.size();
        const Target target = prepare_target();
        s_.positions.resize(static_cast<size_t>(m * s_.d()));
        s_.targets.resize(m);
        const std::optional<PlaneBox> box = choose_planes(target);
        int team = team_size(m, 4096, n_threads_);
        if (box) team = std::min(team, std::max(1, box->most_planes(m)));
        s_.changing.assign(static_cast<size_t>(team), ChangingCells(m / 4));
        std::atomic<bool> moving{false};
        parallel(team, [&](int t) {
            const Range cells = part(m, t, team);
            if (s_.incremental) keep(cells);
            Shift<D> shift(s_, limit, s_.changing[t]);
            sum_windows(target, box, cells, shift);
            if (shift.moving()) moving = true;
            if (shift.rested()) rested_ = true;
        });
        if (!s_.ghosts.none())
            each_of({0, m}, 4 * s_.d(),
                    [&](i64 i) { s_.ghosts.wrap(s_.targets, i, s_.bits, &s_.positions[i * s_.d()]); });
        return moving.load();
    }

    // Whether a cell rested beside others, in any step so far.
    bool rested() const { return rested_.load(); }

  private:
    // The cells that windows are summed over: all cells, and the ghosts of those on axes with a period.
    struct Target {
        const Trie& trie;
        WeightedCells<D> cells;
    };

    Target prepare_target() {
        Ghosts<D>& ghosts = s_.ghosts;
        trie_.build(s_.keys, s_.incremental ? s_.changed.data() : nullptr);
        if (ghosts.none()) return {trie_, {s_.keys, s_.moments.data(), s_.bits}};
        ghosts.build(s_.keys);
        ghosts.fill(s_.keys, s_.moments, s_.bits, ghost_moments_);
        ghost_changed_.assign(static_cast<size_t>(ghosts.keys().size()), 1);
        if (s_.incremental)
            for (size_t k = 0; k < ghost_changed_.size(); ++k)
                ghost_changed_[k] = s_.changed[ghosts.origin(k)];
        ghost_trie_.build(ghosts.keys(), ghost_changed_.data());
        return {ghost_trie_, {ghosts.keys(), ghost_moments_.data(), s_.bits}};
    }

    // The box of the planes if they are the cheaper method; both give the same sums. An incremental step goes
    // by rows, because only that walk can skip unchanged cells.
    std::optional<PlaneBox> choose_planes(const Target& target) const {
        const int d = s_.d();
        if (d < 3 || sums_ == WindowSums::rows) return {};
        if (sums_ == WindowSums::automatic && s_.incremental) return {};
        const PlaneBox box(target.trie, target.cells.keys);
        const auto& levels = trie_.levels();
        const StepCost cost{static_cast<double>(s_.keys.size()),
                            static_cast<double>(levels.back().value.size()),
                            static_cast<double>(levels[levels.size() - 2].value.size())};
        if (sums_ == WindowSums::planes || cost.by_planes(box, d, s_.reach) < cost.by_rows(d, s_.reach))
            return box;
        return {};
    }

    void sum_windows(const Target& target, const std::optional<PlaneBox>& box, Range cells, Shift<D>& shift) {
        const i64 reach = s_.reach;
        if constexpr (D == 0 || D >= 3) {
            if (box) {
                PlaneSums<D, Shift<D>> planes(trie_, s_.keys, target.trie, target.cells, *box, cells,
                                              static_cast<int>(reach), shift);
                return Walk(trie_, target.trie, s_.ghosts.walked(), std::move(planes), reach,
                            trie_.levels().size() - 2)
                    .run(cells);
            }
        }
        RowSums<D, Shift<D>> rows(s_.keys, target.cells, static_cast<int>(reach), shift);
        Walk(trie_, target.trie, s_.ghosts.walked(), std::move(rows), reach, trie_.levels().size())
            .run(cells);
    }

    // Cells keep their position unless the walk, which skips windows without changed cells, moves them: such
    // a window has the same sum as in the last step, which moved its cell there or let it rest.
    void keep(Range cells) {
        const int d = s_.d();
        each_of(cells, 2 * d, [&](i64 i) {
            const i64 source = s_.source[i];
            s_.targets.copy(i, s_.keys, i);
            for (int j = 0; j < d; ++j) s_.positions[i * d + j] = s_.last_positions[source * d + j];
        });
    }

    SearchState<D>& s_;
    const int n_threads_;
    const WindowSums sums_;
    std::atomic<bool> rested_{false};
    Trie trie_, ghost_trie_;
    Array<u64> ghost_moments_;
    Array<char> ghost_changed_;
};

}  // namespace mspp
