// The tree of a table, with the steps of meanshiftpp.core.tree.growth: points -> marginals -> lattice ->
// leaves -> tree. tests/web compares its labels with those of `MeanShiftPP().fit`.
#pragma once

#include <memory>

#include "kernel/leaves/piles.hpp"
#include "kernel/tree/grown.hpp"

namespace mspp {

// The constants of the tree, from settings.json.
struct TreeSettings {
    static constexpr int kMaxAxes = 3;
    CriticalValues critical[kMaxAxes];  // of one, two and three features
    std::vector<double> stages;         // strictness of each stage of a cut
    double second_look;                 // strictness in other units
};

// Finds the leaf that is nearest to a position, in the order of the leaves along one axis.
class NearestLeaf {
  public:
    NearestLeaf(const TreeLeaves& leaves, const TreeLattice& lattice)
        : leaves_(leaves), lattice_(lattice), order_(leaves.size()) {
        while (!lattice.is_used(axis_)) ++axis_;
        std::iota(order_.begin(), order_.end(), u32{0});
        std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) { return along(a) < along(b); });
    }

    // Of equals the first.
    u32 find(const double* position) const {
        const size_t middle =
            static_cast<size_t>(std::lower_bound(order_.begin(), order_.end(), position[axis_],
                                                 [&](u32 leaf, double x) { return along(leaf) < x; }) -
                                order_.begin());
        double least = HUGE_VAL;
        u32 found = UINT32_MAX;
        auto is_near = [&](size_t k) {  // false once all further leaves are too far along the axis
            const double offset = along(order_[k]) - position[axis_], square = distance(order_[k], position);
            if (square < least || (square == least && order_[k] < found)) {
                least = square;
                found = order_[k];
            }
            return offset * offset <= least;
        };
        for (size_t k = middle; k < order_.size() && is_near(k); ++k) continue;
        for (size_t k = middle; k-- > 0 && is_near(k);) continue;
        return found;
    }

  private:
    double along(u32 leaf) const { return leaves_.positions[leaf * lattice_.d() + axis_]; }
    double distance(u32 leaf, const double* position) const {
        double sum = 0;
        for (size_t j = 0; j < lattice_.d(); ++j)
            if (lattice_.is_used(j)) {
                const double offset = std::fabs(position[j] - leaves_.positions[leaf * lattice_.d() + j]);
                sum += offset * offset;
            }
        return sum;
    }

    const TreeLeaves& leaves_;
    const TreeLattice& lattice_;
    size_t axis_ = 0;
    Array<u32> order_;
};

class TableTree {
  public:
    Grown grown;
    Array<i32> ids;       // of the leaf of each point
    Array<double> sizes;  // counts of the points of each leaf
    TreeLeaves leaves;

    // The tree of points in some units. IN features of the points; factor: of all critical values.
    TableTree(const Points& points, const Features& features, const Units& units, double factor,
              const TreeSettings& settings)
        : settings_(settings), factor_(factor), plan_(features, units, static_cast<double>(points.n)) {
        const double n = static_cast<double>(points.n);
        if (!plan_.is_plain || !grow_points(points, leaf_limit(n, n))) grow_piles(points, features);
    }

    // The tree of points that are all equal: one leaf.
    TableTree(const Points& points, const Features& features, const TreeSettings& settings)
        : ids(static_cast<size_t>(points.n), 0),
          sizes(1, static_cast<double>(points.n)),
          settings_(settings),
          factor_(1),
          plan_(features, Units(features.size(), 0), static_cast<double>(points.n)) {
        leaves = build_leaves(points, nullptr, lattice(), lattice().view(), 1, 1).first;
        grown.tree.labels = grown.tree.radii = grown.hosts = {0};
    }

    // Adds looser splits until there are so many clusters, or all if there are not enough.
    void grow_to(i64 n_clusters) {
        constexpr i64 kMostWanted = 4;
        auto n = [&] { return static_cast<i64>(grown.tree.splits.size()) + 1; };
        for (i64 wanted = n_clusters; n() < n_clusters && wanted <= kMostWanted * n_clusters; wanted *= 2)
            if (rows_ > 0) grow(wanted, grown.hosts.data());
    }

    // Whether this tree has more clusters than another, or as many and higher scores.
    bool is_clearer(const TableTree& other) const {
        const size_t n = grown.tree.splits.size(), others = other.grown.tree.splits.size();
        return n != others ? n > others : sum_of_scores() > other.sum_of_scores();
    }
    double score(const Split& split) const { return split.score / factor_; }
    const TreeLattice& lattice() const { return plan_.lattice; }

  private:
    static constexpr double kFewRepeats = 1.05;

    void grow(i64 n_clusters, const i64* hosts) {
        const Counted counted{lattice(), leaves.positions.data(), leaves.weights.data(), sizes.data(),
                              static_cast<i64>(leaves.size())};
        Growth growth{rows_, {}, n_clusters};
        for (const double stage : settings_.stages) growth.strictness.push_back(factor_ * stage);
        if (n_clusters == 1) growth.strictness.resize(1);
        const auto used = std::count_if(lattice().units.begin(), lattice().units.end(),
                                        [](double unit) { return unit > 0; });
        grown = grow_leaves(counted, hosts, growth, settings_.critical[used - 1], 1);
    }

    // Grows the tree of the leaves, and returns the limit that its small parts need.
    u64 grow_from(double rows, u64 limit) {
        rows_ = rows;
        grow(1, nullptr);
        return finer_limit(grown.tree.labels.data(), leaves.weights.data(), static_cast<i64>(leaves.size()),
                           rows, limit);
    }

    // Grows the tree of points that are not equal. False if many are.
    bool grow_points(const Points& points, u64 limit) {
        Placed placed;
        std::tie(leaves, placed) = build_leaves(points, nullptr, lattice(), lattice().view(), limit, 1);
        if (placed.squares > kFewRepeats * static_cast<double>(points.n)) return false;
        Array<i32> each(leaves.size());
        std::iota(each.begin(), each.end(), 0);
        place(points, placed, each);
        const u64 finer =
            grow_from(std::accumulate(leaves.weights.begin(), leaves.weights.end(), 0.0), limit);
        return finer == limit || grow_points(points, finer);
    }

    // Grows the tree of points of which many are equal.
    void grow_piles(const Points& points, const Features& features) {
        const auto [single, placed] = build_leaves(points, nullptr, lattice(), lattice().view(), 0, 1);
        const Piles piles(features, lattice(), plan_.ends, single, static_cast<double>(points.n), true);
        const double rows = static_cast<double>(piles.total());
        Array<i32> found;
        for (u64 limit = 0, finer = leaf_limit(rows, rows); finer != limit;) {
            limit = finer;
            leaves = piles.leaves(limit, found, 1);
            const NearestLeaf nearest(leaves, lattice());
            std::vector<double> position(lattice().d());
            for (size_t k = 0; k < found.size(); ++k) {
                if (found[k] >= 0) continue;
                for (size_t j = 0; j < position.size(); ++j)
                    position[j] = middle_of(lattice().value(single.positions[k * position.size() + j], j), j);
                found[k] = static_cast<i32>(nearest.find(position.data()));
            }
            place(points, placed, found);
            finer = grow_from(rows, limit);
        }
    }

    double middle_of(double x, size_t j) const { return lattice().middle(lattice().coordinate(x, j), j); }

    // Finds the leaf of each point, and how many each leaf has. IN of_placed: the leaves of placed points.
    // Points outside belong to the nearest leaf.
    void place(const Points& points, const Placed& placed, const Array<i32>& of_placed) {
        ids.assign(static_cast<size_t>(points.n), -1);
        sizes.assign(leaves.size(), 0.0);
        for (size_t k = 0; k < of_placed.size(); ++k)
            for (u32 i = placed.first[k]; i < placed.first[k + 1]; ++i) ids[placed.rows[i]] = of_placed[k];
        if (placed.rows.size() < ids.size()) {
            Array<i32> found(ids.size());
            find_leaves(points, lattice(), plan_.ends, leaves.codes.data(), leaves.bits.data(),
                        static_cast<i64>(leaves.size()), found.data(), 1);
            const NearestLeaf nearest(leaves, lattice());
            std::vector<double> position(lattice().d());
            for (size_t i = 0; i < ids.size(); ++i) {
                if (ids[i] >= 0) continue;
                for (size_t j = 0; j < position.size(); ++j)
                    position[j] =
                        middle_of(widen<double>(points, static_cast<i64>(i), static_cast<int>(j)), j);
                ids[i] = found[i] >= 0 ? found[i] : static_cast<i32>(nearest.find(position.data()));
            }
        }
        for (const i32 id : ids) sizes[id] += 1;
    }

    double sum_of_scores() const {
        double sum = 0;
        for (const Split& split : grown.tree.splits) sum += score(split);
        return sum;
    }

    const TreeSettings& settings_;
    double factor_;
    LatticePlan plan_;
    double rows_ = 0;  // that the weights of the leaves are worth; 0 if all points are equal
};

// Throws BadInput for a value that is not finite, or a range that is not.
inline std::unique_ptr<TableTree> grow_table(const Points& points, const TreeSettings& settings) {
    const double no_period[TreeSettings::kMaxAxes] = {};
    Features features;
    for (Marginal& each : make_marginals(points, nullptr, no_period, 1)) {
        if (!std::isfinite(each.high - each.low))
            throw BadInput("a tree needs features whose range is finite; scale the data down");
        features.emplace_back(std::move(each), 0.0);
    }
    std::unique_ptr<TableTree> best;
    double factor = 1;
    for (const Units& units : unit_choices(features)) {
        auto tree = std::make_unique<TableTree>(points, features, units, factor, settings);
        if (!best || tree->is_clearer(*best)) best = std::move(tree);
        factor = settings.second_look;
    }
    return best ? std::move(best) : std::make_unique<TableTree>(points, features, settings);
}

}  // namespace mspp
