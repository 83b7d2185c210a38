// Window counts: the weight of a grid in the window around each query cell.
#pragma once

#include "kernel/cells/neighbours.hpp"

namespace mspp {

// For each query cell: the sum of the counts of the grid's cells that are at most `reach` away along every
// axis. IN query (m, d); both lists of cells are sorted and distinct.
inline Array<u64> window_counts(const GridView& grid, Periods periods, const i64* query, i64 m, i64 reach,
                                int n_threads) {
    Array<u64> totals(static_cast<size_t>(m), 0);
    if (m == 0 || grid.m == 0) return totals;
    Array<u64> before;  // running sums of the counts: a part of a row is a difference of two
    auto make_row = [&](const auto& keys, const auto& query_keys, auto cell_of_key) {
        before = Array<u64>(static_cast<size_t>(keys.size()) + 1);
        before[0] = 0;
        for (i64 k = 0; k < keys.size(); ++k) before[k + 1] = before[k] + grid.counts[cell_of_key(k)];
        return [&, poll = Poller()](u32 first, u32 last, const std::vector<Span>& rows) mutable {
            poll(i64{last - first} * static_cast<i64>(rows.size()));
            for (const Span& span : rows) {
                u32 low = span.begin, high = span.begin;
                for (u32 q = first; q < last; ++q) {
                    const i64 centre = query_keys.last(q);
                    while (low < span.end && keys.last(low) < centre - reach) ++low;
                    while (high < span.end && keys.last(high) <= centre + reach) ++high;
                    totals[q] += before[high] - before[low];
                }
            }
        };
    };
    walk_neighbours(grid, periods, query, m, reach, n_threads, make_row);
    return totals;
}

}  // namespace mspp
