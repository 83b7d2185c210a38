// Cuts: which splits of a tree to undo, and undoing them.
//
// Every cut moves no other border than those of the splits that it undoes, so the cuts of a tree are nested.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel/tree/tree.hpp"

namespace mspp {

// log2 of the radius that the lightest windows have at the density of a saddle. IN mass: of these windows.
inline double light_saddle(const Split& split, i64 mass) {
    const double ratio = static_cast<double>(split.mass) / static_cast<double>(mass);
    return split.saddle - std::log2(ratio) / split.dimension;
}

// The border of two clusters. IN level: of its saddle, lower where it is denser.
struct Meeting {
    i64 cluster, other;
    double level;
};

// The meetings to remove, in this order: the smallest cluster joins across its densest saddle until all have
// at least min_size. IN size of each cluster.
inline std::vector<size_t> join_small(std::vector<double> size, std::vector<Meeting> meetings,
                                      double min_size) {
    std::vector<size_t> left(meetings.size()), removed;
    std::iota(left.begin(), left.end(), size_t{0});
    std::stable_sort(left.begin(), left.end(),
                     [&](size_t a, size_t b) { return meetings[a].level < meetings[b].level; });
    while (!left.empty()) {
        i64 least = meetings[left[0]].cluster;
        for (const size_t k : left)
            for (const i64 side : {meetings[k].cluster, meetings[k].other})
                if (size[side] < size[least] || (size[side] == size[least] && side < least)) least = side;
        if (size[least] >= min_size) break;
        const auto at = std::find_if(left.begin(), left.end(), [&](size_t k) {
            return meetings[k].cluster == least || meetings[k].other == least;
        });
        const i64 into = meetings[*at].cluster + meetings[*at].other - least;
        size[into] += size[least];
        removed.push_back(*at);
        left.erase(at);
        for (const size_t k : left)
            for (i64* side : {&meetings[k].cluster, &meetings[k].other})
                if (*side == least) *side = into;
    }
    return removed;
}

// A split as a cut sees it.
struct Separation {
    i64 cluster, parent, other, stage;  // other: the cluster across the saddle
    double depth;
};

// The order in which splits are undone: the loosest stage first. Within a stage, the next is the one that
// separates the least, among those whose cluster does not divide further: depth in bits times the counts of
// the smaller side, which bounds what is lost by describing two clusters as one.
inline std::vector<size_t> weakest_first(std::vector<double> size, std::vector<Separation> splits) {
    std::vector<i64> children(size.size(), 0);
    for (const Separation& split : splits) ++children[split.parent];
    std::vector<size_t> left(splits.size()), order;
    std::iota(left.begin(), left.end(), size_t{0});
    auto lost = [&](size_t k) {
        return splits[k].depth * std::min(size[splits[k].cluster], size[splits[k].other]);
    };
    auto is_weaker = [&](size_t a, size_t b) {
        const bool a_divides = children[splits[a].cluster] > 0, b_divides = children[splits[b].cluster] > 0;
        if (a_divides != b_divides) return b_divides;  // all may divide, if another cut joined clusters
        if (splits[a].stage != splits[b].stage) return splits[a].stage > splits[b].stage;
        if (lost(a) != lost(b)) return lost(a) < lost(b);
        return splits[a].cluster > splits[b].cluster;
    };
    while (!left.empty()) {
        const auto at = std::min_element(left.begin(), left.end(), is_weaker);
        const Separation gone = splits[*at];
        order.push_back(*at);
        left.erase(at);
        size[gone.other] += size[gone.cluster];
        --children[gone.parent];
        for (const size_t k : left)
            if (splits[k].other == gone.cluster) splits[k].other = gone.other;
    }
    return order;
}

// Undoes splits: the clusters on both sides of each become one.
inline void undo(Tree& tree, const std::vector<size_t>& undone) {
    std::vector<i64> group(static_cast<size_t>(tree.n_clusters));
    std::iota(group.begin(), group.end(), i64{0});
    std::vector<bool> is_gone(tree.splits.size(), false);
    for (const size_t k : undone) {
        const i64 from = group[tree.splits[k].cluster], into = group[tree.labels[tree.splits[k].joins]];
        std::replace(group.begin(), group.end(), from, into);
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

}  // namespace mspp
