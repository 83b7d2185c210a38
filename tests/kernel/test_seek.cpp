// seek/ against the oracle, and for every method and number of threads, with ==.
#include "check.hpp"
#include "kernel/bin/bin.hpp"
#include "kernel/seek/seek.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;
using oracle::Cloud, oracle::same, oracle::same_modes;

static Modes seek_by(const GridData& grid, const i64* periods, int reach, double tol, WindowSums sums,
                     int threads) {
    return seek(grid.view(), {periods}, reach, tol, 1000, threads, sums);
}

TEST(the_modes_are_the_oracles) {
    for (const int d : {1, 2, 3, 4, 7, 20})  // from seven axes on, the walk compares rows
        for (const int reach : {1, 3})
            for (u32 seed = 0; seed < 4; ++seed) {
                const Cloud cloud = oracle::make_cloud(seed, 150, d);
                const GridData grid = oracle::bin(cloud, d < 4 ? 0.2 : 0.7, nullptr);
                const oracle::Result expected = oracle::Search(grid, nullptr, reach).run(1000);
                for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows, WindowSums::planes}) {
                    const Modes modes = seek_by(grid, nullptr, reach, 0.0, sums, 1);
                    const std::string note = "d=" + std::to_string(d) + ", reach=" + std::to_string(reach) +
                                             ", seed=" + std::to_string(seed);
                    CHECK_NOTE(modes.converged, note);
                    CHECK_NOTE(same_modes(modes, expected), note);
                }
            }
}

// Two heavy groups with light points between them, which see both: 0.5, 1.5 + shift, 2.5 along the first
// axis.
static Cloud make_creeping(int d, int heavy, int light, double shift) {
    Cloud cloud{d, {}};
    auto add = [&](double x, int copies) {
        for (int k = 0; k < copies; ++k)
            for (int j = 0; j < d; ++j) cloud.x.push_back(j == 0 ? x : 0.5);
    };
    add(0.4, heavy), add(1.5 + shift, light), add(2.6, heavy + heavy / 5);
    return cloud;
}

TEST(groups_that_creep_stay_apart) {
    for (const int d : {1, 2, 3, 7})
        for (const int heavy : {300, 5000}) {
            const GridData grid = oracle::bin(make_creeping(d, heavy, 1, 0.01), 1.0, nullptr);
            const oracle::Result expected = oracle::Search(grid, nullptr, 1).run(1000, 1e-3);
            const Modes modes = seek_by(grid, nullptr, 1, 1e-3, WindowSums::automatic, 1);
            CHECK(same_modes(modes, expected) && modes.converged);
            CHECK(modes.n_iter > kFreeSteps && modes.n_iter < kFreeSteps + 50);
            const u64 first = static_cast<u64>(heavy), third = first + first / 5 + 1;  // with the light point
            CHECK(same(modes.weights, std::vector<u64>{third, first}));
            const Modes met = seek(grid.view(), {nullptr}, 1, 0.0, 10'000, 1, WindowSums::automatic);
            CHECK(met.weights.size() == 1 && met.n_iter > 200);
        }
}

TEST(tolerances_and_threads_find_the_oracles_modes) {
    for (const int d : {1, 2, 4})
        for (u32 seed = 0; seed < 3; ++seed) {
            Cloud cloud = oracle::make_cloud(seed, 400, d);
            const Cloud creeping = make_creeping(d, 200 + 100 * static_cast<int>(seed), 1, 0.1);
            for (const double x : creeping.x) cloud.x.push_back(0.1 * x + 20);
            const GridData grid = oracle::bin(cloud, d < 4 ? 0.1 : 0.4, nullptr);
            for (const double tol : {1e-9, 1e-5, 1e-3, 0.01, 1.0, 1e9}) {
                const oracle::Result expected = oracle::Search(grid, nullptr, 1).run(1000, tol);
                for (const int threads : {1, 3}) {
                    const Modes modes = seek_by(grid, nullptr, 1, tol, WindowSums::automatic, threads);
                    CHECK_NOTE(same_modes(modes, expected) && modes.converged,
                               "d=" + std::to_string(d) + ", tol=" + std::to_string(tol));
                }
            }
        }
}

TEST(every_search_with_a_tolerance_ends) {
    // The ends of evenly spaced cells move first, and their effect travels inwards by a cell in a step.
    for (const int reach : {1, 3}) {
        GridData grid{1, {}, {}, {}};
        for (i64 cell = 0; cell < 2000; ++cell) {
            const u64 moments[] = {1, 0};
            grid.append(&cell, moments);
        }
        for (const double tol : {1e-12, 1e-3, 0.1}) {
            const Modes modes = seek_by(grid, nullptr, reach, tol, WindowSums::automatic, 1);
            const int doublings = tol == 1e-12  ? 21 + reach / 2
                                  : tol == 1e-3 ? 12 + reach / 2
                                                : 5 + reach / 2;
            CHECK(modes.converged && modes.n_iter <= kFreeSteps + kDoublingSteps * doublings + 1);
            CHECK(same_modes(modes, oracle::Search(grid, nullptr, reach).run(1000, tol)));
        }
    }
}

TEST(the_limit_of_a_rest_doubles) {
    const u64 tie = u64{1} << 12, one = u64{1} << 32;
    const RestRule rule(0.25, 32, 1), none(0, 32, 1), far(1e300, 32, 2);
    for (const int step : {1, kFreeSteps})
        for (const RestRule& any : {rule, none, far}) CHECK(any.limit(step) == 0);
    CHECK(rule.limit(kFreeSteps + 1) == one / 4 + tie);
    CHECK(rule.limit(kFreeSteps + kDoublingSteps) == one / 4 + tie);
    CHECK(rule.limit(kFreeSteps + kDoublingSteps + 1) == one / 2 + 2 * tie);
    CHECK(rule.limit(kFreeSteps + 3 * kDoublingSteps + 1) == 2 * one + 8 * tie);
    for (const int step : {kFreeSteps + 4 * kDoublingSteps + 1, 1'000'000})
        CHECK(rule.limit(step) == 3 * one);
    CHECK(far.limit(kFreeSteps + 1) == 5 * one && none.limit(1'000'000) == 0);
}

TEST(few_moving_cells_among_settled_ones_find_the_oracles_modes) {
    for (const int d : {1, 2, 3, 7})
        for (u32 seed = 0; seed < 3; ++seed) {
            Cloud cloud = oracle::make_cloud(seed, 60, d, 2.0);
            for (int k = 0; k < 400; ++k)  // alone in their windows
                for (int j = 0; j < d; ++j) cloud.x.push_back(j == 0 ? 100.0 + 2 * k : 0.5);
            for (int k = 0; k < 30; ++k)  // pairs that meet, and move on
                for (int j = 0; j < d; ++j) cloud.x.push_back(j == 0 ? 100.0 + 26 * k + 0.21 * (k % 5) : 0.5);
            for (const int reach : {1, 2}) {
                const double h = d < 4 ? 0.2 : 0.7;
                const GridData grid = oracle::bin(cloud, h, nullptr);
                const oracle::Result expected = oracle::Search(grid, nullptr, reach).run(1000);
                for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows, WindowSums::planes})
                    CHECK_NOTE(same_modes(seek_by(grid, nullptr, reach, 0.0, sums, 1), expected),
                               "d=" + std::to_string(d) + ", reach=" + std::to_string(reach) +
                                   ", seed=" + std::to_string(seed));
            }
        }
}

TEST(a_cell_sees_that_its_neighbour_has_left) {
    // Two points are drawn out of the windows of the three between them, which are in balance until then.
    std::vector<double> line = {1.5, 2.5, 3.5, 4.5, 5.5};
    for (int k = 0; k < 50; ++k) line.insert(line.end(), {0.5, 6.5});
    for (int k = 0; k < 40; ++k) line.push_back(20.5 + 5 * k);  // alone, so that few cells move
    for (const int d : {1, 2, 3, 7}) {
        Cloud cloud{d, {}};
        for (const double x : line)
            for (int j = 0; j < d; ++j) cloud.x.push_back(j == 0 ? x : 0.5);
        const GridData grid = oracle::bin(cloud, 1.0, nullptr);
        const oracle::Result expected = oracle::Search(grid, nullptr, 1).run(1000);
        CHECK(expected.weights.size() == 43);
        for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows, WindowSums::planes})
            CHECK(same_modes(seek_by(grid, nullptr, 1, 0.0, sums, 1), expected));
    }
}

TEST(the_modes_of_periodic_axes_are_the_oracles) {
    for (const int d : {1, 2, 3, 5, 11})  // from the fourth last axis on, the walk looks beyond edges
        for (const i64 period : {7, 8, 40})
            for (const int reach : {1, 3}) {
                std::vector<i64> periods(static_cast<size_t>(d), 0);
                periods[0] = period;
                for (int j = 2; j < d; ++j) periods[j] = 7 + j % 3;
                Cloud cloud = oracle::make_cloud(static_cast<u32>(period), 150, d);
                for (i64 i = 0; i < cloud.n(); ++i)
                    for (int j = 0; j < d; ++j) {
                        double& x = cloud.x[i * d + j];
                        x /= 0.2;
                        if (periods[j])
                            x -= static_cast<double>(periods[j]) *
                                 std::floor(x / static_cast<double>(periods[j]));
                    }
                const GridData grid = oracle::bin(cloud, 1.0, nullptr);
                const oracle::Result expected = oracle::Search(grid, periods.data(), reach).run(1000);
                for (const WindowSums sums : {WindowSums::rows, WindowSums::planes})
                    CHECK(same_modes(seek_by(grid, periods.data(), reach, 0.0, sums, 1), expected));
            }
}

TEST(cells_in_balance_do_not_end_the_search_of_others) {
    const i64 periods[] = {0, 40};
    GridData grid{2, {}, {}, {}};
    auto add = [&](i64 y, i64 x, double at) {
        const i64 cell[] = {y, x};
        const u64 half = u64{1} << 31, moments[] = {1, half, static_cast<u64>(std::ldexp(at, 32))};
        grid.append(cell, moments);
    };
    for (i64 x = 0; x < 40; ++x) add(0, x, 0.5);              // a ring of equal cells, which never move
    add(100, 10, 0.9), add(100, 11, 0.5), add(100, 12, 0.1);  // these meet
    const oracle::Result expected = oracle::Search(grid, periods, 1).run(1000);
    CHECK(expected.n_iter == 2 && expected.weights.size() == 41);
    for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows}) {
        const Modes modes = seek_by(grid, periods, 1, 0.0, sums, 1);
        CHECK(same_modes(modes, expected) && modes.n_iter == expected.n_iter);
    }
}

TEST(corners_of_many_periods_need_few_copies) {
    const int d = 40;  // a corner of all axes has 2^40 copies
    const std::vector<i64> periods(static_cast<size_t>(d), 5);
    GridData grid{d, {}, {}, {}};
    for (const i64 at : {0, 3, 4}) {
        const std::vector<i64> cell(static_cast<size_t>(d), at);
        std::vector<u64> moments(static_cast<size_t>(d + 1), u64{1} << (29 + at / 2));
        moments[0] = 1;
        grid.append(cell.data(), moments.data());
    }
    const oracle::Result expected = oracle::Search(grid, periods.data(), 1).run(1000);
    CHECK(expected.weights.size() == 1);
    for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows, WindowSums::planes})
        CHECK(same_modes(seek_by(grid, periods.data(), 1, 0.0, sums, 1), expected));
}

TEST(methods_and_threads_give_the_same_bits) {
    for (const int d : {2, 3, 4}) {
        const Cloud cloud = oracle::make_cloud(static_cast<u32>(d), 60'000, d, 3.0);
        const GridData grid = oracle::bin(cloud, d == 2 ? 0.02 : d == 3 ? 0.15 : 0.5, nullptr);
        CHECK(grid.size() > 2 * 4096);  // enough cells for several threads
        for (const int reach : {1, 2}) {
            const Modes expected = seek_by(grid, nullptr, reach, 1e-3, WindowSums::rows, 1);
            for (const WindowSums sums : {WindowSums::automatic, WindowSums::rows, WindowSums::planes})
                for (const int threads : {1, 2, 5}) {
                    const Modes modes = seek_by(grid, nullptr, reach, 1e-3, sums, threads);
                    CHECK(same_modes(modes, expected));
                    CHECK(modes.n_iter == expected.n_iter && modes.converged == expected.converged);
                }
        }
    }
}

TEST(points_get_the_labels_of_their_cells) {
    const Cloud cloud = oracle::make_cloud(5, 4000, 2);
    const double cell_size[] = {0.4, 0.4};
    std::vector<i32> ids(static_cast<size_t>(cloud.n())), labels(ids.size());
    const Binned binned =
        bin(cloud.points(), cell_size, nullptr, ids.data(), 2, Strategy::automatic, *find_loops(nullptr));
    const Modes modes = seek_by(binned.grid, nullptr, 1, 1e-3, WindowSums::automatic, 2);
    binned.assignment.take(modes.cell_labels.data(), ids.data(), labels.data());
    std::vector<u64> sizes(modes.weights.size());
    for (i64 i = 0; i < cloud.n(); ++i) {
        const oracle::Cell cell = oracle::cell_of_point(&cloud.x[i * 2], 2, 0.4);
        const i64 at = oracle::find_cell(binned.grid, cell.data(), nullptr, 0);
        CHECK(labels[i] == modes.cell_labels[at]);
        ++sizes[labels[i]];
    }
    CHECK(same(sizes, modes.weights));
}

TEST(an_interrupt_ends_the_search) {
    const GridData grid = oracle::bin(oracle::make_cloud(6, 500, 2), 0.1, nullptr);
    for (const int threads : {1, 3}) {
        int asked = 0;
        bool ended = false;
        try {
            const Call call([&] {
                ++asked;
                throw std::runtime_error("interrupted");
            });
            while (true) seek(grid.view(), {nullptr}, 1, 0.0, 100, threads, WindowSums::automatic);
        } catch (const std::runtime_error&) {
            ended = true;
        }
        CHECK(ended && asked == 1 && Call::current() == nullptr);
    }
}

TEST(sums_are_rounded_to_the_bits_that_heavy_grids_leave) {
    // Beside a cell of 2^31 points, positions have 29 bits, three less than the sums: the mean of two points
    // is 1 or 1.5 of these, and the latter is rounded up.
    for (const auto& [sum, position] : {std::pair<u64, double>{19, 1}, {20, 2}}) {
        GridData grid{1, {}, {}, {}};
        for (const i64 cell : {0, 10}) {
            const u64 heavy[] = {u64{1} << 31, 0}, light[] = {2, sum};
            grid.append(&cell, cell == 0 ? heavy : light);
        }
        const Modes modes = seek_by(grid, nullptr, 1, 0.0, WindowSums::automatic, 1);
        CHECK(modes.weights[1] == 2 && modes.fractions[1] == std::ldexp(position, -29));
    }
}

TEST(a_weight_beyond_exact_sums_is_rejected) {
    GridData grid{1, {}, {}, {}};
    for (i64 cell = 0; cell < (i64{1} << 10); ++cell) {
        const u64 moments[] = {kCountLimit, 0};
        grid.append(&cell, moments);
    }
    std::string problem;
    try {
        seek_by(grid, nullptr, 1, 1e-3, WindowSums::automatic, 1);
    } catch (const BadInput& error) {
        problem = error.what();
        CHECK(error.row == -1 && error.column == -1);
    }
    CHECK(problem.find("scale the weights down") != std::string::npos);
}

TEST(the_search_can_be_interrupted) {
    for (const int d : {2, 12}) {
        const GridData grid =
            oracle::bin(oracle::make_cloud(2, d == 2 ? 90'000 : 20'000, d, 4.0), 0.02, nullptr);
        const std::vector<i64> periods(static_cast<size_t>(d), 0);
        check_polls(10, [&](int threads) {
            seek(grid.view(), {periods.data()}, 1, 1e-3, 2, threads, WindowSums::automatic);
        });
    }
}

TEST(one_step_in_many_features_can_be_interrupted) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 1500, 24), 1.0, nullptr);
    for (const WindowSums sums : {WindowSums::rows, WindowSums::planes})
        check_polls(30, [&](int threads) { seek(grid.view(), {nullptr}, 1, 1e-3, 1, threads, sums); });
}

TEST(callers_bin_and_label_the_same_points) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 100'000, 2);
    const std::vector<double> h(2, 0.1);
    for (const Strategy strategy : {Strategy::automatic, Strategy::dense, Strategy::ranked, Strategy::hash,
                                    Strategy::sorted, Strategy::wide})
        each_caller([&] {
            std::vector<i32> ids(static_cast<size_t>(cloud.n()));
            const Binned binned =
                bin(cloud.points(), h.data(), nullptr, ids.data(), kThreads, strategy, *find_loops(nullptr));
            const Modes modes = seek_by(binned.grid, nullptr, 1, 1e-3, WindowSums::automatic, kThreads);
            binned.assignment.take(modes.cell_labels.data(), ids.data(), ids.data());
            return ids;
        });
}

TEST(callers_search_one_grid) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 90'000, 3, 3.0), 0.15, nullptr);
    CHECK(grid.size() > 2 * (1 << 15));
    each_caller([&] {
        const Modes modes = seek_by(grid, nullptr, 1, 1e-3, WindowSums::automatic, kThreads);
        return std::vector<i32>(modes.cell_labels.begin(), modes.cell_labels.end());
    });
}
