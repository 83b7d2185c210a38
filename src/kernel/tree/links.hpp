// Links between centres: each to the denser centres in its window, and bridges between components without
// any.
#pragma once

#include "kernel/tree/peaks.hpp"
#include "kernel/tree/windows.hpp"

namespace mspp {

struct Link {
    i64 level;  // log2 radius, in units of 2^-16
    u32 sparse, dense;
};

// The links of all centres to denser ones.
//
// A link is short if it is at most as long as a ball of mass K / 2 is wide; its level is that of its sparser
// end. Longer links reach up to the border of the window, at a higher level. `shift` is the width of that
// ball as a logarithm, relative to the root mean square radius of mass K.
class Links {
  public:
    Links(const Boxes& boxes, const std::vector<double>& period, const Windows& windows,
          const std::vector<u32>& rank, i64 shift, int n_threads)
        : boxes_(boxes),
          centres_(boxes.leaves()),
          period_(period),
          windows_(windows),
          rank_(rank),
          shift_(shift),
          stretch_(exp2_units(2 * shift)),
          short_(boxes.blocks().size()),
          place_(rank.size()) {
        const i64 blocks = static_cast<i64>(boxes.blocks().size());
        const int team = team_size(blocks, 64, n_threads);
        parallel(team, [&](int t) {
            Candidates candidates(boxes, period);
            const Range range = part(blocks, t, team);
            for (i64 k = range.begin; k < range.end; ++k) find_short(k, candidates);
        });
    }

    const Boxes& boxes() const { return boxes_; }

    // Calls visit(dense) for the short links of a centre, beginning with the densest.
    template <class Visit>
    void each_short(u32 i, Visit&& visit) const {
        const auto [block, begin, end] = place_[i];
        for (u32 k = begin; k < end; ++k) visit(short_[block][k]);
    }

    // All longer links between different basins.
    std::vector<Link> long_links(const std::vector<u32>& basin) const {
        std::vector<Link> links;
        Candidates candidates(boxes_, period_);
        Nearby nearby;
        for (const Range block : boxes_.blocks()) {
            candidates.find_nearby(centres_, block, largest(block, windows_.reach), nearby);
            for (i64 i = block.begin; i < block.end; ++i) {
                const double limit = short_limit(windows_.square[i]);
                for (const auto [other, squared] : nearby.of(i - block.begin))
                    if (basin[i] != basin[other] && squared <= windows_.reach[i] && rank_[other] < rank_[i] &&
                        squared > limit)
                        links.push_back({level(squared, static_cast<u32>(i)), static_cast<u32>(i), other});
            }
        }
        return links;
    }

    // Adds the shortest link out of every component but the largest, until all centres are connected.
    void add_bridges(Peaks peaks, std::vector<Link>& links) const {
        for (const Link& link : links) peaks.link(link.sparse, link.dense, 0);
        while (true) {
            const std::vector<u32> root = roots(peaks);
            std::vector<i64> size(root.size());
            for (u32 r : root) ++size[r];
            const u32 largest = static_cast<u32>(std::max_element(size.begin(), size.end()) - size.begin());
            if (size[largest] == static_cast<i64>(root.size())) return;
            for (const Link& bridge : shortest_out(root, largest)) {
                links.push_back(bridge);
                peaks.link(bridge.sparse, bridge.dense, 0);
            }
        }
    }

    // Sorts links as `Peaks` needs them: by level, then densest first.
    void sort(std::vector<Link>& links) const {
        std::sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
            if (a.level != b.level) return a.level < b.level;
            if (a.sparse != b.sparse) return rank_[a.sparse] < rank_[b.sparse];
            return rank_[a.dense] < rank_[b.dense];
        });
    }

    double squared_distance(u32 a, u32 b) const { return mspp::squared_distance(centres_, period_, a, b); }

  private:
    struct Place {
        u32 block, begin, end;
    };

    // The greatest squared length of a short link, from the mean square of a window. A longer link is long:
    // both sides compare with this one number, so rounding makes no link both or neither.
    double short_limit(double square) const { return square / stretch_; }

    // Finds the short links of a block of centres, among the leaves near its windows if they reach far
    // enough.
    void find_short(i64 b, Candidates& candidates) {
        const Range block = boxes_.blocks()[b];
        const double limit = short_limit(largest(block, windows_.square));
        const bool known = !windows_.near.empty() && static_cast<float>(windows_.near[b].r2) >= limit;
        Nearby found;
        if (!known) candidates.find_nearby(centres_, block, limit, found);
        const Nearby& nearby = known ? windows_.near[b] : found;
        for (i64 i = block.begin; i < block.end; ++i)
            store_short(b, static_cast<u32>(i), nearby.of(i - block.begin));
    }

    // Stores the denser ones of the centres nearby that are a short link away; the densest first.
    void store_short(i64 b, u32 i, std::span<const Nearby::Near> nearby) {
        std::vector<u32>& found = short_[b];
        const u32 begin = static_cast<u32>(found.size()), own = rank_[i];
        const double limit = short_limit(windows_.square[i]);
        found.resize(begin + nearby.size());
        u32* out = found.data() + begin;
        size_t near = 0, count = 0;
        for (const auto [leaf, squared] : nearby) {  // without a branch: most of them are too far
            out[near] = leaf;
            near += squared <= limit;
        }
        for (size_t k = 0; k < near; ++k) {
            const u32 other = out[k];
            out[count] = other;
            count += rank_[other] < own;
        }
        found.resize(begin + count);
        const auto densest = std::min_element(found.begin() + begin, found.end(),
                                              [&](u32 a, u32 b) { return rank_[a] < rank_[b]; });
        if (count > 0) std::swap(found[begin], *densest);
        place_[i] = {static_cast<u32>(b), begin, begin + static_cast<u32>(count)};
    }

    i64 level(double squared, u32 sparse) const {
        return std::max(windows_.radius[sparse], log2_units(std::max(squared, 1.0)) / 2 + shift_);
    }

    static std::vector<u32> roots(Peaks& peaks) {
        std::vector<u32> root(peaks.size());
        for (u32 i = 0; i < root.size(); ++i) root[i] = peaks.find(i);
        return root;
    }

    // For every component but one, the shortest link to a centre outside.
    std::vector<Link> shortest_out(const std::vector<u32>& root, u32 largest) const {
        struct Best {
            double squared = std::numeric_limits<double>::infinity();
            u32 from = 0, to = 0;
        };
        std::vector<Best> best(root.size());
        const Boxes::Common common = boxes_.common(root);
        const u32 n = static_cast<u32>(root.size());
        for (u32 i = 0; i < n; ++i) {
            if (root[i] == largest) continue;
            Best& shortest = best[root[i]];
            auto consider = [&](u32 k) {
                const double squared = squared_distance(i, k);
                if (squared < shortest.squared) shortest = {squared, i, k};
            };
            if (std::isinf(shortest.squared)) consider(first_outside(root, i));
            auto hit = [&](i64 group) {
                const Range found = boxes_.range(group);
                for (u32 k = static_cast<u32>(found.begin); k < found.end; ++k)
                    if (root[k] != root[i]) consider(k);
            };
            const double* x = centres_.position(i);
            boxes_.visit(x, x, shortest.squared, hit,
                         [&](size_t layer, i64 box) { return common[layer][box] == root[i]; });
        }
        std::vector<Link> links;
        for (u32 r = 0; r < n; ++r) {
            if (std::isinf(best[r].squared)) continue;
            auto [squared, sparse, dense] = best[r];
            if (rank_[sparse] < rank_[dense]) std::swap(sparse, dense);
            links.push_back({level(squared, sparse), sparse, dense});
        }
        return links;
    }

    // A centre of another component, near on the curve. IN i: the first centre of its component.
    static u32 first_outside(const std::vector<u32>& root, u32 i) {
        if (i > 0) return i - 1;
        u32 other = 1;
        while (root[other] == root[0]) ++other;
        return other;
    }

    const Boxes& boxes_;
    const Leaves& centres_;
    const std::vector<double>& period_;
    const Windows& windows_;
    const std::vector<u32>& rank_;
    i64 shift_;
    double stretch_;
    std::vector<std::vector<u32>> short_;  // of each block of centres
    std::vector<Place> place_;             // of the links of each centre
};

}  // namespace mspp
