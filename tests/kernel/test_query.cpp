// query/ against the oracle, with ==, with and without periods.
#include "check.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;

// The cells of a cloud, moved by one along the first axis, sorted and distinct; within the periods.
static GridData make_query(const oracle::Cloud& cloud, const i64* periods) {
    GridData query = oracle::bin(cloud, 1.0, nullptr);
    for (i64 i = 0; i < query.size(); ++i) {
        i64& cell = query.cells[i * query.d];
        cell = periods ? (cell + 1) % periods[0] : cell + 1;
    }
    std::map<oracle::Cell, int> sorted;
    for (i64 i = 0; i < query.size(); ++i)
        sorted[{&query.cells[i * query.d], &query.cells[i * query.d] + query.d}];
    query = {query.d, {}, {}, {}};
    const std::vector<u64> none(static_cast<size_t>(query.d + 1));
    for (const auto& [cell, unused] : sorted) query.append(cell.data(), none.data());
    return query;
}

// Returns the number of query cells.
static i64 check_queries(int d, i64 n, const i64* periods, i64 reach) {
    oracle::Cloud cloud = oracle::make_cloud(static_cast<u32>(d), n, d),
                  more = oracle::make_cloud(99, n, d, 3.0);
    for (oracle::Cloud* each : {&cloud, &more})
        for (size_t k = 0; k < each->x.size(); ++k) {
            double& x = each->x[k];
            const double period = periods ? static_cast<double>(periods[k % static_cast<size_t>(d)]) : 0;
            x *= 3;
            if (period > 0) x -= period * std::floor(x / period);
        }
    const GridData grid = oracle::bin(cloud, 1.0, nullptr), query = make_query(more, periods);
    for (const int threads : {1, 3}) {
        const auto found =
            find_cells(grid.view(), {periods}, query.cells.data(), query.size(), reach, threads);
        const auto counts =
            window_counts(grid.view(), {periods}, query.cells.data(), query.size(), reach, threads);
        for (i64 q = 0; q < query.size(); ++q) {
            const i64* cell = &query.cells[q * d];
            CHECK(found[q] == oracle::find_cell(grid, cell, periods, reach));
            CHECK(counts[q] == oracle::window_count(grid, cell, periods, reach));
        }
    }
    return query.size();
}

TEST(queries_are_the_oracles) {
    for (const int d : {1, 2, 3, 7})
        for (const i64 reach : {0, 1, 3}) check_queries(d, 400, nullptr, reach);
}

TEST(queries_look_over_the_edge_of_a_period) {
    const i64 periods[] = {11, 8, 7, 7, 9, 7, 8};
    for (const int d : {1, 2, 3, 5, 7})
        for (const i64 reach : {0, 1, 3}) check_queries(d, 400, periods, reach);
}

TEST(threads_share_many_queries) { CHECK(check_queries(3, 15'000, nullptr, 1) > 2 * 4096); }

TEST(queries_of_an_empty_grid_find_nothing) {
    const GridData grid{2, {}, {}, {}};
    const i64 query[] = {0, 0, 1, 5};
    for (const i64 found : find_cells(grid.view(), {nullptr}, query, 2, 1, 1)) CHECK(found == -1);
    for (const u64 count : window_counts(grid.view(), {nullptr}, query, 2, 1, 1)) CHECK(count == 0);
}

TEST(queries_can_be_interrupted) {
    for (const int d : {2, 12}) {
        const GridData grid =
            oracle::bin(oracle::make_cloud(2, d == 2 ? 90'000 : 20'000, d, 4.0), 0.02, nullptr);
        check_polls(3, [&](int threads) {
            find_cells(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, threads);
        });
        check_polls(3, [&](int threads) {
            window_counts(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, threads);
        });
    }
}

TEST(callers_query_one_grid) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 90'000, 3, 3.0), 0.15, nullptr);
    CHECK(grid.size() > 2 * (1 << 15));
    each_caller([&] {
        const auto found = find_cells(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, kThreads);
        const auto counts =
            window_counts(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, kThreads);
        return std::pair(found, counts);
    });
}
