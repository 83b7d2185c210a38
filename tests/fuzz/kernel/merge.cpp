// Merging rows of cells in any order is a sum into a map.
#include "kernel/cells/merge.hpp"

#include "input.hpp"

using namespace fuzz;

FUZZ(input) {
    const std::vector<i64> periods(static_cast<size_t>(input.whole(1, 12)), 0);
    GridData rows = input.grid(periods, 20, 1000);
    rows.append(input.grid(periods, 20, 1000));
    const int d = rows.d;
    std::map<std::vector<i64>, std::vector<u64>> sums;
    for (i64 i = 0; i < rows.size(); ++i) {
        auto& row = sums.try_emplace({&rows.cells[i * d], &rows.cells[i * d] + d}, d + 1, 0).first->second;
        row[0] += rows.counts[i];
        for (int j = 0; j < d; ++j) row[j + 1] += rows.sums[i * d + j];
    }
    GridData expected{d, {}, {}, {}};
    for (const auto& [cell, row] : sums) expected.append(cell.data(), row.data());
    Array<u32> ranks;
    REQUIRE(merge(rows.view(), ranks) == expected);
    REQUIRE(static_cast<i64>(ranks.size()) == rows.size());
    for (i64 i = 0; i < rows.size(); ++i)
        REQUIRE(std::equal(&rows.cells[i * d], &rows.cells[i * d] + d, &expected.cells[i64{ranks[i]} * d]));
}
