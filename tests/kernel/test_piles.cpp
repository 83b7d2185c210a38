// leaves/piles: rounded values, the ends of clipped scales and repeated points are spread or count less.
#include <numeric>
#include <set>

#include "check.hpp"
#include "kernel/leaves/piles.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;

namespace {

oracle::Cloud clipped(i64 n, int d, double low, double high) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> draw;
    oracle::Cloud cloud{d, {}};
    for (i64 i = 0; i < n * d; ++i) cloud.x.push_back(std::clamp(draw(random), low, high));
    return cloud;
}

Features features_of(const oracle::Cloud& cloud) {
    const std::vector<double> period(static_cast<size_t>(cloud.d), 0.0);
    Features features;
    for (Marginal& each : make_marginals(cloud.points(), nullptr, period.data(), 1))
        features.emplace_back(std::move(each), 0.0);
    return features;
}

LatticePlan plan_of(const oracle::Cloud& cloud) {
    const Features features = features_of(cloud);
    return {features, unit_choices(features)[0], static_cast<double>(cloud.n())};
}

Weighted coordinates_of(const oracle::Cloud& cloud, const TreeLattice& lattice, u64 count) {
    Weighted points;
    for (size_t i = 0; i < cloud.x.size(); ++i)
        points.coordinates.push_back(lattice.coordinate(cloud.x[i], i % lattice.d()));
    points.counts.assign(static_cast<size_t>(cloud.n()), count);
    return points;
}

u64 total_of(const Weighted& points) {
    return std::accumulate(points.counts.begin(), points.counts.end(), u64{0});
}

std::vector<i64> row_of(const Weighted& points, size_t i, size_t d) {
    return {&points.coordinates[i * d], &points.coordinates[i * d] + d};
}

}  // namespace

TEST(piles_at_the_ends_of_a_scale_are_found) {
    CHECK(plan_of(clipped(20000, 1, -9, 9)).ends.empty());
    const EndPiles ends = plan_of(clipped(20000, 1, -1.5, 1)).ends;
    CHECK(ends.size() == 2 && ends[0].value == -1.5 && ends[1].value == 1);
    CHECK(ends[0].width < 0 && ends[1].width > 0);
    oracle::Cloud cloud = clipped(20000, 2, -9, 9);
    double beyond = 0, near = 0;
    for (size_t i = 1; i < cloud.x.size(); i += 2) cloud.x[i] = std::min(cloud.x[i], 1.0);
    const EndPiles only = plan_of(cloud).ends;
    CHECK(only.size() == 1 && only[0].feature == 1 && only[0].value == 1);
    for (size_t i = 1; i < cloud.x.size(); i += 2) {
        beyond += cloud.x[i] == 1;
        near += cloud.x[i] < 1 && cloud.x[i] > 1 - only[0].width;
    }
    CHECK(std::fabs(near / beyond - 1) < 0.3);  // as many values next to a pile reach as far as its half
}

TEST(few_values_a_light_end_or_outliers_are_not_a_pile) {
    oracle::Cloud few{1, {}}, light{1, {}}, missing{1, {}};
    std::mt19937_64 random(1);
    for (int i = 0; i < 5000; ++i) {
        few.x.push_back(static_cast<double>(random() % 10));
        light.x.push_back(static_cast<double>(random() >> 11) * 0x1p-53);
    }
    missing.x = light.x;
    light.x.insert(light.x.end(), 5, 1.0);
    missing.x.insert(missing.x.end(), 20, 9999.0);  // a code for missing values
    for (const oracle::Cloud& cloud : {few, light, missing}) CHECK(plan_of(cloud).ends.empty());
}

TEST(spread_ends_keep_all_counts_and_move_outwards) {
    const oracle::Cloud cloud = clipped(4000, 2, -1.5, 1);
    const auto [lattice, ends, is_plain] = plan_of(cloud);
    CHECK(ends.size() == 4 && !is_plain);
    const Weighted points = coordinates_of(cloud, lattice, 40), moved = spread_ends(points, lattice, ends, 1);
    CHECK(total_of(moved) == total_of(points));
    CHECK(*std::min_element(moved.counts.begin(), moved.counts.end()) == 1);
    CHECK(*std::min_element(moved.coordinates.begin(), moved.coordinates.end()) >= 0);
    Array<i64> placed = points.coordinates;
    place_ends(placed, lattice, ends);
    std::set<std::vector<i64>> found;
    for (size_t i = 0; i < moved.size(); ++i) found.insert(row_of(moved, i, 2));
    for (size_t i = 0; i < points.size(); ++i) {
        const double *x = &cloud.x[2 * i], low = -1.5, high = 1;
        for (size_t j = 0; j < 2; ++j) {
            const i64 before = points.coordinates[2 * i + j], after = placed[2 * i + j];
            CHECK(x[j] == low ? after < before : x[j] == high ? after > before : after == before);
        }
        const bool is_inside = x[0] > low && x[0] < high && x[1] > low && x[1] < high;
        CHECK(found.count(row_of(points, i, 2)) == is_inside);
    }
}

TEST(spread_ends_of_many_features_do_not_fill_the_memory) {
    const oracle::Cloud cloud = clipped(2000, 3, -0.5, 0.5);
    const auto [lattice, ends, is_plain] = plan_of(cloud);
    CHECK(ends.size() == 6);
    const Weighted points = coordinates_of(cloud, lattice, 1'000'000);
    const u64 limit = 1'000'000;  // a point of a corner would become 32^3
    const Weighted whole = spread_ends(points, lattice, ends, limit);
    CHECK(total_of(whole) == total_of(points) && whole.size() > 10 * points.size());
    CHECK(whole.size() < 6 << 21);
    const Weighted real = spread_ends(points, lattice, ends, limit, 1'000'000);
    CHECK(total_of(real) == total_of(points) && real.size() == points.size());
}

TEST(spread_steps_keep_counts_and_stay_within_the_step) {
    std::mt19937_64 random(9);
    const double choices[] = {0, 2, 8, 101};
    for (int trial = 0; trial < 200; ++trial) {
        const size_t d = 1 + random() % 3, n = 1 + random() % 12;
        const u64 limit = 1 + random() % 30;
        std::vector<double> steps;
        for (size_t j = 0; j < d; ++j) steps.push_back(choices[random() % 4]);
        for (size_t i = 0; i < n; ++i) {
            Weighted point;
            for (size_t j = 0; j < d; ++j) point.coordinates.push_back(static_cast<i64>(random() % 900));
            point.counts.push_back(1 + random() % 500);
            const Weighted spread = spread_steps(point, steps, limit);
            CHECK(total_of(spread) == point.counts[0]);
            CHECK(*std::min_element(spread.counts.begin(), spread.counts.end()) > 0);
            for (size_t k = 0; k < spread.coordinates.size(); ++k) {
                const i64 gap = std::abs(spread.coordinates[k] - point.coordinates[k % d]);
                const double step = steps[k % d];
                CHECK(static_cast<double>(gap) <= (step >= 3 && point.counts[0] > limit ? step / 2 : 0));
            }
        }
    }
}

TEST(a_heavy_point_becomes_an_odd_number_of_points) {
    const Weighted spread = spread_steps({{50}, {9}}, {10.0}, 2);
    CHECK((spread.coordinates == Array<i64>{46, 48, 50, 52, 54}));
    CHECK(total_of(spread) == 9 && *std::max_element(spread.counts.begin(), spread.counts.end()) == 2);
    // Fewer counts than places: as many places have one, evenly.
    const Weighted few = spread_steps({{50, 50, 50}, {5}}, {9.0, 9.0, 9.0}, 1);
    CHECK(few.size() == 5 && total_of(few) == 5);
}

TEST(a_point_of_many_rounded_features_has_no_more_parts_than_counts) {
    const size_t d = 64;
    Weighted point{Array<i64>(d, 500), {1000}};
    const Weighted spread = spread_steps(point, std::vector<double>(d, 9.0), 10);
    CHECK(spread.size() == 1000 && total_of(spread) == 1000);
}

TEST(effective_counts_are_worth_the_effective_sample_size) {
    Array<u64> ones(50, 1), sevens(50, 7), mixed(1000, 1);
    std::fill_n(mixed.begin(), 100, 50);
    for (Array<u64>* counts : {&ones, &sevens, &mixed}) make_effective(*counts);
    CHECK(ones == Array<u64>(50, 1) && sevens == Array<u64>(50, 1));
    CHECK(mixed[0] == 1 && mixed[999] == 1);  // 50 * 5900 / 250900, rounded
    Array<u64> light(1000, 1);
    light[0] = 10;
    make_effective(light);
    CHECK(light[0] == 9);  // 10 * 1009 / 1099
}

TEST(every_distinct_point_of_piles_is_found_or_outside) {
    oracle::Cloud cloud = clipped(6000, 2, -1, 1.5);
    for (double& x : cloud.x) x = std::rint(x * 8) / 8;
    const Features features = features_of(cloud);
    const auto [lattice, ends, is_plain] = plan_of(cloud);
    CHECK(!is_plain);
    const TreeLeaves single = build_leaves(cloud.points(), nullptr, lattice, lattice.view(), 0, 1).first;
    const Piles piles(features, lattice, ends, single, static_cast<double>(cloud.n()), true);
    CHECK(piles.total() == 6000);
    for (const int threads : {1, 3}) {
        Array<i32> found, of_points(6000);
        const TreeLeaves leaves = piles.leaves(3, found, threads);
        CHECK(std::accumulate(leaves.weights.begin(), leaves.weights.end(), i64{0}) == 6000);
        CHECK(leaves.size() > single.size() && found.size() == single.size());
        find_leaves(cloud.points(), lattice, ends, leaves.codes.data(), leaves.bits.data(),
                    static_cast<i64>(leaves.size()), of_points.data(), threads);
        CHECK(std::count(of_points.begin(), of_points.end(), -1) < 300);
    }
}

TEST(spreading_many_piles_is_interrupted) {
    Weighted points{Array<i64>(40000, 500), Array<u64>(20000, 100)};
    laws::check_polls(20, [&](int) { spread_steps(points, {9.0, 9.0}, 1); });
}
