// Peaks: components of leaves that grow from the densest leaf down, and die where they meet a denser one.
#pragma once

#include "kernel/base/disjoint_sets.hpp"
#include "kernel/tree/links.hpp"

namespace mspp {

// A component is named by its densest basin, which has the smallest number.
class Peaks {
  public:
    static constexpr u32 kNone = UINT32_MAX;

    // IN more: links besides the short ones, sorted.
    Peaks(const Links& links, const std::vector<Link>& more)
        : links_(links), sets_(links.tops().size()), peaks_(links.tops().size()), host_(links.size()) {
        const Windows& windows = links.windows();
        const Array<i64>& weights = links.all().leaves().weights;
        auto link = more.begin();
        Poller poll;
        for (const u32 i : links.order()) {
            poll(8);
            for (; link != more.end() && link->level < windows.radius[i]; ++link) add(*link);
            Peak& host = peaks_[host_[i] = find(i)];
            host.weight += weights[i];
            host.growth += static_cast<double>(weights[i]) * (windows.radius[i] - windows.half[i]);
            for (const u32 dense : links.crossing(i)) join(i, dense, windows.radius[i]);
        }
        for (; link != more.end(); ++link) add(*link);
    }

    u32 size() const { return static_cast<u32>(peaks_.size()); }
    bool alive(u32 b) const { return peaks_[b].attached == kNone; }
    i32 saddle(u32 b) const { return peaks_[b].saddle; }      // the level at which b died
    u32 attached(u32 b) const { return peaks_[b].attached; }  // the leaf of the other component at that link
    // Of b when it died, or of all that it grew to.
    i64 weight(u32 b) const { return peaks_[b].weight; }
    // The mean growth of log2 radius from K / 2 to K there, in units of 2^-16.
    double growth(u32 b) const { return peaks_[b].growth / static_cast<double>(peaks_[b].weight); }
    // The smaller weight of b and of the component it met.
    i64 smaller(u32 b) const { return std::min(peaks_[b].weight, peaks_[b].other); }
    u32 parent(u32 b) const { return peaks_[b].parent; }       // the component that b joined when it died
    u32 host(u32 i) const { return host_[i]; }                 // the component that a leaf joined first
    u32 find(u32 i) { return sets_.find(links_.basin()[i]); }  // the component of a leaf

    // Joins the components of two leaves: the one with the lower peak dies.
    void join(u32 i, u32 j, i32 level) {
        u32 a = find(i), b = find(j);
        if (a == b) return;
        if (a > b) std::swap(a, b), std::swap(i, j);
        sets_.attach(b, a);
        peaks_[b].saddle = level, peaks_[b].attached = i;
        peaks_[b].parent = a, peaks_[b].other = peaks_[a].weight;
        peaks_[a].weight += peaks_[b].weight;
        peaks_[a].growth += peaks_[b].growth;
    }
    void add(const Link& link) { join(link.sparse, link.dense, link.level); }

    // For each leaf, the kept peak that it leads to. IN kept: every peak that is alive is kept.
    Array<u32> owners(const std::vector<char>& kept) const {
        std::vector<u32> owner(size(), kNone), path;
        for (u32 b = 0; b < size(); ++b) {
            u32 x = b;
            for (path.clear(); owner[x] == kNone && !kept[x]; x = links_.basin()[attached(x)])
                path.push_back(x);
            if (kept[x]) owner[x] = x;
            for (const u32 y : path) owner[y] = owner[x];
        }
        Array<u32> result(host_.size());
        for (size_t i = 0; i < result.size(); ++i) result[i] = owner[links_.basin()[i]];
        return result;
    }

  private:
    struct Peak {
        i64 weight = 0, other = 0;
        double growth = 0;
        i32 saddle = 0;
        u32 attached = kNone, parent = kNone;
    };
    const Links& links_;
    DisjointSets sets_;
    std::vector<Peak> peaks_;
    Array<u32> host_;
};

}  // namespace mspp
