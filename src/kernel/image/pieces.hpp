// The pieces of an image: connected components of its colour clusters.
//
// Every thread finds the components of its stripe, the parts. Parts that touch across a seam between stripes
// are one piece. Parts are numbered in the order of their first pixels, and the smallest part represents its
// piece, so the order of pieces does not depend on the number of stripes.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "kernel/base/disjoint_sets.hpp"
#include "kernel/image/runs.hpp"

namespace mspp {

// Numbers the sets 0, 1, ... in the order of their smallest members. OUT count: of the sets. Returns the
// number of each member's set.
inline std::vector<u32> number_sets(DisjointSets& sets, u32& count) {
    count = 0;
    std::vector<u32> number(sets.size());
    for (u32 x = 0; x < sets.size(); ++x) {
        const u32 root = sets.find(x);
        number[x] = root == x ? count++ : number[root];
    }
    return number;
}

struct Pieces {
    RunImage parts;
    std::vector<u32> first;  // the first part of each stripe, and the number of all
    DisjointSets sets;       // of parts: the pieces
};

class PieceFinder {
  public:
    // IN clusters (N,), negative for masked pixels.
    PieceFinder(const i32* clusters, const Stripes& stripes)
        : clusters_(clusters), stripes_(stripes), shape_(stripes.shape()), parts_(stripes) {}

    Pieces run() {
        std::vector<std::vector<u32>> number(static_cast<size_t>(stripes_.count()));
        std::vector<u32> first(number.size() + 1);
        stripes_.each([&](int t, const Range& rows) {
            DisjointSets sets;
            label_stripe(t, rows, sets);
            number[t] = number_sets(sets, first[t + 1]);
        });
        std::partial_sum(first.begin(), first.end(), first.begin());
        stripes_.each([&](int t, const Range& rows) {
            for (u32& part : number[t]) part += first[t];
            parts_.renumber(rows, number[t]);
        });
        DisjointSets sets(first.back());
        for (int t = 1; t < stripes_.count(); ++t) join_seam(stripes_.rows(t), sets);
        return {std::move(parts_), std::move(first), std::move(sets)};
    }

  private:
    void label_stripe(int t, const Range& rows, DisjointSets& sets) {
        Array<Run> runs;
        std::vector<size_t> first;
        Poller poll;
        for (i64 row = rows.begin; row < rows.end; ++row) {
            poll(shape_.width);
            first.push_back(runs.size());
            find_runs(clusters_ + row * shape_.width, runs);
            Run* here = &runs[first.back()];
            each_earlier_row(shape_, row, [&](i64 other) {
                if (other >= rows.begin) link(row, here, other, &runs[first[other - rows.begin]], sets);
            });
            for (; here->begin < shape_.width; ++here)
                if (here->region == kNoRegion && clusters_[row * shape_.width + here->begin] >= 0)
                    here->region = sets.add();
        }
        parts_.store(t, rows, std::move(runs), first);
    }

    // Appends the runs of a row, not yet in a region.
    void find_runs(const i32* clusters, Array<Run>& runs) const {
        const size_t first = runs.size();
        runs.resize(first + static_cast<size_t>(shape_.width) + 1);
        Run* end = &runs[first];
        *end++ = {0, kNoRegion};
        for (i64 x = 1; x < shape_.width; ++x) {  // without a branch, which noise would mispredict
            *end = {static_cast<u32>(x), kNoRegion};
            end += clusters[x] != clusters[x - 1];
        }
        *end++ = {static_cast<u32>(shape_.width), kNoRegion};
        runs.resize(static_cast<size_t>(end - runs.data()));
    }

    // Gives runs of a row the regions of the same clusters in a row before.
    void link(i64 row, Run* here, i64 other, const Run* there, DisjointSets& sets) const {
        Run* const first = here;
        each_overlap(here, there, {0, shape_.width}, [&](const Run& run, const Run& before, i64 begin, i64) {
            if (!touch(row, other, begin)) return;
            u32& region = first[&run - first].region;
            region = region == kNoRegion || region == before.region ? before.region
                                                                    : sets.join(region, before.region);
        });
    }

    // Joins the parts of a stripe with those that they touch in stripes before.
    void join_seam(const Range& rows, DisjointSets& sets) const {
        for (i64 row = rows.begin; row < std::min(rows.begin + shape_.height, rows.end); ++row)
            each_earlier_row(shape_, row, [&](i64 other) {
                if (other >= rows.begin) return;
                each_overlap(parts_.row(row), parts_.row(other), {0, shape_.width},
                             [&](const Run& a, const Run& b, i64 begin, i64) {
                                 if (touch(row, other, begin)) sets.join(a.region, b.region);
                             });
            });
    }

    // Whether two rows have the same cluster in a column.
    bool touch(i64 row, i64 other, i64 column) const {
        const i32 cluster = clusters_[row * shape_.width + column];
        return cluster >= 0 && cluster == clusters_[other * shape_.width + column];
    }

    const i32* clusters_;
    const Stripes& stripes_;
    const Shape& shape_;
    RunImage parts_;
};

// IN clusters (N,), negative for masked pixels.
inline Pieces connected_pieces(const i32* clusters, const Stripes& stripes) {
    return PieceFinder(clusters, stripes).run();
}

}  // namespace mspp
