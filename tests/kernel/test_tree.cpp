// tree/: the clusters of plain inputs, and laws of the whole tree.
#include <map>

#include "check.hpp"
#include "kernel/tree/tree.hpp"
#include "laws.hpp"
#include "tree_input.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;
using namespace tree_input;

namespace {

constexpr CriticalValues kCritical{1.45, 1.1, 1.0, 2.3};

Tree grow(const Input& input, int n_threads = 1, const Growth& growth = {},
          const NearLoops& loops = near_loops()) {
    return grow_tree(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                     input.period.data(), growth, kCritical, n_threads, loops);
}

bool equal(const std::vector<Split>& a, const std::vector<Split>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Split& s, const Split& t) {
        return s.cluster == t.cluster && s.parent == t.parent && s.stage == t.stage && s.mass == t.mass &&
               s.front == t.front && s.joins == t.joins && s.top == t.top && s.depth == t.depth &&
               s.z == t.z && s.critical == t.critical && s.score == t.score && s.weight == t.weight &&
               s.peak == t.peak && s.saddle == t.saddle && s.dimension == t.dimension;
    });
}

bool equal(const Tree& a, const Tree& b) {
    return a.labels == b.labels && a.radii == b.radii && equal(a.splits, b.splits) && a.mass == b.mass &&
           a.levels == b.levels;
}

// Small blobs in pairs, far from each other and from a large one: windows for all rows cannot tell the two
// blobs of a pair apart.
Input make_pairs() {
    Input input = make_blobs(1, 40'000, 2, 0);
    const Input small = make_blobs(8, 360, 2, 14);
    for (size_t i = 0; i < small.cloud.x.size(); ++i) {
        const double pair = static_cast<double>(i / 2 % 8 / 2);
        input.cloud.x.push_back(small.cloud.x[i] + (i % 2 == 0 ? 100 + 80 * pair : 50 * pair));
        if (i % 2 == 0) input.weights.push_back(1);
    }
    return input;
}

// The number of clusters among the rows from `begin` on.
size_t clusters_from(const Tree& tree, size_t begin) {
    std::vector<i64> labels(tree.labels.begin() + static_cast<i64>(begin), tree.labels.end());
    std::sort(labels.begin(), labels.end());
    return static_cast<size_t>(std::unique(labels.begin(), labels.end()) - labels.begin());
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
    for (const int d : {1, 2, 3, 6})
        for (const double period : {0.0, 6.0}) {
            const Input input = make_input(9, 3000, d, period);
            const Tree one = grow(input);
            for (const int threads : {2, 3}) CHECK(equal(one, grow(input, threads)));
        }
    const Input pairs = make_pairs();
    CHECK(equal(grow(pairs), grow(pairs, 3)));
}

TEST(trees_are_equal_for_every_instruction_set) {
    for (const int d : {1, 2, 3, 4, 5, 7})
        for (const double period : {0.0, 20.0}) {
            const Input input = make_input(9, 3000, d, period);
            const Tree tree = grow(input);
            each_near_loops([&](const NearLoops& loops, const char* name) {
                CHECK_NOTE(equal(tree, grow(input, 1, {}, loops)), name);
            });
        }
}

TEST(trees_do_not_depend_on_the_order_of_rows) {
    for (const int d : {1, 2, 3}) {
        Input input = make_blobs(3, 2000, d, 7);
        for (size_t i = 0; i < 500; ++i) input.weights[i] = 1 + static_cast<i64>(i % 3);
        const size_t axes = static_cast<size_t>(d);
        std::copy_n(&input.cloud.x[0], 90 * axes, &input.cloud.x[500 * axes]);  // equal rows, other weights
        std::vector<size_t> row(2000);
        std::iota(row.begin(), row.end(), size_t{0});
        std::shuffle(row.begin(), row.end(), std::mt19937_64(1));
        Input permuted = input;
        for (size_t i = 0; i < row.size(); ++i) {
            std::copy_n(&input.cloud.x[row[i] * axes], axes, &permuted.cloud.x[i * axes]);
            permuted.weights[i] = input.weights[row[i]];
        }
        const Tree a = grow(input);
        Tree b = grow(permuted);
        for (size_t i = 0; i < row.size(); ++i)
            CHECK(a.labels[row[i]] == b.labels[i] && a.radii[row[i]] == b.radii[i]);
        for (Split& split : b.splits) {
            split.joins = static_cast<u32>(row[split.joins]);
            split.top = static_cast<u32>(row[split.top]);
        }
        CHECK(a.n_clusters >= 3 && equal(a.splits, b.splits));
    }
}

TEST(trees_do_not_depend_on_a_scale) {
    for (const double factor : {0x1p-40, 0x1p30}) {
        Input input = make_blobs(3, 2000, 2, 7);
        const Tree a = grow(input);
        for (double& x : input.cloud.x) x *= factor;
        const Tree b = grow(input);
        CHECK(a.labels == b.labels && a.splits.size() == 2 && b.splits.size() == 2);
        for (size_t k = 0; k < 2; ++k)
            CHECK(a.splits[k].z == b.splits[k].z && a.splits[k].top == b.splits[k].top);
    }
}

TEST(parts_begin_again_with_windows_of_their_own_size) {
    const Input input = make_pairs();
    const Tree tree = grow(input);
    CHECK(tree.mass == 50 && clusters_from(tree, 40'000) == 8 && tree.n_clusters == 9);
    i64 light = 0;
    for (const Split& split : tree.splits) light += split.mass < tree.mass;
    CHECK(light == 4);
}

// A window must hold several of the caller's points.
TEST(heavy_points_have_heavy_windows) {
    Input input = make_blobs(2, 4000, 2, 40);
    CHECK(grow(input).mass == 15);
    std::fill(input.weights.begin(), input.weights.end(), 100);
    CHECK(grow(input).mass >= 1200);
    CHECK(grow(input, 1, {.rows = 4000.0}).mass == 1500);
    input.weights.assign(4000, 1);
    input.weights[7] = 3000;  // a pile of equal rows
    CHECK(grow(input).mass == 20);
}

TEST(stages_refine_the_stages_before) {
    const Input input = make_blobs(4, 3000, 2, 5);
    const Tree strict = grow(input, 1, {.strictness = {5.0}});
    const Tree both = grow(input, 1, {.strictness = {5.0, 1.0}, .enough = 4});
    CHECK(strict.n_clusters < 4 && both.n_clusters >= 4);
    const size_t first = strict.splits.size();
    CHECK(equal(strict.splits, {both.splits.begin(), both.splits.begin() + static_cast<i64>(first)}));
    for (size_t k = first; k < both.splits.size(); ++k) CHECK(both.splits[k].stage == 1);
    std::map<i64, i64> coarse;  // of each cluster of both stages, that of the first
    for (size_t i = 0; i < both.labels.size(); ++i)
        CHECK(coarse.insert({both.labels[i], strict.labels[i]}).first->second == strict.labels[i]);
    const i64 enough = strict.n_clusters;
    CHECK(equal(strict, grow(input, 1, {.strictness = {5.0, 1.0}, .enough = enough})));
    CHECK(equal(both, grow(input, 3, {.strictness = {5.0, 1.0, 0.5}, .enough = both.n_clusters})));
}

// As many rows as weight changes nothing; heavier rows hardly anything; fewer make a valley less significant.
TEST(effective_rows_decide_significance) {
    Input input = make_blobs(3, 4096, 2, 7);
    const Tree tree = grow(input);
    CHECK(equal(tree, grow(input, 1, {.rows = 4096.0})));
    std::fill(input.weights.begin(), input.weights.end(), 8);
    const Tree heavy = grow(input, 1, {.rows = 4096.0});
    CHECK(heavy.mass == 8 * tree.mass && heavy.splits.size() == 2 && tree.splits.size() == 2);
    for (size_t k = 0; k < 2; ++k) {
        CHECK(std::abs(heavy.splits[k].z / tree.splits[k].z - 1) < 0.05);
        CHECK(std::abs(heavy.splits[k].critical / tree.splits[k].critical - 1) < 0.01);
    }
    CHECK(grow(input, 1, {.rows = 30.0}).n_clusters == 1);
}

TEST(splits_name_their_peaks) {
    const Input input = make_blobs(3, 3000, 2, 9);
    const Tree tree = grow(input);
    CHECK(tree.splits.size() == 2 && tree.levels >= 5);
    for (const Split& split : tree.splits) {
        CHECK(tree.labels[split.top] == split.cluster && tree.labels[split.joins] != split.cluster);
        const double blob = 9 * static_cast<double>(split.top % 3);
        CHECK(std::abs(input.cloud.x[2 * size_t{split.top}] - blob - 6) < 1);
    }
}

TEST(extremes_of_light_windows_are_farther_out) {
    const Rules rules{2, 1e6, 1, 1, kCritical}, copies{2, 4e6, 4, 1, kCritical};  // every row four times
    auto gaussian = [](double mass) { return std::sqrt(2 * std::log(1e6 / mass * 5)); };
    auto ratio = [&](double mass) { return rules.extreme(5 * mass, mass) / gaussian(mass); };
    CHECK(std::abs(ratio(10) - 1) < 1e-4);
    CHECK(ratio(8) > 1 && ratio(8) < 1.02);
    CHECK(ratio(1000) < ratio(100) && ratio(1000) > 0.92);
    CHECK(copies.extreme(5 * 32, 32) == rules.extreme(5 * 8, 8));
}

TEST(valleys_on_a_wide_part_may_be_shallow) {
    const Rules wide{2, 1e6, 1, 1, kCritical}, light{2, 1e6, 1, 1, kCritical, Rules::kDip};
    CHECK(wide.least_depth(0, 1) == Rules::kWideDip && light.least_depth(0, 1) == Rules::kDip);
    CHECK(wide.least_depth(5, 1) == 1 && wide.least_depth(50, 1) == Rules::kDeep);
    for (const double height : {0.0, 5.0, 50.0}) {
        CHECK(wide.least_depth(height, 2) == Rules::kFlatDip);
        CHECK(light.least_depth(height, 2) == Rules::kFlatDip);
    }
    CHECK(wide.least_depth(5, 1.9) < 1 && wide.least_depth(5, 1.9) > Rules::kFlatDip);
}

TEST(leaves_are_lighter_than_a_layer_of_boxes) {
    CHECK(Masses::heaviest_leaf(1'000'000, 5) == 976 && Masses::heaviest_leaf(1'000'000, 2) == 62'500);
    CHECK(Masses::heaviest_leaf(100, 5) == 1 && Masses::heaviest_leaf(1 << 20, 64) == 256);
}

TEST(a_border_has_one_density_in_windows_of_every_mass) {
    const Border border{3, 100, 2};
    CHECK(border.radius_of(100) == 3 && border.radius_of(400) == 4);
    CHECK(Border{}.radius_of(1e9) == HUGE_VAL);
}

TEST(logarithms_are_those_of_the_library) {
    std::mt19937_64 random(2);
    for (int k = 0; k < 10'000; ++k) {
        const double mantissa = 1 + static_cast<double>(random() >> 11) * 0x1p-53;
        const double v = std::ldexp(mantissa, static_cast<int>(random() % 200) - 100);
        CHECK(std::abs(log2_of(v) - std::log2(v)) < 0x1p-15);
        const i64 units = log2_units(v);
        CHECK(units == detail::log2_units_by_bits(v));
        CHECK(std::abs(std::log2(exp2_units(units)) - static_cast<double>(units) * kLogUnit) < 0x1p-15);
    }
    for (i64 units = -3000; units < 3000; ++units)  // close to whole numbers
        for (const double v : {exp2_units(units), std::nextafter(exp2_units(units), 0.0)})
            CHECK(log2_units(v) == detail::log2_units_by_bits(v));
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
