// Bridges: the shortest links between components of leaves that no window connects.
#pragma once

#include <atomic>
#include <cmath>
#include <compare>
#include <limits>

#include "kernel/tree/peaks.hpp"

namespace mspp {

// Finds the shortest way out of every component but the largest.
class WaysOut {
  public:
    // Of equally short ways, the one between the first leaves counts, whatever the order of the search.
    struct Way {
        float squared = std::numeric_limits<float>::infinity();
        u32 from = 0, to = 0;
        auto operator<=>(const Way&) const = default;
    };

    // IN root: the component of each leaf, below n.
    WaysOut(const Boxes& boxes, const std::vector<u32>& root, u32 n, u32 largest, int n_threads)
        : boxes_(boxes), root_(root), largest_(largest), common_(boxes.common(root)), ways_(n) {
        for (u32 i = 0; i + 1 < root.size(); ++i)
            if (root[i] != root[i + 1]) consider(i, i + 1, ways_), consider(i + 1, i, ways_);
        search_all(n_threads);
    }

    const std::vector<Way>& ways() const { return ways_; }  // of each component; infinite if there is none

  private:
    using Ways = std::vector<Way>;

    void consider(u32 from, u32 to, Ways& ways) const {
        ways[root_[from]] = std::min(ways[root_[from]], {boxes_.squared_distance(from, to), from, to});
    }

    // Every thread starts from the ways between neighbours on the curve, which are hardly too long.
    void search_all(int n_threads) {
        const size_t layer = common_.size() > 2 ? common_.size() - 3 : 0;
        const i64 nodes = static_cast<i64>(common_[layer].size());
        const int team = team_size(nodes, 16, n_threads);
        std::vector<Ways> found(static_cast<size_t>(team), ways_);
        std::atomic<i64> next{0};
        parallel(team, [&](int t) {
            for (i64 node; (node = next.fetch_add(1)) < nodes;) search(layer, node, found[t]);
        });
        for (const Ways& some : found)
            for (size_t c = 0; c < ways_.size(); ++c) ways_[c] = std::min(ways_[c], some[c]);
    }

    // Searches from the leaves of a box, unless no way out of it is shorter.
    void search(size_t layer, i64 box, Ways& ways) const {
        const u32 own = common_[layer][box];
        if (own == largest_) return;
        if (layer == 0) return own == Boxes::kMixed ? search_leaves(box, ways) : search_group(box, ways);
        if (own != Boxes::kMixed && !boxes_.is_near(leaves_of(layer, box), ways[own].squared, own, common_))
            return;
        const i64 end = std::min<i64>((box + 1) * Boxes::kWidth, static_cast<i64>(common_[layer - 1].size()));
        for (i64 child = box * Boxes::kWidth; child < end; ++child) search(layer - 1, child, ways);
    }
    void search_leaves(i64 group, Ways& ways) const {
        const Range leaves = boxes_.range(group);
        for (i64 i = leaves.begin; i < leaves.end; ++i)
            if (root_[i] != largest_) search_from({i, i + 1}, ways);
    }
    void search_group(i64 group, Ways& ways) const { search_from(boxes_.range(group), ways); }

    // Searches from some leaves of one component.
    void search_from(Range from, Ways& ways) const {
        const u32 own = root_[from.begin];
        auto hit = [&](i64 group) {
            const Range found = boxes_.range(group);
            for (i64 k = found.begin; k < found.end; ++k)
                if (root_[k] != own)
                    for (i64 i = from.begin; i < from.end; ++i)
                        consider(static_cast<u32>(i), static_cast<u32>(k), ways);
        };
        boxes_.visit(Boxes::Query(boxes_, from), ways[own].squared, hit,
                     [&](size_t layer, i64 box) { return common_[layer][box] == own; });
    }

    Range leaves_of(size_t layer, i64 box) const {
        i64 width = Boxes::kWidth;
        for (size_t l = 0; l < layer; ++l) width *= Boxes::kWidth;
        return {box * width, std::min((box + 1) * width, static_cast<i64>(root_.size()))};
    }

    const Boxes& boxes_;
    const std::vector<u32>& root_;
    u32 largest_;
    Boxes::Common common_;
    Ways ways_;
};

// Adds the shortest link out of every component but the largest, until all leaves are connected.
inline void add_bridges(const Links& links, Peaks peaks, std::vector<Link>& found, int n_threads) {
    for (const Link& link : found) peaks.add(link);
    while (true) {
        std::vector<u32> root(links.size());
        std::vector<i64> size(peaks.size());
        for (u32 i = 0; i < root.size(); ++i) ++size[root[i] = peaks.find(i)];
        const u32 largest = static_cast<u32>(std::max_element(size.begin(), size.end()) - size.begin());
        if (size[largest] == static_cast<i64>(root.size())) return;
        const WaysOut out(links.all().boxes(), root, peaks.size(), largest, n_threads);
        for (const auto& [squared, from, to] : out.ways()) {
            if (std::isinf(squared) || root[from] == largest) continue;
            found.push_back(links.link(from, to, squared));
            peaks.add(found.back());
        }
    }
}

}  // namespace mspp
