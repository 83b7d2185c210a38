// Leaves: each point of a weight is in the box of one, none is too heavy, and none could be larger.
#include "kernel/leaves/leaves.hpp"

#include <numeric>
#include <optional>
#include <set>

#include "input.hpp"
#include "kernel/leaves/marginal.hpp"

using namespace fuzz;

namespace {

struct Case {
    std::vector<double> cell_size;
    std::vector<i64> cells_per_period, low, extent, shift;

    Case(Input& input, int d) {
        for (int j = 0; j < d; ++j) {
            const bool periodic = input.byte() % 4 == 0;
            cell_size.push_back(std::ldexp(1.0, static_cast<int>(input.whole(-5, 5))));
            cells_per_period.push_back(periodic ? i64{1} << input.whole(1, 8) : 0);
            low.push_back(periodic ? 0 : input.whole(-200, 50));
            shift.push_back(input.whole(0, 3));
            extent.push_back(periodic ? cells_per_period[j] : input.whole(1, 255));
        }
    }
    Lattice lattice() const {
        return {static_cast<int>(low.size()),
                cell_size.data(),
                cells_per_period.data(),
                low.data(),
                extent.data(),
                shift.data()};
    }
};

template <int W>
void run(const Points& points, const u64* weights, const Lattice& lattice, u64 limit, int threads) {
    const LeafSet<W> found = make_leaf_set<W>(points, weights, lattice, limit, threads);
    const size_t m = found.weights.size();
    REQUIRE(found.first.size() == m + 1 && found.first[m] == found.rows.size());
    REQUIRE((std::set<u32>(found.rows.begin(), found.rows.end()).size() == found.rows.size()));
    std::vector<i32> leaf(static_cast<size_t>(points.n), -2);
    find_leaves<W>(points, lattice, found.codes.data(), found.bits.data(), static_cast<i64>(m), leaf.data(),
                   threads);
    for (size_t k = 0; k < m; ++k) {
        u64 weight = 0;
        for (u32 i = found.first[k]; i < found.first[k + 1]; ++i) {
            weight += weights[found.rows[i]];
            REQUIRE(weights[found.rows[i]] > 0 && leaf[found.rows[i]] == static_cast<i32>(k));
        }
        REQUIRE(weight == found.weights[k] && (weight <= limit || found.bits[k] == 0));
        // The box twice as large has too much weight; its other half lies next to this one on the curve.
        for (const size_t other : {k - 1, k + 1})
            if (other < m && found.bits[other] == found.bits[k] &&
                first_difference(found.codes[k], found.codes[other]) == found.bits[k] + 1)
                REQUIRE(weight + found.weights[other] > limit);
    }
    for (size_t k = 1; k < m; ++k) REQUIRE(found.codes[k - 1] < found.codes[k]);
}

}  // namespace

FUZZ(input) {
    const int d = static_cast<int>(input.whole(1, 14)), threads = input.byte() % 16 ? 1 : 3;
    const Case lattice(input, d);
    const AnyPoints x(input, input.whole(0, 40), d, [&] { return input.any(); });
    std::vector<u64> weights;
    for (i64 i = 0; i < x.points.n; ++i) weights.push_back(static_cast<u64>(input.whole(0, 5)));
    const u64 limit = static_cast<u64>(input.whole(0, 30));
    const std::vector<double> period(static_cast<size_t>(d), input.byte() % 4 == 0 ? 7.5 : 0.0);
    try {
        with_words(d, [&](auto words) {
            run<decltype(words)::value>(x.points, weights.data(), lattice.lattice(), limit, threads);
        });
        const std::vector<Marginal> found = make_marginals(x.points, weights.data(), period.data(), threads);
        const u64 total = std::accumulate(weights.begin(), weights.end(), u64{0});
        for (const Marginal& marginal : found) {
            u64 sum = 0;
            for (const auto& [cell, weight] : marginal.entries) sum += weight;
            REQUIRE(sum == total && marginal.entries.size() <= Marginal::kMost);
        }
    } catch (const BadInput& error) {
        REQUIRE(error.row >= 0 && error.row < x.points.n && error.column >= 0 && error.column < d);
    }
}
