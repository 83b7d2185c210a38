// From cells to labels: look up the cells of new points, and spread a value per cell over the points.
#pragma once

#include "kernel/cells.hpp"

namespace mspp {

// For each query cell: the index of the same cell in the grid; else, of the heaviest among the cells at
// most `reach` away (the first of equals); else -1. Both lists are sorted and distinct.
inline Array<i64> nearest_cells(const GridView& grid, const i64* query, i64 m, i64 reach, int n_threads) {
    const int d = grid.d;
    Array<i64> found(static_cast<size_t>(m), -1);
    if (m == 0 || grid.m == 0) return found;
    Box box(d);
    box.add(query, m);
    box.add(grid.cells, grid.m);
    with_keys(box, [&](auto D) {
        const auto keys = make_keys<D>(grid.cells, grid.m, box), asked = make_keys<D>(query, m, box);
        Trie trie, asked_trie;
        trie.build(keys);
        asked_trie.build(asked);
        auto look = [&](i64 q, Span& span, u64& best) {
            while (span.begin < span.end && keys.last(span.begin) < asked.last(q) - reach) ++span.begin;
            for (i64 k = span.begin; k < span.end && keys.last(k) <= asked.last(q) + reach; ++k) {
                const u64 weight = keys.equal(k, asked, q) ? UINT64_MAX : grid.counts[k];
                if (weight < best || (weight == best && k > found[q])) continue;
                best = weight;
                found[q] = k;
            }
        };
        auto row = [&](u32 first, u32 last, const std::vector<Span>& rows) {
            std::vector<Span> rest(rows);
            for (u32 q = first; q < last; ++q) {
                u64 best = 0;
                for (Span& span : rest) look(q, span, best);
            }
        };
        const int team = team_size(m, 4096, n_threads);
        parallel(team, [&](int t) { Walk(asked_trie, trie, row, reach).run(part(m, t, team)); });
    });
    return found;
}

}  // namespace mspp
