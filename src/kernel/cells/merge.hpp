// Merging: rows of cells in any order become one sorted grid.
#pragma once

#include "kernel/cells/grid.hpp"
#include "kernel/cells/keys.hpp"

namespace mspp {

// Sorts rows and adds up those of the same cell. OUT ranks[i]: the cell of the result that row i went to.
inline GridData merge(const GridView& rows, Array<u32>& ranks) {
    const int d = rows.d;
    GridData merged{d, {}, {}, {}};
    Box box(d);
    box.add(rows.cells, rows.m);
    ranks.clear();
    if (rows.m == 0) return merged;
    with_keys(box, [&](auto D) {
        auto keys = make_keys<D>(rows.cells, rows.m, box);
        const size_t distinct = static_cast<size_t>(keys.rank(ranks, 1));
        merged.cells.resize(distinct * d);
        assign_zeros(merged.counts, distinct);
        assign_zeros(merged.sums, distinct * d);
        each_of({0, rows.m}, 4 * d, [&](i64 i) {
            const i64 to = ranks[i];
            merged.counts[to] += rows.counts[i];
            for (int j = 0; j < d; ++j) {
                merged.cells[to * d + j] = rows.cells[i * d + j];
                merged.sums[to * d + j] += rows.sums[i * d + j];
            }
        });
    });
    return merged;
}

}  // namespace mspp
