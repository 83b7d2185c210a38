// The cells of new points: which cell of a grid each is, or is drawn to.
#pragma once

#include "kernel/query/neighbours.hpp"

namespace mspp {

// For each query cell: the index of the same cell in the grid; else, of the heaviest among the cells at
// most `reach` away (the first of equals); else -1. Both lists are sorted and distinct.
inline Array<i64> nearest_cells(const GridView& grid, Periods periods, const i64* query, i64 m, i64 reach,
                                int n_threads) {
    Array<i64> found(static_cast<size_t>(m), -1);
    if (m == 0 || grid.m == 0) return found;
    around(grid, periods, query, m, reach, n_threads, [&](const auto& keys, const auto& asked, auto cell_of) {
        auto look = [&, cell_of](i64 q, Span& span, u64& best) {
            while (span.begin < span.end && keys.last(span.begin) < asked.last(q) - reach) ++span.begin;
            for (i64 k = span.begin; k < span.end && keys.last(k) <= asked.last(q) + reach; ++k) {
                const i64 cell = cell_of(k);
                const u64 weight = keys.equal(k, asked, q) ? UINT64_MAX : grid.counts[cell];
                if (weight < best || (weight == best && cell > found[q])) continue;
                best = weight;
                found[q] = cell;
            }
        };
        return [look](u32 first, u32 last, const std::vector<Span>& rows) {
            std::vector<Span> rest(rows);
            for (u32 q = first; q < last; ++q) {
                u64 best = 0;
                for (Span& span : rest) look(q, span, best);
            }
        };
    });
    return found;
}

}  // namespace mspp
