// The tree: labels, splits and parents fit together, for every number of threads and order of rows.
#include "kernel/tree/tree.hpp"

#include "input.hpp"

using namespace fuzz;

namespace {

struct Rows {
    int d;
    std::vector<double> x, period;
    std::vector<i64> weights;
};

Tree grow(const Rows& rows, double strictness, int threads) {
    constexpr CriticalValues critical{1.45, 0.9, 1.0, 2.3};
    return grow_tree(rows.x.data(), rows.weights.data(), static_cast<i64>(rows.weights.size()), rows.d,
                     rows.period.data(), {.strictness = {strictness, strictness / 2}, .enough = 3}, critical,
                     threads);
}

void check(const Tree& tree, const Rows& rows) {
    const i64 n = static_cast<i64>(rows.weights.size());
    std::vector<bool> used(static_cast<size_t>(tree.n_clusters));
    REQUIRE(static_cast<i64>(tree.labels.size()) == n && static_cast<i64>(tree.radii.size()) == n);
    for (const i64 label : tree.labels) used.at(static_cast<size_t>(label)) = true;
    REQUIRE(std::count(used.begin(), used.end(), true) == tree.n_clusters);
    REQUIRE(static_cast<i64>(tree.splits.size()) == tree.n_clusters - 1);
    for (size_t k = 0; k < tree.splits.size(); ++k) {
        const Split& split = tree.splits[k];
        REQUIRE(split.cluster == static_cast<i64>(k) + 1 && split.parent >= 0 &&
                split.parent < split.cluster);
        REQUIRE(split.joins < n && split.top < n && split.depth > 0 && split.z > 0 && split.weight > 0);
    }
}

}  // namespace

FUZZ(input) {
    Rows rows{static_cast<int>(input.whole(1, 4)), {}, {}, {}};
    const i64 n = input.whole(1, 40), most = input.byte() < 240 ? 9 : i64{1} << 31;
    const double largest = input.byte() < 250 ? 1e6 : 0x1.8p1023;
    for (int j = 0; j < rows.d; ++j)
        rows.period.push_back(input.byte() % 4 ? 0.0 : input.choice({7.5, 3.0, 1e-3}));
    for (i64 i = 0; i < n; ++i) {
        rows.weights.push_back(input.whole(1, most));
        for (int j = 0; j < rows.d; ++j) {
            const double x = input.finite(largest);
            rows.x.push_back(rows.period[j] > 0 ? std::abs(std::fmod(x, rows.period[j])) : x);
        }
    }
    const double strictness = input.choice({1.0, 0.1, 1e-6, 10.0});
    Tree tree;
    try {
        tree = grow(rows, strictness, 1);
    } catch (const BadInput&) {  // a span that overflows
        REQUIRE(largest > 1e6);
        return;
    }
    check(tree, rows);
    if (input.byte() % 16 == 0) {
        const Tree other = grow(rows, strictness, 3);
        REQUIRE(other.labels == tree.labels && other.radii == tree.radii);
    }
    std::fill(rows.weights.begin(), rows.weights.end(), 3);  // equal rows could change places otherwise
    Rows turned = rows;
    for (i64 i = 0; i < n; ++i) std::copy_n(&rows.x[(n - 1 - i) * rows.d], rows.d, &turned.x[i * rows.d]);
    const Tree a = grow(rows, strictness, 1);
    Tree b = grow(turned, strictness, 1);
    std::reverse(b.radii.begin(), b.radii.end());
    REQUIRE(a.radii == b.radii && a.n_clusters == b.n_clusters);
}
