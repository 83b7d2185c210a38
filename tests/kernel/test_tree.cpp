// tree/: leaves and windows against brute force, the clusters of plain inputs, and laws of the whole tree.
#include "check.hpp"
#include "kernel/tree/tree.hpp"
#include "oracle.hpp"

using namespace mspp;

namespace {

constexpr CriticalValues kCritical{1.45, 0.9, 1.0, 2.3};

struct Input {
    oracle::Cloud cloud;
    std::vector<i64> weights;
    std::vector<double> period;
};

// Blobs of unequal weights; with a period, the first axis is a circle.
Input make_input(u32 seed, i64 n, int d, double period = 0) {
    Input input{oracle::make_cloud(seed, n, d), {}, std::vector<double>(static_cast<size_t>(d), 0.0)};
    for (const u64 weight : oracle::make_weights(seed, n))
        input.weights.push_back(1 + static_cast<i64>(weight));
    if (period > 0) {
        input.period[0] = period;
        for (i64 i = 0; i < n; ++i) {
            double& x = input.cloud.x[static_cast<size_t>(i * d)];
            x -= period * std::floor(x / period);
        }
    }
    return input;
}

Cloud sorted(const Input& input) {
    return sort_along_curve(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                            input.period.data());
}

Tree grow(const Input& input, int n_threads = 1) {
    return grow_tree(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                     input.period.data(), 1.0, kCritical, n_threads, [] {});
}

std::vector<u32> all_points(const Cloud& cloud) {
    std::vector<u32> part(static_cast<size_t>(cloud.size()));
    std::iota(part.begin(), part.end(), 0u);
    return part;
}

// The mean squared distance to the nearest mass K, from all leaves.
double mean_square(const Leaves& leaves, const double* x, const std::vector<double>& period, i64 mass) {
    std::vector<std::pair<double, i64>> all;
    for (i64 k = 0; k < leaves.size(); ++k) {
        double squared = 0;
        for (int j = 0; j < leaves.d; ++j) {
            double gap = std::abs(leaves.position(k)[j] - x[j]);
            if (period[j] > 0) gap = std::min(gap, period[j] - gap);
            squared += gap * gap;
        }
        all.push_back({squared, leaves.weights[k]});
    }
    std::sort(all.begin(), all.end());
    double sum = 0;
    i64 rest = mass;
    for (size_t k = 0; rest > 0; ++k) {
        const i64 taken = std::min(rest, all[k].second);
        sum += static_cast<double>(taken) * all[k].first;
        rest -= taken;
    }
    return std::max(sum / static_cast<double>(mass), 1.0);
}

void check_windows(const Input& input, i64 mass, i64 centre_limit, i64 leaf_limit, double guess) {
    const Cloud cloud = sorted(input);
    const std::vector<u32> part = all_points(cloud);
    const Stretch stretch(cloud, part);
    const Leaves centres = make_leaves(cloud, stretch, centre_limit),
                 leaves = make_leaves(cloud, stretch, leaf_limit);
    const Boxes around(centres, cloud.period), among(leaves, cloud.period);
    const std::vector<double> guesses(static_cast<size_t>(centres.size()), guess);
    const Windows one = make_windows(around, among, cloud.period, mass, guesses, false, 1);
    const Windows three = make_windows(around, among, cloud.period, mass, guesses, false, 3);
    CHECK(one.square == three.square && one.reach == three.reach && one.radius == three.radius);
    for (i64 k = 0; k < centres.size(); ++k) {
        const double expected = mean_square(leaves, centres.position(k), cloud.period, mass);
        CHECK_NOTE(std::abs(one.square[k] / expected - 1) < 1e-5, std::to_string(k));
        CHECK(one.radius[k] == log2_units(one.square[k]) / 2);
    }
}

bool equal(const std::vector<Split>& a, const std::vector<Split>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Split& s, const Split& t) {
        return s.cluster == t.cluster && s.parent == t.parent && s.mass == t.mass && s.front == t.front &&
               s.joins == t.joins && s.depth == t.depth && s.z == t.z && s.critical == t.critical &&
               s.score == t.score && s.weight == t.weight && s.peak == t.peak && s.saddle == t.saddle &&
               s.dimension == t.dimension;
    });
}

// Sums of twelve uniform numbers around the corners of a line, `step` apart.
Input make_blobs(int blobs, i64 n, int d, double step) {
    std::mt19937_64 random(7);
    Input input{{d, {}},
                std::vector<i64>(static_cast<size_t>(n), 1),
                std::vector<double>(static_cast<size_t>(d), 0.0)};
    for (i64 i = 0; i < n; ++i)
        for (int j = 0; j < d; ++j) {
            double x = j == 0 ? step * static_cast<double>(i % blobs) : 0.0;
            for (int k = 0; k < 12; ++k) x += static_cast<double>(random() >> 11) * 0x1p-53;
            input.cloud.x.push_back(x);
        }
    return input;
}

}  // namespace

TEST(leaves_are_a_partition_and_nested) {
    for (const int d : {1, 2, 5, 70}) {
        const Input input = make_input(3, 700, d);
        const Cloud cloud = sorted(input);
        std::vector<u32> part;  // every point but each third
        for (u32 i = 0; i < cloud.size(); ++i)
            if (i % 3 != 0) part.push_back(i);
        std::vector<u32> finer;
        for (const i64 limit : {1, 4, 20, 100}) {
            const Leaves leaves = make_leaves(cloud, Stretch(cloud, part), limit);
            CHECK(leaves.first.front() == 0 && leaves.first.back() == part.size());
            CHECK(std::is_sorted(leaves.first.begin(), leaves.first.end()));
            for (i64 k = 0; k < leaves.size(); ++k) {
                i64 weight = 0;
                for (u32 i = leaves.first[k]; i < leaves.first[k + 1]; ++i) {
                    weight += cloud.weights[part[i]];
                    CHECK(leaves.of(i) == k);
                }
                const u32 *head = cloud.box(part[leaves.first[k]]),
                          *tail = cloud.box(part[leaves.first[k + 1] - 1]);
                const bool one_box = first_difference(head, tail, d).axis < 0;
                CHECK(weight == leaves.weights[k] && (weight <= limit || one_box));
            }
            if (!finer.empty())
                CHECK(std::includes(finer.begin(), finer.end(), leaves.first.begin(), leaves.first.end()));
            finer = leaves.first;
        }
    }
}

TEST(windows_are_those_of_brute_force) {
    for (const int d : {1, 2, 3, 6})
        for (const double guess : {0.0, 1.0, 1e9}) {
            check_windows(make_input(1, 600, d), 40, 3, 3, guess);
            check_windows(make_input(2, 600, d), 200, 12, 4, guess);
        }
}

TEST(windows_go_round_a_period) {
    for (const int d : {1, 2, 3}) check_windows(make_input(4, 600, d, 5.5), 40, 3, 3, 0.0);
}

TEST(a_window_can_hold_all_points) {
    check_windows(make_input(5, 60, 2), sorted(make_input(5, 60, 2)).weight, 1, 1, 0.0);
}

TEST(blobs_far_apart_are_clusters) {
    for (const int d : {1, 2, 3, 5}) {
        const Tree one = grow(make_blobs(1, 1500, d, 0));
        CHECK(one.n_clusters == 1 && one.splits.empty());
        CHECK(std::count(one.labels.begin(), one.labels.end(), 0) == 1500);
        const Tree two = grow(make_blobs(2, 1500, d, 40));
        CHECK(two.n_clusters == 2 && two.splits.size() == 1);
        for (size_t i = 2; i < two.labels.size(); ++i) CHECK(two.labels[i] == two.labels[i % 2]);
        CHECK(two.labels[0] != two.labels[1]);
    }
}

TEST(trees_are_equal_for_every_number_of_threads) {
    for (const int d : {1, 2, 3})
        for (const double period : {0.0, 6.0}) {
            const Input input = make_input(9, 3000, d, period);
            const Tree one = grow(input);
            for (const int threads : {2, 3}) {
                const Tree more = grow(input, threads);
                CHECK(one.labels == more.labels && one.radii == more.radii && equal(one.splits, more.splits));
            }
        }
}

// Rows with equal coordinates and different weights could change places on the curve, so there are none.
TEST(trees_do_not_depend_on_the_order_of_rows) {
    for (const int d : {1, 2, 3}) {
        const Input input = make_blobs(3, 2000, d, 7);
        std::vector<size_t> row(2000);
        std::iota(row.begin(), row.end(), size_t{0});
        std::shuffle(row.begin(), row.end(), std::mt19937_64(1));
        Input permuted = input;
        const size_t axes = static_cast<size_t>(d);
        for (size_t i = 0; i < row.size(); ++i)
            std::copy_n(&input.cloud.x[row[i] * axes], axes, &permuted.cloud.x[i * axes]);
        const Tree a = grow(input);
        Tree b = grow(permuted);
        for (size_t i = 0; i < row.size(); ++i)
            CHECK(a.labels[row[i]] == b.labels[i] && a.radii[row[i]] == b.radii[i]);
        for (Split& split : b.splits) split.joins = static_cast<u32>(row[split.joins]);
        CHECK(equal(a.splits, b.splits));
    }
}

TEST(logarithms_are_those_of_the_library) {
    std::mt19937_64 random(2);
    for (int k = 0; k < 10'000; ++k) {
        const double mantissa = 1 + static_cast<double>(random() >> 11) * 0x1p-53;
        const double v = std::ldexp(mantissa, static_cast<int>(random() % 200) - 100);
        CHECK(std::abs(log2_of(v) - std::log2(v)) < 0x1p-15);
        const i64 units = log2_units(v);
        CHECK(std::abs(std::log2(exp2_units(units)) - static_cast<double>(units) * kLogUnit) < 0x1p-15);
    }
    CHECK(log2_units(1.0) == 0 && log2_units(8.0) == 3 << kLogBits && exp2_units(-(1 << kLogBits)) == 0.5);
}
