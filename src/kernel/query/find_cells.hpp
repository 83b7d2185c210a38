// Finds each query cell in a grid, or else the heaviest cell in its window.
#pragma once

#include "kernel/cells/neighbours.hpp"

namespace mspp {

// For each query cell: the index of the same cell in the grid; else the index of the heaviest cell at most
// `reach` away (the first of equals); else -1. IN query (m, d); both lists of cells are sorted and distinct.
inline Array<i64> find_cells(const GridView& grid, Periods periods, const i64* query, i64 m, i64 reach,
                             int n_threads) {
    Array<i64> found(static_cast<size_t>(m), -1);
    if (m == 0 || grid.m == 0) return found;
    auto make_row = [&](const auto& keys, const auto& query_keys, auto cell_of_key) {
        auto search = [&, cell_of_key](i64 q, Span& span, u64& best) {
            const i64 centre = query_keys.last(q);
            while (span.begin < span.end && keys.last(span.begin) < centre - reach) ++span.begin;
            for (i64 k = span.begin; k < span.end && keys.last(k) <= centre + reach; ++k) {
                const i64 cell = cell_of_key(k);
                const u64 weight = keys.equal(k, query_keys, q) ? UINT64_MAX : grid.counts[cell];
                if (weight < best || (weight == best && cell > found[q])) continue;
                best = weight;
                found[q] = cell;
            }
        };
        return [search, poll = Poller()](u32 first, u32 last, const std::vector<Span>& rows) mutable {
            std::vector<Span> rest(rows);
            poll(i64{last - first} * static_cast<i64>(rows.size()));
            for (u32 q = first; q < last; ++q) {
                u64 best = 0;
                for (Span& span : rest) search(q, span, best);
            }
        };
    };
    walk_neighbours(grid, periods, query, m, reach, n_threads, make_row);
    return found;
}

}  // namespace mspp
