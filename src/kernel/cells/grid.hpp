// A grid: its occupied cells, with the count of points and the sums of their offsets in each.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

// A grid in memory that someone else owns.
struct GridView {
    int d;
    i64 m;
    const i64* cells;   // (m, d), distinct and in lexicographic order unless stated otherwise
    const u64* counts;  // (m,)
    const u64* sums;    // (m, d), or null where a function does not read them
};

struct GridData {
    int d;
    Array<i64> cells;
    Array<u64> counts, sums;

    i64 size() const { return static_cast<i64>(counts.size()); }
    GridView view() const { return {d, size(), cells.data(), counts.data(), sums.data()}; }
    void resize(i64 m) {
        cells.resize(static_cast<size_t>(m * d));
        counts.resize(static_cast<size_t>(m));
        sums.resize(static_cast<size_t>(m * d));
    }
    // IN cell (d,), moments (1 + d,): the count and the sums.
    void append(const i64* cell, const u64* moments) {
        cells.insert(cells.end(), cell, cell + d);
        counts.push_back(moments[0]);
        sums.insert(sums.end(), moments + 1, moments + 1 + d);
    }
    void append(const GridData& more) {
        cells.insert(cells.end(), more.cells.begin(), more.cells.end());
        counts.insert(counts.end(), more.counts.begin(), more.counts.end());
        sums.insert(sums.end(), more.sums.begin(), more.sums.end());
    }
};

}  // namespace mspp
