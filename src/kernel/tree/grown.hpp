// From leaves to clusters: the tree of leaves, the background around its bumps, and no cluster without
// points.
#pragma once

#include "kernel/base/mix_bits.hpp"
#include "kernel/leaves/tree_leaves.hpp"
#include "kernel/tree/cuts.hpp"
#include "kernel/tree/extents.hpp"

namespace mspp {

// The leaves of a tree, and how much they count.
struct Counted {
    const TreeLattice& lattice;
    const double* positions;  // (m, d) in the tree
    const i64* weights;       // (m,)
    const double* sizes;      // (m,), counts of the points in each leaf
    i64 m;
};

struct Grown {
    Tree tree;
    std::vector<i64> hosts;  // (m,), the leaf whose cluster each leaf is in; -1 for a background of its own
};

inline constexpr double kMostLeaves = 1 << 21;  // about, of one tree

// The largest weight of a leaf: light enough that it blurs a window less than noise. IN rows that the total
// weight is worth.
inline u64 leaf_limit(double rows, double total) {
    const i64 window = std::max<i64>(Masses::kLeastRows, static_cast<i64>(std::sqrt(rows)) / 4);
    const i64 light =
        rows < Masses::kManyRows ? 1 : static_cast<i64>(std::sqrt(static_cast<double>(window))) / 2;
    const double most = std::max(static_cast<double>(light), rows / kMostLeaves);
    return std::max<u64>(1, static_cast<u64>(most * total / rows));
}

// The weight of the leaves that small parts of a tree need, which have light windows; else the limit. The
// tree of finer leaves has the same large parts, because their windows join leaves anyway.
inline u64 finer_limit(const i64* labels, const i64* weights, i64 m, double rows, u64 limit) {
    std::vector<double> parts(static_cast<size_t>(*std::max_element(labels, labels + m) + 1), 0.0);
    for (i64 k = 0; k < m; ++k) parts[labels[k]] += static_cast<double>(weights[k]);
    const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
    const bool has_small = std::any_of(parts.begin(), parts.end(), [&](double part) {
        return part > 0 && part * static_cast<double>(Masses::kSmallPart) <= total;
    });
    const double finest = std::max(1.0, rows / kMostLeaves) * total / rows;
    return has_small ? std::min(limit, std::max<u64>(1, static_cast<u64>(finest))) : limit;
}

namespace detail {

// The features of a tree, the widest first; of equals, by a sum of hashes. The tree takes them in this order,
// so that its rounding and its ties do not depend on the order of the columns.
inline std::vector<size_t> ordered_features(const Counted& leaves) {
    const size_t d = leaves.lattice.d(), m = static_cast<size_t>(leaves.m);
    std::vector<double> low(d, HUGE_VAL), high(d, -HUGE_VAL);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < d; ++j) {
            low[j] = std::min(low[j], leaves.positions[i * d + j]);
            high[j] = std::max(high[j], leaves.positions[i * d + j]);
        }
    auto hash = [&](size_t j) {
        u64 sum = 0;
        for (size_t i = 0; i < m; ++i)
            sum += static_cast<u64>(leaves.weights[i]) *
                   mix_bits(std::bit_cast<u64>(leaves.positions[i * d + j] - low[j]));
        return sum;
    };
    std::vector<size_t> order;
    std::vector<u64> hashes(d, 0);  // of features as wide as another one
    auto width = [&](size_t j) { return high[j] - low[j]; };
    for (size_t j = 0; j < d; ++j) {
        if (!leaves.lattice.is_used(j)) continue;
        for (const size_t other : order)
            if (width(other) == width(j))
                for (const size_t k : {other, j})
                    if (hashes[k] == 0) hashes[k] = hash(k);
        order.push_back(j);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return width(a) != width(b) ? width(a) > width(b) : hashes[a] < hashes[b];
    });
    return order;
}

// The meetings of clusters that no point is in. A pile that was spread can be divided, although all its
// points are in one place; and looser valleys divide the background.
inline std::vector<size_t> empty_clusters(const Grown& grown, const double* sizes) {
    constexpr double kLeastSize = 0x1p-10;
    const Tree& tree = grown.tree;
    std::vector<double> size(static_cast<size_t>(tree.n_clusters), 0.0);
    for (size_t k = 0; k < grown.hosts.size(); ++k)
        if (grown.hosts[k] >= 0) size[tree.labels[grown.hosts[k]]] += sizes[k];
    std::vector<Meeting> meetings;
    for (const Split& split : tree.splits)
        meetings.push_back({split.cluster, tree.labels[split.joins], light_saddle(split, tree.mass)});
    return join_small(std::move(size), std::move(meetings), kLeastSize);
}

// The hosts of all leaves: those of the background are in the cluster around.
inline std::vector<i64> find_hosts(const Tree& tree, const double* sizes) {
    const size_t m = tree.labels.size(), n = static_cast<size_t>(tree.n_clusters);
    std::vector<i64> hosts(m);
    std::iota(hosts.begin(), hosts.end(), i64{0});
    if (tree.splits.empty()) return hosts;
    std::vector<Saddle> saddles;
    for (const Split& split : tree.splits)
        saddles.push_back({split.cluster, tree.labels[split.joins], light_saddle(split, tree.mass),
                           split.dimension, split.depth, split.mass >= tree.mass});
    std::vector<double> radii;
    for (const i64 units : tree.radii) radii.push_back(static_cast<double>(units) * kLogUnit);
    const std::vector<i64> found = find_extents(tree.labels.data(), sizes, radii.data(), static_cast<i64>(m),
                                                tree.n_clusters, std::move(saddles));
    std::vector<i64> tops(n, -1);  // the densest leaf of each cluster
    for (size_t k = 0; k < m; ++k)
        if (i64& top = tops[tree.labels[k]]; top < 0 || radii[k] < radii[top]) top = static_cast<i64>(k);
    for (size_t k = 0; k < m; ++k)
        if (found[k] != tree.labels[k]) hosts[k] = found[k] < tree.n_clusters ? tops[found[k]] : -1;
    return hosts;
}

}  // namespace detail

// Grows the tree of leaves. IN hosts: those of an earlier tree of the same leaves, else null.
inline Grown grow_leaves(const Counted& leaves, const i64* hosts, const Growth& growth,
                         const CriticalValues& critical, int n_threads) {
    const size_t d = leaves.lattice.d(), m = static_cast<size_t>(leaves.m);
    const std::vector<size_t> order = detail::ordered_features(leaves);
    std::vector<double> positions, period;
    for (const size_t j : order) period.push_back(leaves.lattice.period(j));
    positions.reserve(m * order.size());
    for (size_t i = 0; i < m; ++i)
        for (const size_t j : order) positions.push_back(leaves.positions[i * d + j]);
    Grown grown;
    grown.tree = grow_tree(positions.data(), leaves.weights, leaves.m, static_cast<int>(period.size()),
                           period.data(), growth, critical, n_threads);
    grown.hosts.resize(m);
    std::iota(grown.hosts.begin(), grown.hosts.end(), i64{0});
    if (hosts) grown.hosts.assign(hosts, hosts + m);
    undo(grown.tree, detail::empty_clusters(grown, leaves.sizes));
    if (hosts) return grown;
    grown.hosts = detail::find_hosts(grown.tree, leaves.sizes);
    undo(grown.tree, detail::empty_clusters(grown, leaves.sizes));
    return grown;
}

}  // namespace mspp
