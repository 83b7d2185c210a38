// cells/coarsen and base/divisor, compared with plain divisions; the laws of cells/merge.
#include <map>
#include <random>

#include "check.hpp"
#include "kernel/cells/coarsen.hpp"
#include "kernel/cells/merge.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;

namespace {

i64 floor_div(i64 a, i64 k) { return a / k - (a % k < 0); }

GridData coarsen_plainly(const GridData& fine, i64 k) {
    std::map<std::vector<i64>, std::vector<u64>> cells;
    for (i64 i = 0; i < fine.size(); ++i) {
        std::vector<i64> cell;
        for (int j = 0; j < fine.d; ++j) cell.push_back(floor_div(fine.cells[i * fine.d + j], k));
        auto& moments = cells.try_emplace(cell, fine.d + 1, 0).first->second;
        moments[0] += fine.counts[i];
        for (int j = 0; j < fine.d; ++j) {
            const auto rest = static_cast<unsigned __int128>(fine.cells[i * fine.d + j] - cell[j] * k);
            const auto position = (rest * fine.counts[i] << kOffsetBits) + fine.sums[i * fine.d + j];
            moments[j + 1] += static_cast<u64>((position + static_cast<u64>(k) / 2) / static_cast<u64>(k));
        }
    }
    GridData coarse{fine.d, {}, {}, {}};
    for (const auto& [cell, moments] : cells) coarse.append(cell.data(), moments.data());
    return coarse;
}

// Sorted cells within `extent` of 0, with counts up to a limit.
GridData make_grid(int d, i64 m, i64 extent, u64 max_count) {
    std::mt19937_64 random(static_cast<u64>(d * 1000 + extent));
    std::map<std::vector<i64>, std::vector<u64>> cells;
    while (static_cast<i64>(cells.size()) < m) {
        std::vector<i64> cell;
        for (int j = 0; j < d; ++j)
            cell.push_back(static_cast<i64>(random() % static_cast<u64>(2 * extent)) - extent);
        std::vector<u64> moments{random() % max_count + 1};
        for (int j = 0; j < d; ++j) moments.push_back(random() % (moments[0] << kOffsetBits));
        cells.emplace(cell, moments);
    }
    GridData grid{d, {}, {}, {}};
    for (const auto& [cell, moments] : cells) grid.append(cell.data(), moments.data());
    return grid;
}

}  // namespace

TEST(a_divisor_divides_every_number) {
    std::mt19937_64 random(0);
    for (const u64 k : {1ull, 2ull, 3ull, 7ull, 10ull, 641ull, 65'536ull, 2'147'483'647ull}) {
        const Divisor divisor(k);
        for (const u64 x : {u64{0}, k - 1, k, k + 1, ~u64{0} / k - 1, ~u64{0} / k, ~u64{0}})
            CHECK(divisor.quotient(x) == x / k);
        for (int i = 0; i < 1000; ++i)
            for (const u64 x : {random(), random() / k, random() / k / k * k, random() / k / k * k + k - 1})
                CHECK(divisor.quotient(x) == x / k);
    }
}

TEST(coarse_grids_equal_those_of_plain_divisions) {
    struct Case {
        int d;
        i64 m, extent;
        u64 max_count;
    };
    // Boxes for slabs and for keys, cells as rows of integers, and sums near the limit of 64 bits.
    const Case cases[] = {{1, 300, 1000, 9},         {2, 3000, 60, 9},       {3, 4000, 20, 9},
                          {3, 500, i64{1} << 40, 9}, {5, 800, 5000, 9},      {7, 500, 3, 9},
                          {8, 300, 1 << 20, 9},      {2, 600, 50, 1u << 31}, {2, 300, (i64{1} << 31) - 9, 9}};
    for (const Case& c : cases) {
        const GridData fine = make_grid(c.d, c.m, c.extent, c.max_count);
        for (const i64 k : {1, 2, 3, 7, 64, 1000, 2'147'483'647})
            for (const int threads : {1, 3})
                CHECK_NOTE(oracle::equal(coarsen(fine.view(), k, threads), coarsen_plainly(fine, k)),
                           "d=" + std::to_string(c.d) + " k=" + std::to_string(k));
    }
}

TEST(a_box_of_more_cells_than_a_number_counts_has_no_slabs) {
    GridData fine{2, {}, {}, {}};
    for (const i64 at : {-2, 0, 1}) {
        const i64 cell[] = {at << 50, 1000 * (at + 2)};
        const u64 moments[] = {3, 5, 7};
        fine.append(cell, moments);
    }
    for (const i64 k : {1, 2, 3}) CHECK(oracle::equal(coarsen(fine.view(), k, 1), coarsen_plainly(fine, k)));
}

TEST(several_threads_share_no_slab) {
    const GridData fine = make_grid(2, 200'000, 300, 9);
    for (const i64 k : {2, 7, 1000}) {
        const GridData expected = coarsen(fine.view(), k, 1);
        for (const int threads : {2, 5}) CHECK(oracle::equal(coarsen(fine.view(), k, threads), expected));
    }
}

TEST(an_empty_grid_stays_empty) {
    const GridData empty{2, {}, {}, {}};
    CHECK(coarsen(empty.view(), 3, 2).size() == 0);
}

TEST(merging_and_coarsening_can_be_interrupted) {
    for (const int d : {2, 12}) {
        const GridData grid =
            oracle::bin(oracle::make_cloud(2, d == 2 ? 90'000 : 20'000, d, 4.0), 0.02, nullptr);
        Array<u32> ranks;
        check_polls(3, [&](int) { merge(grid.view(), ranks); });
        check_polls(4, [&](int threads) { coarsen(grid.view(), 3, threads); });
    }
}

TEST(callers_coarsen_one_grid) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 90'000, 3, 3.0), 0.15, nullptr);
    CHECK(grid.size() > 2 * (1 << 15));
    each_caller([&] {
        const GridData coarse = coarsen(grid.view(), 3, kThreads);
        return std::vector<u64>(coarse.sums.begin(), coarse.sums.end());
    });
}
