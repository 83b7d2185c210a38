// The weight around cells: for each query cell, the counts of the grid's cells near it, added up.
#pragma once

#include "kernel/cells.hpp"

namespace mspp {

// For each query cell: the sum of the counts of the grid's cells that are at most `reach` away along every
// axis. Both lists are sorted and distinct.
inline Array<u64> window_counts(const GridView& grid, const i64* query, i64 m, i64 reach, int n_threads) {
    Array<u64> found(static_cast<size_t>(m), 0);
    if (m == 0 || grid.m == 0) return found;
    Box box(grid.d);
    box.add(query, m);
    box.add(grid.cells, grid.m);
    // What a row holds within reach is a difference of two running sums.
    Array<u64> before(static_cast<size_t>(grid.m) + 1);
    before[0] = 0;
    std::partial_sum(grid.counts, grid.counts + grid.m, before.begin() + 1);
    with_keys(box, [&](auto D) {
        const auto keys = make_keys<D>(grid.cells, grid.m, box), asked = make_keys<D>(query, m, box);
        Trie trie, asked_trie;
        trie.build(keys);
        asked_trie.build(asked);
        auto row = [&](u32 first, u32 last, const std::vector<Span>& rows) {
            for (const Span& span : rows) {
                u32 low = span.begin, high = span.begin;
                for (u32 q = first; q < last; ++q) {
                    const i64 centre = asked.last(q);
                    while (low < span.end && keys.last(low) < centre - reach) ++low;
                    while (high < span.end && keys.last(high) <= centre + reach) ++high;
                    found[q] += before[high] - before[low];
                }
            }
        };
        const int team = team_size(m, 4096, n_threads);
        parallel(team, [&](int t) { Walk(asked_trie, trie, row, reach).run(part(m, t, team)); });
    });
    return found;
}

}  // namespace mspp
