// The search: every method and number of threads has the same result, which is the oracle's for tol = 0.
#include "kernel/seek/seek.hpp"

#include "input.hpp"
#include "tests/kernel/oracle.hpp"

using namespace fuzz;
using oracle::same, oracle::same_modes;

FUZZ(input) {
    const int reach = static_cast<int>(input.byte() < 250 ? input.whole(1, 3) : input.whole(1, kMaxReach));
    const std::vector<i64> periods = input.periods(static_cast<int>(input.whole(1, 12)), reach);
    const bool heavy = input.byte() >= 250;
    const GridData grid = input.grid(periods, 24, heavy ? kCountLimit : 1000);
    constexpr double tols[] = {0.0, 1e-3, 1.0, 1e300};
    constexpr WindowSums methods[] = {WindowSums::rows, WindowSums::planes, WindowSums::automatic};
    const double tol = input.choice(tols);
    const int max_iter = static_cast<int>(input.whole(0, 20));
    auto search = [&](WindowSums sums, int threads) {
        return seek(grid.view(), {periods.data()}, reach, tol, max_iter, threads, sums);
    };
    Modes modes;
    try {
        modes = search(WindowSums::rows, 1);
    } catch (const BadInput&) {  // more weight than the search can add up
        REQUIRE(heavy);
        return;
    }
    REQUIRE(std::accumulate(modes.weights.begin(), modes.weights.end(), u64{0}) ==
            std::accumulate(grid.counts.begin(), grid.counts.end(), u64{0}));
    REQUIRE(std::is_sorted(modes.weights.rbegin(), modes.weights.rend()));
    std::vector<u64> weights(modes.weights.size());
    for (i64 i = 0; i < grid.size(); ++i)
        weights.at(static_cast<size_t>(modes.cell_labels[i])) += grid.counts[i];
    REQUIRE(same(weights, modes.weights));
    const bool near =
        std::all_of(grid.cells.begin(), grid.cells.end(), [](i64 c) { return std::abs(c) < 99; });
    const WindowSums method = input.choice(methods);  // planes of far cells would not fit the memory
    const Modes other = search(near ? method : WindowSums::automatic, input.byte() % 16 ? 1 : 3);
    REQUIRE(same_modes(modes, other) && modes.n_iter == other.n_iter && modes.converged == other.converged);
    if (tol == 0 && !heavy && near)  // within the range of the oracle
        REQUIRE(same_modes(modes, oracle::Search(grid, periods.data(), reach).run(max_iter)));
}
