// Coarse grids are those of divisions of 128 bits, for every number of threads.
#include "kernel/cells/coarsen.hpp"

#include "input.hpp"

using namespace fuzz;

FUZZ(input) {
    const std::vector<i64> periods(static_cast<size_t>(input.whole(1, 12)), 0);
    const i64 factor = input.byte() < 200 ? input.whole(1, 9) : input.whole(1, INT32_MAX);
    const GridData fine = input.grid(periods, 30, kCountLimit / 32);
    const int d = fine.d;
    std::map<std::vector<i64>, std::vector<u64>> sums;
    for (i64 i = 0; i < fine.size(); ++i) {
        std::vector<i64> cell;
        std::vector<u64> moments{fine.counts[i]};
        for (int j = 0; j < d; ++j) {
            const i64 at = fine.cells[i * d + j];
            cell.push_back(at / factor - (at % factor < 0));
            const auto rest = static_cast<unsigned __int128>(at - cell[j] * factor);
            const auto position = (rest * fine.counts[i] << kOffsetBits) + fine.sums[i * d + j];
            moments.push_back(
                static_cast<u64>((position + static_cast<u64>(factor) / 2) / static_cast<u64>(factor)));
        }
        auto& row = sums.try_emplace(cell, d + 1, 0).first->second;
        for (int j = 0; j <= d; ++j) row[j] += moments[j];
    }
    GridData expected{d, {}, {}, {}};
    for (const auto& [cell, row] : sums) expected.append(cell.data(), row.data());
    REQUIRE(coarsen(fine.view(), factor, input.byte() % 16 ? 1 : 3) == expected);
}
