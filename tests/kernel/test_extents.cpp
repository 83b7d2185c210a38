// tree/extents: the flat background around bumps leaves them, and that of Gaussians stays.
#include "check.hpp"
#include "kernel/tree/extents.hpp"

using namespace mspp;

namespace {

struct Leaf {
    i64 label;
    double size, height;  // log2 of the density above the saddle
};

constexpr double kLevel = 3, kDimension = 2;

std::vector<i64> extents(const std::vector<Leaf>& leaves, i64 n_clusters, double depth = 4) {
    std::vector<i64> labels;
    std::vector<double> sizes, radii;
    for (const Leaf& leaf : leaves) {
        labels.push_back(leaf.label);
        sizes.push_back(leaf.size);
        radii.push_back(kLevel - leaf.height / kDimension);
    }
    std::vector<Saddle> saddles;
    for (i64 k = 1; k < n_clusters; ++k) saddles.push_back({k, 0, kLevel, kDimension, depth});
    return find_extents(labels.data(), sizes.data(), radii.data(), static_cast<i64>(leaves.size()),
                        n_clusters, saddles);
}

}  // namespace

TEST(a_wide_cluster_gets_the_background_of_a_bump) {
    const std::vector<Leaf> leaves{{0, 10000, 6}, {1, 60, 4}, {1, 2000, -1}, {1, 1, 0.4}, {1, 1, 0.6}};
    CHECK((extents(leaves, 2) == std::vector<i64>{0, 1, 0, 0, 1}));
}

TEST(clusters_that_only_lighter_windows_divide_keep_their_leaves) {
    const std::vector<i64> labels{0, 1, 1, 2, 2};
    const std::vector<double> sizes{10000, 60, 2000, 60, 2000}, radii{0, 1, 3.5, 1, 3.5};
    auto run = [&](bool is_seen) {
        return find_extents(labels.data(), sizes.data(), radii.data(), 5, 3,
                            {{1, 0, kLevel, kDimension, 4}, {2, 1, kLevel, kDimension, 4, is_seen}});
    };
    CHECK((run(true) == std::vector<i64>{0, 1, 0, 2, 0}));
    CHECK(run(false) == labels);
}

TEST(a_low_bump_keeps_its_upper_half) {
    const std::vector<Leaf> leaves{{0, 10000, 6}, {1, 60, 0.4}, {1, 2000, -1}, {1, 1, 0.15}, {1, 1, 0.25}};
    CHECK((extents(leaves, 2, 0.4) == std::vector<i64>{0, 1, 0, 0, 1}));
}

TEST(bumps_without_a_wide_cluster_have_a_background_of_their_own) {
    std::vector<Leaf> leaves;
    for (const i64 k : {0, 1, 2}) {
        leaves.push_back({k, 20, 4});
        leaves.push_back({k, 1000, -1});
    }
    CHECK((extents(leaves, 3) == std::vector<i64>{0, 3, 1, 3, 2, 3}));
    for (Leaf& leaf : leaves)
        if (leaf.size > 20) leaf.size = 200;  // too light for so much above it
    CHECK((extents(leaves, 3) == std::vector<i64>{0, 0, 1, 1, 2, 2}));
}

TEST(most_of_the_background_is_a_cluster_that_gets_the_rest) {
    const std::vector<Leaf> leaves{{0, 20, 4},    {0, 5000, -1}, {1, 20, 4},
                                   {1, 1000, -1}, {2, 20, 4},    {2, 1000, -1}};
    CHECK((extents(leaves, 3) == std::vector<i64>{0, 0, 1, 0, 2, 0}));
}

TEST(gaussians_keep_their_skirts) {
    const double depth = 2, skirt = detail::gaussian_skirt(depth, kDimension);
    CHECK(skirt > 0.1 && skirt < 1);
    for (const double times : {1.0, 1.8}) {  // less than two Gaussians
        const std::vector<Leaf> leaves{{0, 50000, 6}, {1, 1000, 30}, {1, times * 1000 * skirt, -0.5}};
        CHECK((extents(leaves, 2, depth) == std::vector<i64>{0, 1, 1}));
    }
}

TEST(one_cluster_keeps_all_leaves) {
    CHECK((extents({{0, 5, 9}, {0, 5000, -9}}, 1) == std::vector<i64>{0, 0}));
}

TEST(a_deep_gaussian_has_a_light_skirt) {
    double last = HUGE_VAL;
    for (const double depth : {0.01, 0.5, 1.0, 4.0, 20.0, 900.0}) {
        const double skirt = detail::gaussian_skirt(depth, 3);
        CHECK(std::isfinite(skirt) && skirt >= 0 && skirt < last);
        last = skirt;
    }
}
