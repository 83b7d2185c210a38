// Several callers at the same time, each with several threads, share their input: for the thread sanitizer.
#include "check.hpp"
#include "kernel/bin/bin.hpp"
#include "kernel/cells/coarsen.hpp"
#include "kernel/cells/row_hash.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/hierarchy.hpp"
#include "kernel/query/find_cells.hpp"
#include "kernel/query/window_counts.hpp"
#include "kernel/seek/seek.hpp"
#include "kernel/track/follower.hpp"
#include "kernel/track/tracker.hpp"
#include "kernel/tree/tree.hpp"
#include "tree_input.hpp"

using namespace mspp;

namespace {

constexpr int kCallers = 3, kThreads = 3;

// Calls fn() on several threads at once; all results must be equal.
template <class Fn>
void each_caller(Fn&& fn) {
    std::vector<decltype(fn())> results(kCallers);
    parallel(kCallers, [&](int t) { results[static_cast<size_t>(t)] = fn(); });
    for (const auto& result : results) CHECK(result == results[0]);
}

std::vector<double> ones(int d) { return std::vector<double>(static_cast<size_t>(d), 1.0); }

Modes search(const GridData& grid) {
    return seek(grid.view(), {nullptr}, 1, 1e-3, 20, kThreads, WindowSums::automatic);
}

// A square that moves over noise.
struct Film {
    static constexpr i64 kSide = 80;
    std::vector<uint8_t> pixels = std::vector<uint8_t>(kSide * kSide * 3);
    Frame frame(i64 number) {
        for (i64 p = 0; p < kSide * kSide; ++p) {
            const i64 x = p % kSide - number, y = p / kSide - number;
            for (i64 c = 0; c < 3; ++c)
                pixels[static_cast<size_t>(3 * p + c)] = static_cast<uint8_t>(
                    x >= 20 && x < 40 && y >= 20 && y < 40 ? 200 - 60 * c : (p * 31 + c * 7) % 90);
        }
        return {pixels.data(), kSide, kSide, 3 * kSide, 3, 1};
    }
};

template <class T>
std::vector<i64> follow(T& tracker) {
    Film film;
    std::vector<i64> places;
    tracker.init(film.frame(0), {20, 20, 40, 40}, nullptr);
    for (i64 k = 1; k < 5; ++k) {
        tracker.update(film.frame(k));
        places.push_back(tracker.window(Film::kSide, Film::kSide).left);
    }
    return places;
}

}  // namespace

TEST(callers_bin_and_label_the_same_points) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 100'000, 2);
    const std::vector<double> h(2, 0.1);
    for (const Strategy strategy : {Strategy::automatic, Strategy::dense, Strategy::ranked, Strategy::hash,
                                    Strategy::sorted, Strategy::wide})
        each_caller([&] {
            std::vector<i32> ids(static_cast<size_t>(cloud.n()));
            const Binned binned =
                bin(cloud.points(), h.data(), nullptr, ids.data(), kThreads, strategy, *find_loops(nullptr));
            const Modes modes = search(binned.grid);
            binned.assignment.take(modes.cell_labels.data(), ids.data(), ids.data());
            return ids;
        });
}

TEST(callers_take_labels_from_one_assignment) {
    const oracle::Cloud cloud = oracle::make_cloud(2, 100'000, 2);
    std::vector<i32> ids(static_cast<size_t>(cloud.n()));
    const Binned binned = bin(cloud.points(), ones(2).data(), nullptr, ids.data(), kThreads,
                              Strategy::automatic, *find_loops(nullptr));
    std::vector<i32> numbers(binned.grid.counts.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    each_caller([&] {
        std::vector<i32> labels(ids.size());
        binned.assignment.take(numbers.data(), ids.data(), labels.data());
        return labels;
    });
}

TEST(callers_search_coarsen_and_query_one_grid) {
    const GridData grid = oracle::bin(oracle::make_cloud(3, 90'000, 3, 3.0), 0.15, nullptr);
    CHECK(grid.size() > 2 * (1 << 15));
    each_caller([&] {
        const Modes modes = search(grid);
        return std::vector<i32>(modes.cell_labels.begin(), modes.cell_labels.end());
    });
    each_caller([&] {
        const GridData coarse = coarsen(grid.view(), 3, kThreads);
        return std::vector<u64>(coarse.sums.begin(), coarse.sums.end());
    });
    each_caller([&] {
        const auto found = find_cells(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, kThreads);
        const auto counts =
            window_counts(grid.view(), {nullptr}, grid.cells.data(), grid.size(), 1, kThreads);
        return std::pair(found, counts);
    });
}

TEST(callers_hash_and_convert_the_same_points) {
    const oracle::Cloud cloud = oracle::make_cloud(4, 150'000, 3);
    each_caller([&] { return hash_rows(cloud.points(), u64{1} << 62, kThreads).rows; });
    each_caller([&] {
        std::vector<float> colours(cloud.x.size());
        convert(cloud.points(), Space::lab, 20.0, colours.data(), kThreads);
        for (float& colour : colours) colour = std::isnan(colour) ? 0.0f : colour;
        return colours;
    });
}

TEST(callers_segment_one_image_and_cut_one_hierarchy) {
    const Shape shape{1, 200, 300};
    std::vector<i32> clusters(static_cast<size_t>(shape.size()));
    std::vector<float> colours(3 * clusters.size());
    std::mt19937 random(5);
    for (size_t p = 0; p < clusters.size(); ++p) {
        clusters[p] = static_cast<i32>(p % 300 / 17 + p / 300 / 13 * 20) - (random() % 99 == 0 ? 9999 : 0);
        for (size_t c = 0; c < 3; ++c)
            colours[3 * p + c] = static_cast<float>(clusters[p] % 7 * 9) + static_cast<float>(random() % 9);
    }
    auto make = [&] {
        return Hierarchy(colours.data(), clusters.data(), shape, {1.0, 1.0, 1.0}, 20, 100.0, {}, kThreads);
    };
    const Hierarchy shared = make();
    auto cut = [&](const Hierarchy& tree) {
        std::vector<i32> labels(clusters.size());
        tree.cut(colours.data(), tree.count(1.0), 40, labels.data(), kThreads);
        return labels;
    };
    each_caller([&] { return cut(make()); });
    each_caller([&] { return cut(shared); });
}

TEST(callers_grow_the_tree_of_the_same_points) {
    const tree_input::Input input = tree_input::make_blobs(4, 4000, 2, 9);
    each_caller([&] {
        return grow_tree(input.cloud.x.data(), input.weights.data(), input.cloud.n(), 2, input.period.data(),
                         1.0, CriticalValues{1.45, 0.9, 1.0, 2.3}, kThreads)
            .labels;
    });
}

TEST(trackers_share_their_colour_cells) {
    const auto cells = std::make_shared<const ColourCells>(std::array<double, 3>{20, 20, 20});
    each_caller([&] {
        // 300 KB, too much for the stack of a thread on some systems.
        const auto tracker = std::make_unique<ColourTracker>(cells, true);
        CellFollower follower({64, 64, 64}, true, 0.5, 20);
        return std::pair(follow(*tracker), follow(follower));
    });
}
