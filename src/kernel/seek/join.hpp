// Joining: the last step of a search that ended with cells in each other's window.
//
// A cell that rests beside others belongs to the heaviest cell in its window, as a new point would. Two heavy
// groups with a light one between them therefore stay apart, and the light one joins the heavier of them.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernel/cells/neighbours.hpp"

namespace mspp {

// For each of sorted cells: the heaviest cell in its window that is heavier than itself (the first of
// equals), or the cell itself.
inline std::vector<i64> heaviest_near(const GridView& grid, Periods periods, int reach, int n_threads) {
    std::vector<i64> heaviest(static_cast<size_t>(grid.m));
    std::iota(heaviest.begin(), heaviest.end(), 0);
    if (grid.m == 0) return heaviest;
    auto make_row = [&](const auto& keys, const auto& query_keys, auto cell_of_key) {
        return [&, cell_of_key, poll = Poller()](u32 first, u32 last, const std::vector<Span>& rows) mutable {
            for (const Span& span : rows) {
                u32 begin = span.begin;
                poll(i64{last - first});
                for (u32 q = first; q < last; ++q) {
                    const i64 centre = query_keys.last(q);
                    i64& best = heaviest[q];
                    while (begin < span.end && keys.last(begin) < centre - reach) ++begin;
                    for (u32 k = begin; k < span.end && keys.last(k) <= centre + reach; ++k) {
                        const i64 cell = cell_of_key(k);
                        const u64 weight = grid.counts[cell], most = grid.counts[best];
                        if (weight > most || (weight == most && best != q && cell < best)) best = cell;
                    }
                }
            }
        };
    };
    walk_neighbours(grid, periods, grid.cells, grid.m, reach, n_threads, make_row);
    return heaviest;
}

// Modes after joining, by falling weight; of equal weights, in the order of their cells.
struct Joined {
    Array<i32> labels;   // (k,): of each mode before, the mode that it belongs to
    Array<i64> kept;     // the modes before that are left; they keep their positions
    Array<u64> weights;  // of each mode that is left
};

// Joins each mode to the heaviest one in its window, and that to the heaviest in its own, and so on.
// IN cells (k, d), distinct; weights (k,), falling.
inline Joined join_modes(const i64* cells, const u64* weights, i64 k, int d, Periods periods, int reach,
                         int n_threads) {
    std::vector<i64> order(static_cast<size_t>(k));  // of the modes along the sorted cells
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](i64 a, i64 b) {
        return std::lexicographical_compare(cells + a * d, cells + a * d + d, cells + b * d,
                                            cells + b * d + d);
    });
    GridData sorted{d, {}, {}, {}};
    for (const i64 i : order) {
        sorted.cells.insert(sorted.cells.end(), cells + i * d, cells + i * d + d);
        sorted.counts.push_back(weights[i]);
    }
    std::vector<i64> root(static_cast<size_t>(k));  // of each mode
    const std::vector<i64> heaviest = heaviest_near(sorted.view(), periods, reach, n_threads);
    for (i64 s = 0; s < k; ++s) root[order[s]] = order[heaviest[s]];
    Array<u64> total(static_cast<size_t>(k), 0);
    for (i64 i = 0; i < k; ++i) {
        root[i] = root[root[i]];  // a heavier mode comes earlier, so its root is known
        total[root[i]] += weights[i];
    }
    Joined joined;
    for (const i64 i : order)
        if (root[i] == i) joined.kept.push_back(i);
    std::stable_sort(joined.kept.begin(), joined.kept.end(),
                     [&](i64 a, i64 b) { return total[a] > total[b]; });
    std::vector<i32> label(static_cast<size_t>(k));
    for (const i64 i : joined.kept) {
        label[i] = static_cast<i32>(joined.weights.size());
        joined.weights.push_back(total[i]);
    }
    for (i64 i = 0; i < k; ++i) joined.labels.push_back(label[root[i]]);
    return joined;
}

}  // namespace mspp
