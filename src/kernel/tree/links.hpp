// Links between leaves: each to the denser leaves in its window.
//
// A link is short if it is at most as long as a ball of mass K / 2 is wide; its level is that of its sparser
// end. Longer links reach up to the border of the window, at a higher level. Most short links are inside a
// basin, the leaves that lead to one local peak along their densest short links, and change nothing; those
// that cross from one basin to another are kept.
#pragma once

#include "kernel/tree/windows.hpp"

namespace mspp {

struct Link {
    i32 level;  // log2 radius, in units of 2^-16
    u32 sparse, dense;
};

class Links {
  public:
    // IN shift: the width of a ball of mass K / 2 as a logarithm, relative to the radius of mass K.
    Links(const Surroundings& all, const Windows& windows, i64 shift, int n_threads)
        : all_(all),
          windows_(windows),
          shift_(shift),
          stretch_(exp2_units(2 * shift)),
          n_threads_(n_threads),
          basin_(windows.radius.size()),
          places_(windows.radius.size()) {
        rank_leaves();
        find_basins();
        find_crossing();
    }

    u32 size() const { return static_cast<u32>(rank_.size()); }
    i64 shift() const { return shift_; }
    const Surroundings& all() const { return all_; }
    const Windows& windows() const { return windows_; }
    const Array<u32>& order() const { return order_; }      // densest first
    const Array<u32>& basin() const { return basin_; }      // of each leaf; numbered from the densest
    const std::vector<u32>& tops() const { return tops_; }  // the densest leaf of each basin

    // The denser leaves in other basins that a leaf has a short link to, one for each basin.
    std::span<const u32> crossing(u32 i) const {
        const auto [begin, end] = places_[i];
        const std::vector<u32>& list = crossing_[i / kChunk];
        return {list.data() + begin, list.data() + end};
    }

    // The longer links between different owners, each leaf's shortest to each basin. IN owner: of each leaf.
    std::vector<Link> long_links(const Array<u32>& owner) const {
        std::vector<std::vector<Link>> found(static_cast<size_t>(chunks()));
        each_chunk([&](i64 chunk, Range range) {
            for (i64 i = range.begin; i < range.end; ++i) add_long(static_cast<u32>(i), owner, found[chunk]);
        });
        std::vector<Link> links;
        for (const auto& some : found) links.insert(links.end(), some.begin(), some.end());
        return links;
    }

    // The link between two leaves at a squared distance.
    Link link(u32 i, u32 j, float squared) const {
        if (rank_[i] < rank_[j]) std::swap(i, j);
        return {level(squared, i), i, j};
    }

    // Sorts links by level, then densest first.
    void sort(std::vector<Link>& links) const {
        std::sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
            if (a.level != b.level) return a.level < b.level;
            if (a.sparse != b.sparse) return rank_[a.sparse] < rank_[b.sparse];
            return rank_[a.dense] < rank_[b.dense];
        });
    }

  private:
    static constexpr i64 kChunk = 4096;
    struct Place {
        u32 begin, end;
    };

    i64 chunks() const { return (i64{size()} + kChunk - 1) / kChunk; }
    // Calls fn(chunk, range of leaves) for all chunks, on all threads.
    template <class Fn>
    void each_chunk(Fn&& fn) const {
        std::atomic<i64> next{0};
        parallel(team_size(chunks(), 2, n_threads_), [&](int) {
            for (i64 chunk; (chunk = next.fetch_add(1)) < chunks();) {
                poll();
                fn(chunk, Range{chunk * kChunk, std::min<i64>(size(), (chunk + 1) * kChunk)});
            }
        });
    }

    void rank_leaves() {
        const size_t n = windows_.radius.size();
        Array<Keyed> sorted(n);
        for (u32 i = 0; i < n; ++i) sorted[i] = {static_cast<u64>(windows_.radius[i]), i};
        sort_by_key(sorted, 22);  // a radius is below 2^32 units, its logarithm below 2^21
        order_.resize(n), rank_.resize(n);
        for (u32 k = 0; k < n; ++k) rank_[order_[k] = sorted[k].item] = k;
    }

    // The leaves that a short link could lead to; a link that is not short is long.
    std::span<const u32> short_list(i64 i) const {
        const std::span<const u32> list = all_.lists()[i];
        const double limit = windows_.square[i] / stretch_;
        const auto end = std::partition_point(
            list.begin(), list.end(), [&](u32 k) { return all_.boxes().squared_distance(i, k) <= limit; });
        return {list.begin(), end};
    }

    // Each leaf is in the basin of its densest short neighbour.
    void find_basins() {
        Array<u32> densest(size());
        each_chunk([&](i64, Range range) {
            for (i64 i = range.begin; i < range.end; ++i) {
                u32 best = rank_[i];
                const std::span<const u32> list = short_list(i);
                for (const u32 k : list) best = std::min(best, rank_[k]);
                densest[i] = order_[best];
                places_[i] = {0, static_cast<u32>(list.size())};
            }
        });
        for (const u32 i : order_) {
            if (densest[i] == i) {
                basin_[i] = static_cast<u32>(tops_.size());
                tops_.push_back(i);
            } else {
                basin_[i] = basin_[densest[i]];
            }
        }
    }

    void find_crossing() {
        crossing_.resize(static_cast<size_t>(chunks()));
        each_chunk([&](i64 chunk, Range range) {
            std::vector<u32>& out = crossing_[chunk];
            for (i64 i = range.begin; i < range.end; ++i) {
                const u32 begin = static_cast<u32>(out.size());
                for (const u32 k : all_.lists()[i].first(places_[i].end))
                    if (basin_[k] != basin_[i] && rank_[k] < rank_[i] && is_new(out, begin, k))
                        out.push_back(k);
                places_[i] = {begin, static_cast<u32>(out.size())};
            }
        });
    }
    // Whether no leaf from `begin` on is in the same basin as k.
    bool is_new(const std::vector<u32>& leaves, u32 begin, u32 k) const {
        return std::none_of(leaves.begin() + begin, leaves.end(),
                            [&](u32 other) { return basin_[other] == basin_[k]; });
    }

    void add_long(u32 i, const Array<u32>& owner, std::vector<Link>& links) const {
        const double limit = windows_.square[i] / stretch_;
        const size_t begin = links.size();
        for (const u32 k : all_.lists()[i]) {
            if (owner[k] == owner[i] || rank_[k] >= rank_[i]) continue;
            const float squared = all_.boxes().squared_distance(i, k);
            if (squared > windows_.reach[i]) break;
            const bool known = std::any_of(links.begin() + static_cast<i64>(begin), links.end(),
                                           [&](const Link& l) { return basin_[l.dense] == basin_[k]; });
            if (squared > limit && !known) links.push_back({level(squared, i), i, k});
        }
    }

    i32 level(float squared, u32 sparse) const {
        return std::max(windows_.radius[sparse],
                        static_cast<i32>(log2_units(std::max(squared, 1.0f)) / 2 + shift_));
    }

    const Surroundings& all_;
    const Windows& windows_;
    i64 shift_;
    double stretch_;
    int n_threads_;
    Array<u32> order_, rank_, basin_;
    std::vector<u32> tops_;
    std::vector<std::vector<u32>> crossing_;  // of each chunk
    std::vector<Place> places_;               // of each leaf: at first, of its short list
};

}  // namespace mspp
