// leaves/marginal against brute force, with ==: the finest level with few occupied cells.
#include <map>

#include "check.hpp"
#include "kernel/leaves/marginal.hpp"
#include "laws.hpp"
#include "oracle.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;

namespace {

std::map<i64, u64> cells_at(const std::vector<double>& x, const std::vector<u64>& weights, int level) {
    std::map<i64, u64> cells;
    for (size_t i = 0; i < x.size(); ++i)
        if (weights[i] > 0) cells[static_cast<i64>(std::floor(std::ldexp(x[i], -level)))] += weights[i];
    return cells;
}

// The finest level at which no number of a cell exceeds 2^kBits and there are few cells.
Marginal expected_of(const std::vector<double>& x, const std::vector<u64>& weights) {
    Marginal marginal{0, HUGE_VAL, -HUGE_VAL, {}};
    double largest = 0;
    for (size_t i = 0; i < x.size(); ++i)
        if (weights[i] > 0) {
            marginal.low = std::min(marginal.low, x[i]);
            marginal.high = std::max(marginal.high, x[i]);
            largest = std::max(largest, std::fabs(x[i]));
        }
    marginal.level = largest > 0 ? std::max(std::ilogb(largest) - Marginal::kBits + 1, -1000) : -1000;
    while (cells_at(x, weights, marginal.level).size() > Marginal::kMost) ++marginal.level;
    for (const auto& [cell, weight] : cells_at(x, weights, marginal.level))
        marginal.entries.push_back({cell, weight});
    return marginal;
}

bool equal(const Marginal& a, const Marginal& b) {
    return a.level == b.level && a.low == b.low && a.high == b.high &&
           std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                      [](const auto& s, const auto& t) { return s.cell == t.cell && s.weight == t.weight; });
}

std::vector<Marginal> marginals(const oracle::Cloud& cloud, const u64* weights, double period, int threads) {
    const std::vector<double> periods(static_cast<size_t>(cloud.d), period);
    return make_marginals(cloud.points(), weights, periods.data(), threads);
}

void check_marginal(const std::vector<double>& x, const std::vector<u64>& weights) {
    const Marginal expected = expected_of(x, weights);
    for (const int threads : {1, 3}) CHECK(equal(marginals({1, x}, weights.data(), 0, threads)[0], expected));
}

std::vector<double> column(u32 seed, size_t n, double scale) {
    std::vector<double> x = oracle::make_cloud(seed, static_cast<i64>(n), 1).x;
    for (double& each : x) each *= scale;
    return x;
}

}  // namespace

TEST(marginals_have_the_finest_level_with_few_cells) {
    for (const size_t n : {1, 100, 3000})
        for (const double scale : {1.0, 1e-300, 1e300}) {
            check_marginal(column(1, n, scale), std::vector<u64>(n, 1));
            check_marginal(column(2, n, scale), oracle::make_weights(4, static_cast<i64>(n)));
        }
    check_marginal({0.0, -0.0, 0.0}, {1, 2, 3});
    check_marginal({5.0, 1e300, -3.0}, {1, 0, 1});  // a point without weight does not count
}

TEST(marginals_of_many_values_join_cells) {
    const size_t n = 150'000;
    std::vector<double> x = column(3, n, 1.0);
    check_marginal(x, std::vector<u64>(n, 1));
    x[77] = 1e12;  // an outlier
    x[78] = -1e-12;
    check_marginal(x, std::vector<u64>(n, 1));
    for (double& each : x) each = std::round(each * 1000) / 1000;
    check_marginal(x, oracle::make_weights(5, static_cast<i64>(n)));
}

TEST(a_period_has_a_fixed_number_of_cells) {
    const std::vector<double> x{0.0, 359.999, -0.001, 720.0, 180.0, -1e-30};
    const Marginal found = marginals({1, x}, nullptr, 360, 1)[0];
    std::map<i64, u64> cells{{0, 2}, {65535, 3}, {32768, 1}};
    cells = {{0, 3}, {32768, 1}, {65535, 2}};  // -1e-30 is rounded to the period, which is 0
    CHECK(found.entries.size() == cells.size());
    for (const auto& [cell, weight] : found.entries) CHECK(cells.at(cell) == weight);
    CHECK(found.low == 0 && found.high <= 360 && found.high > 359.99);
    const Marginal constant = marginals({1, {370.0, 10.0, -350.0}}, nullptr, 360, 1)[0];
    CHECK(constant.entries.size() == 1 && constant.low == 10 && constant.high == 10);
}

TEST(no_points_of_weight_have_an_empty_marginal) {
    const std::vector<u64> weights(3, 0);
    const Marginal found = marginals({1, {1.0, 2.0, 3.0}}, weights.data(), 0, 1)[0];
    CHECK(found.entries.empty());
}

TEST(marginals_report_values_that_are_not_finite) {
    const oracle::Cloud cloud{2, {0, 1, 2, 3, INFINITY, 5}};
    try {
        marginals(cloud, nullptr, 0, 1);
        CHECK(false);
    } catch (const BadInput& error) {
        CHECK(error.row == 2 && error.column == 0);
    }
}

TEST(finding_marginals_can_be_interrupted) {
    const oracle::Cloud cloud = oracle::make_cloud(1, 300'000, 2, 5.0);
    for (const double period : {0.0, 3.0})
        check_polls(5, [&](int threads) { marginals(cloud, nullptr, period, threads); });
}

TEST(callers_find_the_same_marginals) {
    const oracle::Cloud cloud = oracle::make_cloud(4, 150'000, 2);
    each_caller([&] { return marginals(cloud, nullptr, 0, kThreads)[1].entries.size(); });
}
