// One step of the search (Algorithm 2): every cell moves to the mean of its window.
//
// Window sums are integers, so their order does not matter. N times the window's lower corner is subtracted
// from A modulo 2^64; the rest fits 63 bits, and one double division gives the mean. The result is therefore
// the same on every machine and for any number of threads.
#pragma once

#include <atomic>
#include <cmath>
#include <optional>

#include "kernel/seek/movement.hpp"
#include "kernel/seek/plane_sums.hpp"
#include "kernel/seek/row_sums.hpp"
#include "kernel/seek/state.hpp"

namespace mspp {

// The total distance that the points of cell i move is at least N times the distance that their mean moves
// (Jensen); this is that bound.
template <int D>
double mean_shift(const SearchState<D>& s, i64 i) {
    const double n = static_cast<double>(s.count(i));
    double square = 0;
    for (int j = 0; j < s.d(); ++j) {
        const u64 off = s.moments[i * s.width() + j + 1] - s.count(i) * s.positions[i * s.d() + j];
        const double delta = static_cast<double>(static_cast<i64>(off)) / n;
        square += delta * delta;
    }
    return n * std::sqrt(square) * std::ldexp(1.0, -s.bits);
}

// Takes the sum of each window and sets where its cell moves.
template <int D>
class Shift {
  public:
    Shift(SearchState<D>& state, Movement& moved)
        : s_(state), moved_(moved), cell_(static_cast<size_t>(state.d())) {}

    void operator()(i64 i, const u64* total) {
        const int d = s_.d(), bits = s_.bits;
        const u64 own = s_.count(i), n = total[0], reach = static_cast<u64>(s_.reach);
        s_.unsettled[i] = 0;
        if (own == 0) return s_.targets.copy(i, s_.keys, i);
        const double divisor = static_cast<double>(n);
        u64 differs = n - own;  // not 0 if the window holds other cells, or the cell is left
        for (int j = 0; j < d; ++j) {
            const i64 below = s_.keys.at(i, j) - s_.reach;
            const u64 corner = static_cast<u64>(below) << bits;
            const u64 p = nearest(static_cast<double>(static_cast<i64>(total[j + 1] - n * corner)) / divisor);
            s_.positions[i * d + j] = corner + p;
            cell_[j] = below + static_cast<i64>(p >> bits);
            differs |= (p >> bits) ^ reach;
        }
        s_.unsettled[i] = differs != 0;
        s_.targets.set(i, cell_.data());
        if (!moved_.exceeds()) moved_.add(mean_shift(s_, i));
    }

  private:
    SearchState<D>& s_;
    Movement& moved_;
    std::vector<i64> cell_;
};

template <int D>
class Stepper {
  public:
    Stepper(SearchState<D>& state, double tol, int n_threads, WindowSums sums)
        : s_(state), tol_(tol), n_threads_(n_threads), sums_(sums) {}

    // Sets targets, positions and unsettled of every cell. Returns true if the search ends with this step.
    bool run() {
        const i64 m = s_.keys.size();
        const Target target = prepare_target();
        s_.positions.resize(static_cast<size_t>(m * s_.d()));
        s_.targets.resize(m);
        s_.unsettled.resize(static_cast<size_t>(m));
        const std::optional<PlaneBox> box = choose_planes(target);
        int team = team_size(m, 4096, n_threads_);
        if (box) team = std::min(team, std::max(1, box->most_planes(m)));
        std::vector<Movement> moved(static_cast<size_t>(team), Movement(tol_));
        std::atomic<bool> in_motion{false};
        parallel(team, [&](int t) {
            const Range cells = part(m, t, team);
            if (s_.incremental) keep(cells);
            Shift<D> shift(s_, moved[t]);
            sum_windows(target, box, cells, shift);
            const char* unsettled = s_.unsettled.data();
            if (std::find(unsettled + cells.begin, unsettled + cells.end, 1) != unsettled + cells.end)
                in_motion = true;
        });
        for (int t = 1; t < team; ++t) moved[0].add(moved[t]);
        const bool ended = !in_motion.load() || within_tolerance(moved[0]);
        if (!s_.ghosts.none())
            each_of({0, m}, 4 * s_.d(),
                    [&](i64 i) { s_.ghosts.wrap(s_.targets, i, s_.bits, &s_.positions[i * s_.d()]); });
        return ended;
    }

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

    // Cells keep their position unless the walk, which skips windows without changed cells, moves them.
    void keep(Range cells) {
        const int d = s_.d();
        each_of(cells, 2 * d, [&](i64 i) {
            const i64 source = s_.source[i];
            s_.targets.copy(i, s_.keys, i);
            s_.unsettled[i] = s_.count(i) > 0 && s_.last_unsettled[source];
            for (int j = 0; j < d; ++j) s_.positions[i * d + j] = s_.last_positions[source * d + j];
        });
    }

    // The paper's convergence test. A grid gives only the lower bound for the first step, so that step never
    // ends the search. After it, the points of a cell are the few groups that moved there, and the distances
    // of these are added.
    bool within_tolerance(const Movement& bound) const {
        if (bound.exceeds() || s_.arrived.empty()) return false;
        const int d = s_.d();
        Movement moved(tol_);
        each_of({0, static_cast<i64>(s_.arrived.size())}, 4 * d, [&](i64 k) {
            double square = 0;
            for (int j = 0; j < d; ++j) {
                const u64 off = s_.positions[i64{s_.arrived[k]} * d + j] - s_.last_positions[k * d + j];
                const double delta = static_cast<double>(static_cast<i64>(off));
                square += delta * delta;
            }
            moved.add(static_cast<double>(s_.last_count[k]) * std::sqrt(square) * std::ldexp(1.0, -s_.bits));
        });
        return !moved.exceeds();
    }

    SearchState<D>& s_;
    const double tol_;
    const int n_threads_;
    const WindowSums sums_;
    Trie trie_, ghost_trie_;
    Array<u64> ghost_moments_;
    Array<char> ghost_changed_;
};

}  // namespace mspp
