// bin/ against the oracle, with ==: every strategy, instruction set and number of threads.
#include "check.hpp"
#include "kernel/bin/bin.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;
using oracle::Cloud;

static constexpr std::pair<const char*, Strategy> kStrategies[] = {
    {"auto", Strategy::automatic}, {"dense", Strategy::dense},   {"ranked", Strategy::ranked},
    {"hash", Strategy::hash},      {"sorted", Strategy::sorted}, {"wide", Strategy::wide}};

// Calls fn(loops, strategy, threads, description) for every way to bin.
template <class Fn>
static void each_way(Fn&& fn) {
    int n;
    const LoopChoice* choices = loop_choices(n);
    for (int k = 0; k < n; ++k)
        for (const auto& [name, strategy] : kStrategies)
            for (const int threads : {1, 2, 5})
                if (choices[k].runs_here)
                    fn(choices[k].loops, strategy, threads,
                       std::string(choices[k].name) + ", " + name + ", " + std::to_string(threads) +
                           " threads");
}

static std::vector<double> sizes(int d, double h) { return std::vector<double>(static_cast<size_t>(d), h); }

// Bins a cloud in every way, and checks the grid and the cell of each point.
static void check_cloud(const Cloud& cloud, double h, const u64* weights) {
    const GridData expected = oracle::bin(cloud, h, weights);
    const auto cell_size = sizes(cloud.d, h);
    std::vector<i32> ids(static_cast<size_t>(cloud.n())), labels(ids.size());
    std::vector<i32> numbers(expected.counts.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    each_way([&](const BlockLoops& loops, Strategy strategy, int threads, const std::string& way) {
        const Binned binned =
            bin(cloud.points(), cell_size.data(), weights, ids.data(), threads, strategy, loops);
        CHECK_NOTE(oracle::equal(binned.grid, expected), way);
        binned.assignment.take(numbers.data(), ids.data(), labels.data());
        for (i64 i = 0; i < cloud.n(); ++i) {
            const oracle::Cell cell = oracle::cell_of_point(&cloud.x[i * cloud.d], cloud.d, h);
            const i64* got = labels[i] < 0 ? nullptr : &expected.cells[i64{labels[i]} * cloud.d];
            if (got)
                CHECK_NOTE(std::equal(cell.begin(), cell.end(), got), way);
            else
                CHECK_NOTE(weights && weights[i] == 0, way);
        }
    });
}

TEST(every_way_of_binning_is_the_oracles) {
    for (const int d : {1, 2, 3, 6, 7}) {
        const Cloud cloud = oracle::make_cloud(static_cast<u32>(d), 2000, d);
        check_cloud(cloud, d < 6 ? 0.3 : 1.7, nullptr);
        check_cloud(cloud, d < 6 ? 0.3 : 1.7, oracle::make_weights(9, cloud.n()).data());
    }
}

TEST(threads_share_many_points) {
    const Cloud cloud = oracle::make_cloud(0, 100'000, 2);
    check_cloud(cloud, 0.05, nullptr);
}

TEST(points_outside_the_sampled_box_are_not_lost) {
    Cloud cloud = oracle::make_cloud(1, 70'000, 2);
    for (i64 i = 1; i < cloud.n(); i += 9984) cloud.x[i * 2] *= 1e6;  // the plan samples every 32nd row
    const GridData expected = oracle::bin(cloud, 0.5, nullptr);
    const auto cell_size = sizes(2, 0.5);
    each_way([&](const BlockLoops& loops, Strategy strategy, int threads, const std::string& way) {
        const Binned binned =
            bin(cloud.points(), cell_size.data(), nullptr, nullptr, threads, strategy, loops);
        CHECK_NOTE(oracle::equal(binned.grid, expected), way);
    });
}

TEST(bytes_are_binned_as_their_values) {
    for (const auto& [d, h] : {std::pair(3, 24.0), std::pair(3, 3.3), std::pair(8, 100.0)}) {
        std::mt19937 random(2);
        std::vector<uint8_t> bytes(static_cast<size_t>(3000 * d));
        Cloud cloud{d, {}};
        for (uint8_t& byte : bytes) cloud.x.push_back(byte = static_cast<uint8_t>(random()));
        const Points points{reinterpret_cast<const char*>(bytes.data()), Dtype::u8, 3000, d, d, 1};
        const GridData expected = oracle::bin(cloud, h, nullptr);
        const auto cell_size = sizes(d, h);
        each_way([&](const BlockLoops& loops, Strategy strategy, int threads, const std::string& way) {
            const Binned binned = bin(points, cell_size.data(), nullptr, nullptr, threads, strategy, loops);
            CHECK_NOTE(oracle::equal(binned.grid, expected), way);
        });
    }
}

TEST(bytes_of_2_to_the_32_points_are_not_counted_in_32_bits) {
    const uint8_t bytes[1] = {};
    const auto cell_size = sizes(1, 16.0);
    for (const i64 excess : {-1, 0}) {
        const i64 n = (i64{1} << 32) + excess;  // only the count is read
        const Points points{reinterpret_cast<const char*>(bytes), Dtype::u8, n, 1, 1, 1};
        const Plan plan{Strategy::dense, {0}, {16}, {1}, 16};
        const Job job{
            points, cell_size.data(), nullptr, nullptr, plan, *find_loops(nullptr), 1, {}, {}, {}, 0, {}, {}};
        CHECK(job.dense_bytes() == (excess < 0));
    }
}

TEST(a_box_too_large_for_a_strategy_is_reported) {
    const Cloud cloud{2, {0, 0, 1e5, 1e5}};
    const auto cell_size = sizes(2, 1.0);
    std::string problem;
    try {
        bin(cloud.points(), cell_size.data(), nullptr, nullptr, 1, Strategy::dense, *find_loops(nullptr));
    } catch (const BadInput& error) {
        problem = error.what();
    }
    CHECK(problem == "a box of 10000200001 cells is too large for this strategy");
}

TEST(the_first_bad_value_is_reported_with_its_place) {
    Cloud cloud = oracle::make_cloud(3, 100'000, 2);
    const auto cell_size = sizes(2, 1.0);
    cloud.x[2 * 99'999] = cloud.x[2 * 12'345 + 1] = cloud.x[2 * 54'321] = NAN;
    for (const int threads : {1, 2, 5}) {
        i64 row = -1, column = -1;
        std::string problem;
        try {
            bin(cloud.points(), cell_size.data(), nullptr, nullptr, threads, Strategy::automatic,
                *find_loops(nullptr));
        } catch (const BadInput& error) {
            row = error.row, column = error.column, problem = error.what();
        }
        CHECK(row == 12'345 && column == 1);
        CHECK(problem == "is NaN: every coordinate must be a finite number");
    }
}

TEST(an_empty_cloud_has_an_empty_grid) {
    const Cloud cloud{2, {}};
    const auto cell_size = sizes(2, 1.0);
    each_way([&](const BlockLoops& loops, Strategy strategy, int threads, const std::string& way) {
        const Binned binned =
            bin(cloud.points(), cell_size.data(), nullptr, nullptr, threads, strategy, loops);
        CHECK_NOTE(binned.grid.size() == 0 && binned.assignment.n_points() == 0, way);
    });
}

TEST(merged_halves_are_the_whole) {
    const Cloud cloud = oracle::make_cloud(4, 3000, 3);
    const Cloud first{3, {cloud.x.begin(), cloud.x.begin() + 3 * 1000}};
    const Cloud second{3, {cloud.x.begin() + 3 * 1000, cloud.x.end()}};
    GridData rows = oracle::bin(second, 0.4, nullptr);
    rows.append(oracle::bin(first, 0.4, nullptr));
    Array<u32> ranks;
    CHECK(oracle::equal(merge(rows.view(), ranks), oracle::bin(cloud, 0.4, nullptr)));
    CHECK(static_cast<i64>(ranks.size()) == rows.size());
}

TEST(binning_can_be_interrupted) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 300'000, 2, 5.0);
    const std::vector<double> cell_size(2, 0.01);
    std::vector<i32> ids(static_cast<size_t>(cloud.n()));
    for (const Strategy strategy : {Strategy::ranked, Strategy::hash, Strategy::sorted, Strategy::wide})
        check_polls(3, [&](int threads) {
            bin(cloud.points(), cell_size.data(), nullptr, ids.data(), threads, strategy,
                *find_loops(nullptr));
        });
    const std::vector<double> large(2, 1.0);
    check_polls(3, [&](int threads) {
        bin(cloud.points(), large.data(), nullptr, ids.data(), threads, Strategy::dense,
            *find_loops(nullptr));
    });
    const Binned binned =
        bin(cloud.points(), large.data(), nullptr, ids.data(), 1, Strategy::dense, *find_loops(nullptr));
    const std::vector<i32> values(binned.grid.counts.size(), 7);
    std::vector<i32> labels(ids.size());
    check_polls(3, [&](int) { binned.assignment.take(values.data(), ids.data(), labels.data()); });
}

// Each point of the sample may be on another page of a file.
TEST(sampling_can_be_interrupted_at_each_point) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 300'000, 2, 5.0);
    const std::vector<double> cell_size(2, 1.0);
    check_polls(1000, [&](int) { make_plan(cloud.points(), cell_size.data(), Strategy::automatic); });
}

TEST(binning_bytes_can_be_interrupted) {
    const i64 n = 300'000;
    const std::vector<uint8_t> bytes(static_cast<size_t>(3 * n), 7);
    const Points points{reinterpret_cast<const char*>(bytes.data()), Dtype::u8, n, 3, 3, 1};
    const std::vector<double> cell_size(3, 16.0);
    check_polls(2, [&](int threads) {
        bin(points, cell_size.data(), nullptr, nullptr, threads, Strategy::dense, *find_loops(nullptr));
    });
}

TEST(callers_take_labels_from_one_assignment) {
    const oracle::Cloud cloud = oracle::make_cloud(2, 100'000, 2);
    std::vector<i32> ids(static_cast<size_t>(cloud.n()));
    const Binned binned = bin(cloud.points(), sizes(2, 1.0).data(), nullptr, ids.data(), kThreads,
                              Strategy::automatic, *find_loops(nullptr));
    std::vector<i32> numbers(binned.grid.counts.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    each_caller([&] {
        std::vector<i32> labels(ids.size());
        binned.assignment.take(numbers.data(), ids.data(), labels.data());
        return labels;
    });
}
