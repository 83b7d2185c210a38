// base/interrupt: every operation of the kernel ends when it is interrupted, at any of its polls.
#include <functional>

#include "check.hpp"
#include "kernel/bin/bin.hpp"
#include "kernel/cells/coarsen.hpp"
#include "kernel/cells/row_hash.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/hierarchy.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"
#include "kernel/seek/seek.hpp"
#include "kernel/tree/tree.hpp"
#include "tree_input.hpp"

using namespace mspp;

namespace {

struct Stop {};

// Runs an operation that is interrupted at the n-th poll. Returns whether it ended early.
bool is_ended(int n, const std::function<void()>& operation) {
    try {
        const Call call(
            [&] {
                if (--n == 0) throw Stop{};
            },
            std::chrono::seconds(0));
        operation();
    } catch (const Stop&) {
        return true;
    }
    return false;
}

// Interrupts an operation at its first polls. IN least: the number of polls that it must have.
void check_polls(int least, const std::function<void(int threads)>& operation) {
    for (const int threads : {1, 3}) {
        int n = 1;
        while (n <= least + 2 && is_ended(n, [&] { operation(threads); })) ++n;
        CHECK_NOTE(n > least, std::to_string(threads) + " threads: " + std::to_string(n - 1) + " polls");
        operation(threads);
    }
}

}  // namespace

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
    check_polls(3, [&](int threads) { hash_rows(cloud.points(), 0, threads); });
}

// Each point of the sample may be on another page of a file.
TEST(sampling_can_be_interrupted_at_each_point) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 300'000, 2, 5.0);
    const std::vector<double> cell_size(2, 1.0);
    check_polls(1000, [&](int) { make_plan(cloud.points(), cell_size.data(), Strategy::automatic); });
}

TEST(clearing_memory_can_be_interrupted) {
    check_polls(4, [&](int) {
        Array<u64> zeros;
        assign_zeros(zeros, 300'000);
        CHECK(zeros.size() == 300'000 && zeros.front() == 0 && zeros.back() == 0);
    });
}

TEST(binning_bytes_can_be_interrupted) {
    const i64 n = 300'000;
    const std::vector<uint8_t> bytes(static_cast<size_t>(3 * n), 7);
    const Points points{reinterpret_cast<const char*>(bytes.data()), Dtype::u8, n, 3, 3, 1};
    const std::vector<double> cell_size(3, 16.0);
    check_polls(2, [&](int threads) {
        bin(points, cell_size.data(), nullptr, nullptr, threads, Strategy::dense, *find_loops(nullptr));
    });
    std::vector<float> colours(static_cast<size_t>(3 * n));
    check_polls(3, [&](int threads) { convert(points, Space::lab, 255, colours.data(), threads); });
}

TEST(grids_can_be_interrupted) {
    for (const int d : {2, 12}) {
        const GridData grid =
            oracle::bin(oracle::make_cloud(2, d == 2 ? 90'000 : 20'000, d, 4.0), 0.02, nullptr);
        const std::vector<i64> periods(static_cast<size_t>(d), 0);
        Array<u32> ranks;
        check_polls(3, [&](int) { merge(grid.view(), ranks); });
        check_polls(4, [&](int threads) { coarsen(grid.view(), 3, threads); });
        check_polls(10, [&](int threads) {
            seek(grid.view(), {periods.data()}, 1, 1e-3, 2, threads, WindowSums::automatic);
        });
        check_polls(3, [&](int threads) {
            find_cells(grid.view(), {periods.data()}, grid.cells.data(), grid.size(), 1, threads);
        });
        check_polls(3, [&](int threads) {
            window_counts(grid.view(), {periods.data()}, grid.cells.data(), grid.size(), 1, threads);
        });
    }
}

TEST(one_step_in_many_features_can_be_interrupted) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 1500, 24), 1.0, nullptr);
    for (const WindowSums sums : {WindowSums::rows, WindowSums::planes})
        check_polls(30, [&](int threads) { seek(grid.view(), {nullptr}, 1, 1e-3, 1, threads, sums); });
}

TEST(trees_can_be_interrupted) {
    const tree_input::Input input = tree_input::make_blobs(3, 6000, 3, 3.0);
    check_polls(30, [&](int threads) {
        grow_tree(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                  input.period.data(), 1.0, CriticalValues{1.45, 0.9, 1.0, 2.3}, threads);
    });
}

TEST(images_can_be_interrupted) {
    const Shape shape{1, 400, 500};
    std::mt19937 random(4);
    std::vector<float> colours(static_cast<size_t>(3 * shape.size()));
    std::vector<i32> clusters(static_cast<size_t>(shape.size())), labels(clusters.size());
    for (float& colour : colours) colour = static_cast<float>(random() % 100);
    for (i32& cluster : clusters) cluster = static_cast<i32>(random() % 3);
    auto make = [&](int threads) {
        return Hierarchy(colours.data(), clusters.data(), shape, {1, 1, 1}, 4, 8.0, {}, threads);
    };
    check_polls(30, [&](int threads) { make(threads); });
    const Hierarchy hierarchy = make(1);
    check_polls(3, [&](int threads) {
        hierarchy.cut(colours.data(), hierarchy.count(1.0), 9, labels.data(), threads);
    });
}
