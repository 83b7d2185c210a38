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
#include "kernel/image/pixels.hpp"

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
    Array<u32> parts;   // (N,), kNoRegion for masked pixels
    DisjointSets sets;  // of parts: the pieces
};

class PieceFinder {
  public:
    // IN clusters (N,), negative for masked pixels.
    PieceFinder(const i32* clusters, const Stripes& stripes)
        : clusters_(clusters), stripes_(stripes), shape_(stripes.shape()) {}

    Pieces run() {
        parts_.resize(static_cast<size_t>(shape_.size()));
        std::vector<std::vector<u32>> number(static_cast<size_t>(stripes_.count()));
        std::vector<u32> count(number.size());
        stripes_.each([&](int t, const Range&) {
            DisjointSets sets;
            const Range rows = stripes_.rows(t);
            for (i64 row = rows.begin; row < rows.end; ++row) label_row(row, rows.begin, sets);
            number[t] = number_sets(sets, count[t]);
        });
        std::vector<u32> first(number.size() + 1);
        std::partial_sum(count.begin(), count.end(), first.begin() + 1);
        stripes_.each([&](int t, const Range& range) {
            for (u32& x : number[t]) x += first[t];
            for (i64 p = range.begin; p < range.end; ++p)
                if (parts_[p] != kNoRegion) parts_[p] = number[t][parts_[p]];
        });
        DisjointSets sets(first.back());
        for (int t = 1; t < stripes_.count(); ++t) join_seam(stripes_.rows(t), sets);
        return {std::move(parts_), std::move(sets)};
    }

  private:
    // Labels one row from the pixel to the left and from touching rows at or after `first`.
    void label_row(i64 row, i64 first, DisjointSets& sets) {
        const i64 begin = row * shape_.width;
        i64 steps[2], n = 0;  // to the pixels before in touching rows
        each_earlier_row(shape_, row, [&](i64 other) {
            if (other >= first) steps[n++] = (row - other) * shape_.width;
        });
        for (i64 p = begin; p < begin + shape_.width; ++p) {
            const i32 cluster = clusters_[p];
            const bool left = p > begin && clusters_[p - 1] == cluster;
            u32 label = left ? parts_[p - 1] : kNoRegion;
            for (i64 k = 0; k < n && cluster >= 0; ++k) {
                const i64 q = p - steps[k];
                if (clusters_[q] != cluster || (left && clusters_[q - 1] == cluster)) continue;
                label = label == kNoRegion || label == parts_[q] ? parts_[q] : sets.join(label, parts_[q]);
            }
            parts_[p] = label == kNoRegion && cluster >= 0 ? sets.add() : label;
        }
    }

    // Joins the parts of a stripe with those that they touch in stripes before.
    void join_seam(const Range& rows, DisjointSets& sets) const {
        for (i64 row = rows.begin; row < std::min(rows.begin + shape_.height, rows.end); ++row)
            each_earlier_row(shape_, row, [&](i64 other) {
                if (other >= rows.begin) return;
                const i64 begin = row * shape_.width, step = (row - other) * shape_.width;
                for (i64 p = begin; p < begin + shape_.width; ++p)
                    if (clusters_[p] >= 0 && clusters_[p] == clusters_[p - step])
                        sets.join(parts_[p], parts_[p - step]);
            });
    }

    const i32* clusters_;
    const Stripes& stripes_;
    const Shape& shape_;
    Array<u32> parts_;
};

// IN clusters (N,), negative for masked pixels.
inline Pieces connected_pieces(const i32* clusters, const Stripes& stripes) {
    return PieceFinder(clusters, stripes).run();
}

}  // namespace mspp
