// The cells and the weight around query cells are the oracle's.
#include "input.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"
#include "tests/kernel/oracle.hpp"

using namespace fuzz;

FUZZ(input) {
    const i64 reach = input.byte() < 250 ? input.whole(0, 3) : input.whole(0, 99);
    const std::vector<i64> periods = input.periods(static_cast<int>(input.whole(1, 12)), reach);
    const GridData grid = input.grid(periods, 24, 1000), query = input.grid(periods, 24, 1);
    const int threads = input.byte() % 16 ? 1 : 3, d = grid.d;
    const i64 *cells = query.cells.data(), m = query.size();
    const auto found = find_cells(grid.view(), {periods.data()}, cells, m, reach, threads);
    const auto counts = window_counts(grid.view(), {periods.data()}, cells, m, reach, threads);
    REQUIRE(static_cast<i64>(found.size()) == m && static_cast<i64>(counts.size()) == m);
    for (i64 q = 0; q < m; ++q) {
        REQUIRE(found[q] == oracle::find_cell(grid, cells + q * d, periods.data(), reach));
        REQUIRE(counts[q] == oracle::window_count(grid, cells + q * d, periods.data(), reach));
    }
}
