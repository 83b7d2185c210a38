// leaves/feature: sums of marginals, and the range, spread and step that come from them.
#include "check.hpp"
#include "kernel/leaves/feature.hpp"
#include "oracle.hpp"

using namespace mspp;

namespace {

Feature feature_of(const std::vector<double>& x, double period = 0) {
    const oracle::Cloud cloud{1, x};
    return {make_marginals(cloud.points(), nullptr, &period, 1)[0], period};
}

std::vector<double> normal(size_t n, double scale = 1) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> draw(0, scale);
    std::vector<double> x(n);
    for (double& each : x) each = draw(random);
    return x;
}

std::vector<double> rounded(std::vector<double> x, double step) {
    for (double& each : x) each = std::rint(each / step) * step;
    return x;
}

bool is_near(double found, double expected, double tolerance) {
    return std::fabs(found - expected) <= tolerance;
}

bool equal(const Marginal& a, const Marginal& b) {
    return a.level == b.level && a.low == b.low && a.high == b.high &&
           std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                      [](const auto& s, const auto& t) { return s.cell == t.cell && s.weight == t.weight; });
}

}  // namespace

TEST(marginals_of_parts_add_up_in_any_order) {
    for (const double scale : {1.0, 1e-300, 1e200}) {
        std::vector<double> x = normal(150000, scale);
        x.push_back(1e12 * scale);
        const std::vector<double> a(x.begin(), x.begin() + 70000), b(x.begin() + 70000, x.begin() + 70001),
            c(x.begin() + 70001, x.end());
        const Marginal whole = feature_of(x).marginal(), first = feature_of(a).marginal(),
                       second = feature_of(b).marginal(), third = feature_of(c).marginal();
        CHECK(equal(add(add(first, second), third), whole));
        CHECK(equal(add(third, add(second, first)), whole));
        CHECK(equal(add(Marginal{}, whole), whole));
        CHECK(equal(add(whole, Marginal{}), whole));
    }
}

TEST(limits_are_within_the_values) {
    std::vector<double> x;
    for (int k = 0; k <= 1000; ++k) x.push_back(k / 10.0);
    x.push_back(1e6);
    const Feature feature = feature_of(x);
    const auto [low, high] = feature.limits(0);
    CHECK(is_near(low, 1, 0.2) && is_near(high, 99, 0.2));
    CHECK(feature.limits(1.0) == std::pair(0.0, high + (high - low)));
    CHECK(feature.limits(1e9) == std::pair(0.0, 1e6));
    CHECK(is_near(feature.median(), 50, 0.2));
}

TEST(the_spread_ignores_far_values_and_the_edge_of_a_period) {
    std::vector<double> x = normal(20000);
    CHECK(is_near(feature_of(x).spread(), 1, 0.03));
    x.push_back(1e6);
    CHECK(is_near(feature_of(x).spread(), 1, 0.03));
    CHECK(is_near(feature_of(normal(20000, 20), 360).spread(), 20, 0.6));
    CHECK(feature_of({350, 350, 350}, 360).spread() == 0);
    CHECK(!feature_of({350, 350, 350}, 360).varies());
}

TEST(a_step_is_the_usual_distance_of_rounded_values) {
    const std::vector<double> x = normal(3000);
    for (const double step : {0.1, 0.25, 1.0}) {
        CHECK(is_near(feature_of(rounded(x, step)).step(3000), step, 1e-9));
        CHECK(feature_of(rounded(x, step), 40).step(3000) == 0);
    }
    CHECK(feature_of(x).step(3000) == 0);
    CHECK(feature_of({0, 1, 0, 1}).step(4) == 0);  // two values have no step
    CHECK(feature_of({0, 1, 3, 6}).step(8) == 2);  // an odd number of gaps: 1, 2, 3
    CHECK(feature_of({0, 1, 3}).step(6) == 1.5);   // an even number: 1, 2
    CHECK(feature_of({0, 1, 3, 6}).step(7) == 0);  // more than half as many values as points
}

TEST(fine_cells_are_parts_of_the_range_and_of_the_values) {
    CHECK(feature_of({0, 1}).fine_level() == -40);
    CHECK(feature_of({1e9, 1e9 + 1}).fine_level() == 29 - 50);
    CHECK(feature_of({0, 0}).fine_level() == -1000);
    std::vector<double> x = normal(150000);
    const Feature feature = feature_of(x);
    CHECK(feature.fine_level() == feature.marginal().level - 14);
}
