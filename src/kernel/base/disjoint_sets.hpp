// Disjoint sets (union-find) over the numbers 0 .. n-1.
#pragma once

#include <numeric>
#include <utility>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

class DisjointSets {
  public:
    explicit DisjointSets(size_t n = 0) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }

    u32 size() const { return static_cast<u32>(parent_.size()); }
    // Adds a set of one new number, and returns that number.
    u32 add() {
        parent_.push_back(size());
        return parent_.back();
    }
    // The representative of the set of x.
    u32 find(u32 x) {
        while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
        return x;
    }
    // Joins two sets; the smaller representative stays, and is returned.
    u32 join(u32 a, u32 b) {
        a = find(a);
        b = find(b);
        if (b < a) std::swap(a, b);
        return parent_[b] = a;
    }
    // Joins the set of the representative `root` to that of `other`. Threads may call this at the same time
    // for different roots, as long as none calls another method.
    void attach(u32 root, u32 other) { parent_[root] = other; }

  private:
    Array<u32> parent_;
};

}  // namespace mspp
