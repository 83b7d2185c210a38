// The tree of a table, as meanshiftpp.core.tree.growth: points -> marginals -> lattice -> leaves -> tree.
//
// The page's labels equal those of `MeanShiftPP().fit`, which tests/web compares. Points of two or three
// features, without weights and periods.
#pragma once

#include "kernel/tree/extents.hpp"
#include "kernel/tree/tree.hpp"
#include "piles.hpp"

namespace mspp {

// The constants of the tree, from settings.json.
struct TreeSettings {
    CriticalValues critical[TreeLattice::kMaxAxes];  // of one, two and three features
    std::vector<double> stages;                      // strictness of each stage of a cut
    double second_look;                              // strictness in other units
};

// Leaves of a lattice, and the nearest of them.
class PlacedLeaves {
  public:
    PlacedLeaves(LeafSet<1> set, const TreeLattice& lattice) : set_(std::move(set)), lattice_(lattice) {
        const size_t d = lattice.low.size(), m = set_.weights.size();
        for (size_t i = 0; i < m * d; ++i)
            positions.push_back(
                (static_cast<double>(set_.sums[i]) / static_cast<double>(set_.weights[i / d]) + 0.5) *
                lattice.scale[i % d]);
        order_.resize(m);
        std::iota(order_.begin(), order_.end(), u32{0});
        axis_ = 0;
        while (!lattice.is_used(axis_)) ++axis_;
        std::stable_sort(order_.begin(), order_.end(), [&](u32 a, u32 b) { return along(a) < along(b); });
    }

    const LeafSet<1>& set() const { return set_; }
    size_t size() const { return set_.weights.size(); }

    // The leaf nearest to a position in the tree; of equals the first.
    u32 nearest(const double* position) const {
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
        for (size_t k = middle; k < size() && is_near(k); ++k) continue;
        for (size_t k = middle; k-- > 0 && is_near(k);) continue;
        return found;
    }

    Array<double> positions;  // (leaves, d), in the units of the tree

  private:
    double along(u32 leaf) const { return positions[leaf * lattice_.low.size() + axis_]; }
    double distance(u32 leaf, const double* position) const {
        const size_t d = lattice_.low.size();
        double sum = 0;
        for (size_t j = 0; j < d; ++j)
            if (lattice_.is_used(j)) {
                const double offset = std::fabs(position[j] - positions[leaf * d + j]);
                sum += offset * offset;
            }
        return sum;
    }

    LeafSet<1> set_;
    const TreeLattice& lattice_;
    size_t axis_;
    Array<u32> order_;  // along the first axis
};

class SignificantTree {
  public:
    mspp::Tree tree;
    Array<i32> ids;           // of the leaf of each point
    Array<double> sizes;      // counts of the points of each leaf
    Array<i64> hosts;         // the leaf whose cluster each leaf is in; -1 for a background of its own
    Array<double> positions;  // (leaves, d) in the units of the tree
    double factor = 1;        // of all critical values

    // The tree of points in some units. IN features of the points.
    SignificantTree(const Points& points, const std::vector<Feature>& features, const Units& units,
                    double factor, const TreeSettings& settings)
        : factor(factor),
          settings_(settings),
          ends_(end_piles(features)),
          lattice_(lattice_of(points, features, units)) {
        const double n = static_cast<double>(points.n);
        const bool is_plain = ends_.empty() && steps_ == std::vector<double>(steps_.size(), 0.0);
        if (!is_plain || !grow_points(points, leaf_limit(n))) grow_piles(points, features);
    }

    // The tree of points that are all equal: one leaf.
    SignificantTree(i64 n, size_t d, const TreeSettings& settings)
        : ids(static_cast<size_t>(n), 0),
          sizes(1, static_cast<double>(n)),
          positions(d, 0.0),
          settings_(settings),
          lattice_(TreeLattice::one_cell(d)) {
        tree.labels = tree.radii = {0};
        hosts = {0};
    }

    // Adds looser splits until there are so many clusters, or all if there are not enough.
    void grow_to(i64 n_clusters) {
        constexpr i64 kMostWanted = 4;
        for (i64 wanted = n_clusters; n() < n_clusters && wanted <= kMostWanted * n_clusters; wanted *= 2)
            grow(wanted);
    }
    i64 n() const { return static_cast<i64>(tree.splits.size()) + 1; }

    // Grows the tree in looser stages until it has at least so many clusters, some without points: these are
    // undone, because a pile that was spread can be divided although all its points are in one place.
    void grow(i64 n_clusters) {
        std::vector<double> used;
        for (size_t i = 0; i < positions.size(); ++i)
            if (lattice_.is_used(i % d())) used.push_back(positions[i]);
        if (used.empty()) return;
        const size_t axes = used.size() / sizes.size();
        Growth growth;
        growth.rows = rows_;
        growth.enough = n_clusters;
        growth.strictness.clear();
        for (const double stage : settings_.stages) growth.strictness.push_back(factor * stage);
        if (n_clusters == 1) growth.strictness.resize(1);
        const double no_period[TreeLattice::kMaxAxes] = {};
        tree = grow_tree(used.data(), weights_.data(), static_cast<i64>(sizes.size()), static_cast<int>(axes),
                         no_period, growth, settings_.critical[axes - 1], 1);
        undo(too_small());
    }

    // Whether this tree is clearer than another: it has more clusters, or higher scores.
    bool is_clearer(const SignificantTree& other) const {
        if (tree.splits.size() != other.tree.splits.size())
            return tree.splits.size() > other.tree.splits.size();
        return sum_of_scores() > other.sum_of_scores();
    }
    double score(const Split& split) const { return split.score / factor; }
    const TreeLattice& lattice() const { return lattice_; }
    size_t d() const { return lattice_.low.size(); }

  private:
    static constexpr double kFewRepeats = 1.05, kMostLeaves = 1 << 21;

    static u64 leaf_limit(double rows) {
        const i64 window = std::max<i64>(Masses::kLeastRows, static_cast<i64>(std::sqrt(rows)) / 4);
        return static_cast<u64>(
            std::max<i64>(1, static_cast<i64>(std::sqrt(static_cast<double>(window))) / 2));
    }
    static double total_of(const Array<u64>& counts) {
        return static_cast<double>(std::accumulate(counts.begin(), counts.end(), u64{0}));
    }

    TreeLattice lattice_of(const Points& points, const std::vector<Feature>& features, const Units& units) {
        for (size_t j = 0; j < units.size(); ++j)
            steps_.push_back(units[j] > 0 ? features[j].step(static_cast<double>(points.n)) : 0);
        return TreeLattice(features, units, margins_of(ends_, steps_));
    }

    // Finds the leaf of each point, and how many each has. IN placed: groups of points; of_placed: their
    // leaves. Points outside belong to the nearest leaf.
    void place(const Points& points, const LeafSet<1>& placed, const Array<i32>& of_placed,
               const PlacedLeaves& leaves) {
        ids.assign(static_cast<size_t>(points.n), -1);
        sizes.assign(leaves.size(), 0.0);
        for (size_t k = 0; k < of_placed.size(); ++k) {
            sizes[of_placed[k]] += static_cast<double>(placed.weights[k]);
            for (u32 i = placed.first[k]; i < placed.first[k + 1]; ++i) ids[placed.rows[i]] = of_placed[k];
        }
        Array<i64> coordinates;
        for (i64 i = 0; i < points.n; ++i)
            for (size_t j = 0; j < d() && ids[i] < 0; ++j)
                coordinates.push_back(lattice_.coordinate(widen<double>(points, i, static_cast<int>(j)), j));
        if (coordinates.empty()) return;
        const Array<i32> outside = leaves_of(coordinates, leaves, !ends_.empty());
        size_t next = 0;
        for (i32& id : ids)
            if (id < 0) sizes[id = outside[next++]] += 1;
    }

    // Grows the tree of points that are not equal. False if many are.
    bool grow_points(const Points& points, u64 limit) {
        const double n = static_cast<double>(points.n);
        const PlacedLeaves leaves(make_leaf_set<1>(points, nullptr, lattice_.view(), limit, 1), lattice_);
        if (leaves.set().squares > kFewRepeats * n) return false;
        Array<i32> each(leaves.size());
        std::iota(each.begin(), each.end(), 0);
        place(points, leaves.set(), each, leaves);
        store(leaves, n * total_of(leaves.set().weights) / n);
        const u64 finer = finer_limit(limit);
        return finer == limit || grow_points(points, finer);
    }

    // Grows the tree of points of which many are equal.
    void grow_piles(const Points& points, const std::vector<Feature>& features) {
        const PlacedLeaves single(make_leaf_set<1>(points, nullptr, lattice_.view(), 0, 1), lattice_);
        Weighted distinct{{}, single.set().weights};
        for (size_t i = 0; i < single.set().sums.size(); ++i)
            distinct.coordinates.push_back(
                static_cast<i64>(single.set().sums[i] / single.set().weights[i / d()]));
        bool is_rounded = false;
        std::vector<double> steps(d(), 0.0);
        for (size_t j = 0; j < d(); ++j) {
            if (lattice_.is_used(j))
                steps[j] = features[j].step(static_cast<double>(single.size())) / lattice_.units[j];
            is_rounded |= steps[j] >= 3;
        }
        if (!is_rounded) make_effective(distinct.counts);
        const double rows = total_of(distinct.counts);
        const WholeCells cells(d());
        for (u64 limit = leaf_limit(rows), finer;; limit = finer) {
            const Weighted spread =
                spread_steps(spread_ends(distinct, d(), lattice_, ends_, limit), d(), steps, limit);
            const PlacedLeaves leaves(
                make_leaf_set<1>(points_of(spread.coordinates), spread.counts.data(), cells.view(), limit, 1),
                lattice_);
            place(points, single.set(), leaves_of(distinct.coordinates, leaves, true), leaves);
            store(leaves, rows);
            if ((finer = finer_limit(limit)) == limit) return;
        }
    }

    // The weight of the leaves that small parts of the tree need, which have light windows.
    u64 finer_limit(u64 limit) const {
        const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
        const u64 finest =
            std::max<u64>(1, static_cast<u64>(std::max(1.0, rows_ / kMostLeaves) * total / rows_));
        std::vector<double> parts(static_cast<size_t>(tree.n_clusters), 0.0);
        for (size_t k = 0; k < weights_.size(); ++k)
            parts[tree.labels[k]] += static_cast<double>(weights_[k]);
        const bool has_small = std::any_of(parts.begin(), parts.end(), [&](double part) {
            return part > 0 && part * static_cast<double>(Masses::kSmallPart) <= total;
        });
        return has_small ? std::min(limit, finest) : limit;
    }

    // log2 of the radius that the lightest windows have at the density of a saddle.
    double light_saddle(const Split& split) const {
        const double ratio = static_cast<double>(split.mass) / static_cast<double>(tree.mass);
        return split.saddle - std::log2(ratio) / split.dimension;
    }

    // The splits around clusters without points: the smallest joins across its densest saddle first.
    std::vector<size_t> too_small() const {
        constexpr double kLeastSize = 0x1p-10;
        std::vector<double> size(static_cast<size_t>(tree.n_clusters), 0.0);
        for (size_t k = 0; k < sizes.size(); ++k)
            if (hosts[k] >= 0) size[tree.labels[hosts[k]]] += sizes[k];
        struct Border {
            size_t split;
            i64 sides[2];
            double level;
        };
        std::vector<Border> left;
        for (size_t k = 0; k < tree.splits.size(); ++k) {
            const Split& split = tree.splits[k];
            left.push_back({k, {split.cluster, tree.labels[split.joins]}, light_saddle(split)});
        }
        std::stable_sort(left.begin(), left.end(),
                         [](const Border& a, const Border& b) { return a.level < b.level; });
        std::vector<size_t> undone;
        while (!left.empty()) {
            i64 least = left[0].sides[0];
            for (const Border& border : left)
                for (const i64 side : border.sides)
                    if (size[side] < size[least] || (size[side] == size[least] && side < least)) least = side;
            if (size[least] >= kLeastSize) break;
            auto touches = [&](const Border& each) {
                return each.sides[0] == least || each.sides[1] == least;
            };
            const auto at = std::find_if(left.begin(), left.end(), touches);
            const i64 into = at->sides[0] + at->sides[1] - least;
            size[into] += size[least];
            undone.push_back(at->split);
            left.erase(at);
            for (Border& border : left) std::replace(border.sides, border.sides + 2, least, into);
        }
        return undone;
    }

    // Undoes splits: the clusters on both sides of each become one.
    void undo(const std::vector<size_t>& undone) {
        if (undone.empty()) return;
        std::vector<i64> group(static_cast<size_t>(tree.n_clusters));
        std::iota(group.begin(), group.end(), i64{0});
        std::vector<bool> is_gone(tree.splits.size(), false);
        for (const size_t k : undone) {
            const Split& split = tree.splits[k];
            std::replace(group.begin(), group.end(), i64{group[split.cluster]},
                         i64{group[tree.labels[split.joins]]});
            is_gone[k] = true;
        }
        std::vector<Split> kept;
        for (size_t k = 0; k < tree.splits.size(); ++k) {
            if (is_gone[k]) continue;
            kept.push_back(tree.splits[k]);
            kept.back().cluster = group[kept.back().cluster];
            kept.back().parent = group[kept.back().parent];
        }
        tree.splits = std::move(kept);
        for (i64& label : tree.labels) label = group[label];
    }

    // The lattice of points that are given by their coordinates.
    struct WholeCells {
        std::vector<double> ones;
        std::vector<i64> zeros, extent;
        explicit WholeCells(size_t d) : ones(d, 1), zeros(d, 0), extent(d, i64{1} << TreeLattice::bits(d)) {}
        Lattice view() const {
            return {static_cast<int>(ones.size()),
                    ones.data(),
                    zeros.data(),
                    zeros.data(),
                    extent.data(),
                    zeros.data()};
        }
    };
    Points points_of(const Array<i64>& coordinates) const {
        const i64 stride = static_cast<i64>(8 * d());
        return {reinterpret_cast<const char*>(coordinates.data()),
                Dtype::i64,
                static_cast<i64>(coordinates.size() / d()),
                static_cast<int>(d()),
                stride,
                8};
    }

    // The leaf of points that are given by their coordinates, or the nearest. IN can_be_inside: whether to
    // look for a box that holds them.
    Array<i32> leaves_of(const Array<i64>& coordinates, const PlacedLeaves& leaves,
                         bool can_be_inside) const {
        Array<i32> found(coordinates.size() / d(), -1);
        if (can_be_inside) {
            Array<i64> placed = coordinates;
            place_ends(placed, d(), lattice_, ends_);
            const LeafSet<1>& set = leaves.set();
            find_leaves<1>(points_of(placed), WholeCells(d()).view(), set.codes.data(), set.bits.data(),
                           static_cast<i64>(leaves.size()), found.data(), 1);
        }
        std::vector<double> position(d());
        for (size_t i = 0; i < found.size(); ++i) {
            if (found[i] >= 0) continue;
            for (size_t j = 0; j < d(); ++j) position[j] = lattice_.position(coordinates[i * d() + j], j);
            found[i] = static_cast<i32>(leaves.nearest(position.data()));
        }
        return found;
    }

    void store(const PlacedLeaves& leaves, double rows) {
        positions = leaves.positions;
        weights_.assign(leaves.set().weights.begin(), leaves.set().weights.end());
        rows_ = rows;
        hosts.resize(leaves.size());
        std::iota(hosts.begin(), hosts.end(), i64{0});
        grow(1);
        find_hosts();
        undo(too_small());
    }

    // Gives the background of bumps to the cluster around; as `Tree._find_hosts`.
    void find_hosts() {
        if (tree.splits.empty()) return;
        std::vector<Saddle> saddles;
        for (const Split& split : tree.splits)
            saddles.push_back(
                {split.cluster, tree.labels[split.joins], light_saddle(split), split.dimension, split.depth});
        std::vector<double> radii;
        for (const i64 units : tree.radii) radii.push_back(static_cast<double>(units) * kLogUnit);
        const std::vector<i64> found =
            find_extents(tree.labels.data(), sizes.data(), radii.data(), static_cast<i64>(sizes.size()),
                         tree.n_clusters, std::move(saddles));
        std::vector<i64> tops(static_cast<size_t>(tree.n_clusters), -1);
        for (size_t k = 0; k < sizes.size(); ++k)
            if (i64& top = tops[tree.labels[k]]; top < 0 || radii[k] < radii[top]) top = static_cast<i64>(k);
        for (size_t k = 0; k < sizes.size(); ++k)
            if (found[k] != tree.labels[k]) hosts[k] = found[k] < tree.n_clusters ? tops[found[k]] : -1;
    }

    double sum_of_scores() const {
        double sum = 0;
        for (const Split& split : tree.splits) sum += score(split);
        return sum;
    }

    const TreeSettings& settings_;
    std::vector<EndPile> ends_;
    std::vector<double> steps_;
    TreeLattice lattice_;
    Array<i64> weights_;  // of the leaves in the tree
    double rows_ = 0;     // that these weights are worth
};

// Throws BadInput for a value that is not finite, or a range that is not.
inline std::unique_ptr<SignificantTree> grow_points(const Points& points, const TreeSettings& settings) {
    const double no_period[TreeLattice::kMaxAxes] = {};
    std::vector<Feature> features;
    for (Marginal& each : make_marginals(points, nullptr, no_period, 1)) {
        if (!std::isfinite(each.high - each.low))
            throw BadInput("a tree needs features whose range is finite; scale the data down");
        features.emplace_back(std::move(each));
    }
    std::unique_ptr<SignificantTree> best;
    double factor = 1;
    for (const Units& units : unit_choices(features)) {
        auto grown = std::make_unique<SignificantTree>(points, features, units, factor, settings);
        if (!best || grown->is_clearer(*best)) best = std::move(grown);
        factor = settings.second_look;
    }
    return best ? std::move(best) : std::make_unique<SignificantTree>(points.n, features.size(), settings);
}

}  // namespace mspp
