// The search: cells with their counts and sums move to the mean of the window around them, (2r+1)^d cells
// for a reach r, until nothing moves.
//
// state.hpp holds the cells, step.hpp moves them unless they rest (rest.hpp), regroup.hpp merges those that
// met, join.hpp those that ended beside a heavier one. Window sums (window.hpp) cost most of the time.
#pragma once

#include <string>

#include "kernel/base/errors.hpp"
#include "kernel/seek/join.hpp"
#include "kernel/seek/regroup.hpp"
#include "kernel/seek/rest.hpp"
#include "kernel/seek/step.hpp"

namespace mspp {

// Modes by falling weight; of equal weights, in the order of their cells.
struct Modes {
    Array<i32> cell_labels;   // (m,): the mode of each cell of the grid
    Array<i64> cells;         // (k, d): the cell that each mode is in
    Array<double> fractions;  // (k, d): and its position in that cell
    Array<u64> weights;       // (k,)
    int n_iter = 0;
    bool converged = false;
};

// OUT the labels, cells, fractions and weights of the modes.
template <int D>
void read_modes(SearchState<D>& s, const Box& box, Modes& modes) {
    std::vector<u32> order;
    for (i64 i = 0; i < s.keys.size(); ++i)
        if (s.count(i) > 0) order.push_back(static_cast<u32>(i));
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return s.count(a) > s.count(b); });
    std::vector<i32> label_of_group(s.groups.size(), -1);
    Poller poll;
    for (const i64 i : order) {
        poll(4 * s.d());
        label_of_group[s.group[i]] = static_cast<i32>(modes.weights.size());
        modes.weights.push_back(s.count(i));
        for (int j = 0; j < s.d(); ++j) {
            const u64 sum = s.moments[i * s.width() + j + 1] - s.count(i) * s.corner(i, j);
            const double mean = static_cast<double>(static_cast<i64>(sum)) / static_cast<double>(s.count(i));
            modes.cells.push_back(s.keys.at(i, j) - 1 + box.low[j]);
            modes.fractions.push_back(std::ldexp(mean, -s.bits) - kTieShift);
        }
    }
    modes.cell_labels.resize(s.groups.size());
    for (u32 g = 0; g < s.groups.size(); ++g) modes.cell_labels[g] = label_of_group[s.groups.find(g)];
}

// Joins modes that are in each other's window.
inline void join_modes(Modes& modes, int d, Periods periods, int reach, int n_threads) {
    const i64 k = static_cast<i64>(modes.weights.size());
    Joined joined = join_modes(modes.cells.data(), modes.weights.data(), k, d, periods, reach, n_threads);
    Modes left;
    for (const i64 i : joined.kept) {
        left.cells.insert(left.cells.end(), &modes.cells[i * d], &modes.cells[i * d] + d);
        left.fractions.insert(left.fractions.end(), &modes.fractions[i * d], &modes.fractions[i * d] + d);
    }
    for (i32& label : modes.cell_labels) label = joined.labels[label];
    modes.cells.swap(left.cells);
    modes.fractions.swap(left.fractions);
    modes.weights.swap(joined.weights);
}

// Searches the modes of a grid whose axes may have periods.
inline Modes seek(const GridView& grid, Periods periods, int reach, double tol, int max_iter, int n_threads,
                  WindowSums sums) {
    Modes modes;
    modes.converged = true;
    if (grid.m == 0) return modes;
    Box box(grid.d);
    box.add(grid.cells, grid.m);
    periods.widen(box, reach);
    const u64 total = std::accumulate(grid.counts, grid.counts + grid.m, u64{0});
    const int total_bits = window_bits(reach) - kTieBits;  // a position keeps at least the tie bits
    if (total >> total_bits)
        throw BadInput("the grid holds a weight of " + std::to_string(total) +
                       ", the search can add up less than 2**" + std::to_string(total_bits) +
                       " exactly; scale the weights down");
    modes.converged = false;
    with_keys(box, [&](auto D) {
        SearchState<D> state(grid, box, periods, reach, total);
        Stepper<D> stepper(state, n_threads, sums);
        Regrouper<D> regrouper(state, n_threads);
        const RestRule rule(tol, state.bits, reach);
        while (modes.n_iter < max_iter && !modes.converged) {
            ++modes.n_iter;
            modes.converged = !stepper.run(rule.limit(modes.n_iter));
            regrouper.run();
        }
        read_modes(state, box, modes);
        if (modes.converged && stepper.rested()) join_modes(modes, grid.d, periods, reach, n_threads);
    });
    return modes;
}

}  // namespace mspp
