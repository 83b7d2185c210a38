// From cells to labels: look up the cells of new points, and spread a value per cell over the points.
#pragma once

#include "kernel/cells.hpp"

namespace mspp {

// For each query cell: the index of the same cell in the grid; else, of the heaviest among the neighbouring
// cells (the first of equals); else -1. Both lists are sorted and distinct.
inline std::vector<i64> nearest_cells(const CellTable& grid, const CellTable& query, int n_threads) {
    const int d = grid.d, z = d - 1;
    const i64 m = query.size();
    std::vector<i64> found(static_cast<size_t>(m), -1);
    if (m == 0 || grid.size() == 0) return found;
    Box box(d);
    for (i64 i = 0; i < m; ++i) box.add(&query.cells[i * d]);
    for (i64 i = 0; i < grid.size(); ++i) box.add(&grid.cells[i * d]);
    with_keys(box, [&](auto D) {
        const auto keys = make_keys<D>(grid.cells.data(), grid.size(), box);
        const auto asked = make_keys<D>(query.cells.data(), m, box);
        const Trie trie(keys), asked_trie(asked);
        auto row = [&](u32 first, u32 last, const std::vector<Span>& rows) {
            std::vector<Span> rest(rows);
            for (u32 q = first; q < last; ++q) {
                u64 best = 0;
                for (Span& span : rest) {
                    while (span.begin < span.end && keys.at(span.begin, z) < asked.at(q, z) - 1) ++span.begin;
                    for (u32 k = span.begin; k < span.end && keys.at(k, z) <= asked.at(q, z) + 1; ++k) {
                        const bool same = std::equal(&grid.cells[i64{k} * d], &grid.cells[i64{k} * d] + d,
                                                     &query.cells[i64{q} * d]);
                        const u64 weight = same ? UINT64_MAX : grid.lanes[i64{k} * (d + 1)];
                        if (weight > best || (weight == best && i64{k} < found[q])) {
                            best = weight;
                            found[q] = k;
                        }
                    }
                }
            }
        };
        const int team = team_size(m, 4096, n_threads);
        parallel(team, [&](int t) {
            Walk<decltype(row)>(asked_trie, trie, row).run(part(m, t, team), grid.size());
        });
    });
    return found;
}

}  // namespace mspp
