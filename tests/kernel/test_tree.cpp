// tree/: the clusters of plain inputs, and laws of the whole tree.
#include "check.hpp"
#include "kernel/tree/tree.hpp"
#include "laws.hpp"
#include "tree_input.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;
using namespace tree_input;

namespace {

constexpr CriticalValues kCritical{1.45, 0.9, 1.0, 2.3};

Tree grow(const Input& input, int n_threads = 1) {
    return grow_tree(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                     input.period.data(), 1.0, kCritical, n_threads);
}

bool equal(const std::vector<Split>& a, const std::vector<Split>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Split& s, const Split& t) {
        return s.cluster == t.cluster && s.parent == t.parent && s.mass == t.mass && s.front == t.front &&
               s.joins == t.joins && s.depth == t.depth && s.z == t.z && s.critical == t.critical &&
               s.score == t.score && s.weight == t.weight && s.peak == t.peak && s.saddle == t.saddle &&
               s.dimension == t.dimension;
    });
}

}  // namespace

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

TEST(trees_can_be_interrupted) {
    const Input input = make_blobs(3, 6000, 3, 3.0);
    check_polls(30, [&](int threads) { grow(input, threads); });
}

TEST(callers_grow_the_tree_of_the_same_points) {
    const Input input = make_blobs(4, 4000, 2, 9);
    each_caller([&] { return grow(input, kThreads).labels; });
}
