// Peaks: components of centres that grow from the densest centre down, and die where they meet a denser one.
#pragma once

#include "kernel/base/disjoint_sets.hpp"
#include "kernel/tree/cloud.hpp"

namespace mspp {

// Sums over the centres of a component, each times the weight of the centre.
struct Extent {
    double weight = 0;
    double growth = 0;  // log2 radius at mass K minus that at K / 2
    double near = 0;    // 1 / dimension within the window
    double medium = 0;  // 1 / shape of the window of 4 K
    double wide = 0;    // 1 / shape of the window of 8 K
    Extent& operator+=(const Extent& other) {
        weight += other.weight;
        growth += other.growth;
        near += other.near;
        medium += other.medium;
        wide += other.wide;
        return *this;
    }
};

class Peaks {
  public:
    static constexpr u32 kNone = UINT32_MAX;

    // IN rank: 0 for the densest centre. A component is named by its densest centre.
    Peaks(std::vector<Extent> extents, const std::vector<u32>& rank)
        : extents_(std::move(extents)),
          rank_(rank),
          sets_(extents_.size()),
          saddle_(extents_.size(), 0),
          attached_(extents_.size(), kNone),
          other_(extents_.size(), 0.0) {}

    u32 size() const { return sets_.size(); }
    u32 find(u32 x) { return sets_.find(x); }  // the densest centre of the component of x
    // A link at a level: if it joins two components, the one with the lower peak dies there.
    void link(u32 i, u32 j, i64 level) {
        u32 a = find(i), b = find(j);
        if (a == b) return;
        if (rank_[a] > rank_[b]) std::swap(a, b), std::swap(i, j);
        saddle_[b] = level;
        attached_[b] = i;
        other_[b] = extents_[a].weight;
        sets_.attach(b, a);
        extents_[a] += extents_[b];
    }

    bool alive(u32 b) const { return attached_[b] == kNone; }
    i64 saddle(u32 b) const { return saddle_[b]; }      // the level at which b died
    u32 attached(u32 b) const { return attached_[b]; }  // the centre of the other component at that link
    double other(u32 b) const { return other_[b]; }     // the weight of the other component
    const Extent& extent(u32 b) const { return extents_[b]; }  // of b when it died, or of all it grew to

    // For each centre, the kept peak that it leads to. IN kept: every peak that is alive is kept.
    std::vector<u32> basins(const std::vector<char>& kept) const {
        std::vector<u32> basin(size(), kNone), path;
        for (u32 i = 0; i < size(); ++i) {
            u32 x = i;
            for (path.clear(); basin[x] == kNone && !kept[x]; x = attached_[x]) path.push_back(x);
            if (kept[x]) basin[x] = x;
            for (u32 y : path) basin[y] = basin[x];
        }
        return basin;
    }

  private:
    std::vector<Extent> extents_;
    const std::vector<u32>& rank_;
    DisjointSets sets_;  // represented by their densest centres
    std::vector<i64> saddle_;
    std::vector<u32> attached_;
    std::vector<double> other_;
};

}  // namespace mspp
