// A summed-area table that slides down an image: rows are added below, and the oldest are dropped.
#pragma once

#include <algorithm>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

// For K integers per pixel. Entries are modulo 2^32, which is exact as long as the sum over a rectangle fits
// 32 bits. Columns are those of the image; the table holds [left, right).
template <int K>
class SlidingTable {
  public:
    struct alignas(K * 4) Sums {
        u32 of[K];
        Sums operator-(const Sums& other) const {
            Sums sums;
            for (int k = 0; k < K; ++k) sums.of[k] = of[k] - other.of[k];
            return sums;
        }
    };

    // Empties the table. The next row to add is `first`; the last `kept` rows are held.
    void start(i64 first, i64 kept, i64 left, i64 right) {
        next_ = first;
        kept_ = kept + 1;  // a row lies between two rows of entries
        left_ = left;
        right_ = right;
        sums_.resize(static_cast<size_t>(kept_ * (right - left + 1)));
        std::fill_n(entries(first), right - left + 1, Sums{});
    }

    i64 next() const { return next_; }
    i64 left() const { return left_; }
    i64 right() const { return right_; }

    // IN value(x, k): the k-th integer of a pixel of the next row.
    template <class Fn>
    void add_row(Fn&& value) {
        const Sums* above = entries(next_);
        Sums* below = entries(++next_);
        Sums along{};
        below[0] = along;
        for (i64 x = left_; x < right_; ++x) {
            for (int k = 0; k < K; ++k) along.of[k] += static_cast<u32>(value(x, k));
            for (int k = 0; k < K; ++k) below[x - left_ + 1].of[k] = above[x - left_ + 1].of[k] + along.of[k];
        }
    }

    // IN fill(row): sets the K integers of each pixel of the next row.
    template <class Fn>
    void add_filled_row(Fn&& fill) {
        const Sums* above = entries(next_) + 1;
        Sums* below = entries(++next_);
        *below++ = Sums{};
        fill(below);
        Sums along{};
        for (i64 i = 0; i < right_ - left_; ++i) {
            for (int k = 0; k < K; ++k) along.of[k] += below[i].of[k];
            for (int k = 0; k < K; ++k) below[i].of[k] = above[i].of[k] + along.of[k];
        }
    }

    // The entries above row y: the k-th is the sum over all rows before y and the first k columns.
    const Sums* above(i64 y) const { return sums_.data() + y % kept_ * (right_ - left_ + 1); }

    // The sum over rows [top, bottom) and columns [left, right).
    Sums sum(i64 top, i64 bottom, i64 left, i64 right) const {
        const Sums *high = above(top), *low = above(bottom);
        return (low[right - left_] - high[right - left_]) - (low[left - left_] - high[left - left_]);
    }

  private:
    Sums* entries(i64 y) { return sums_.data() + y % kept_ * (right_ - left_ + 1); }
    i64 next_ = 0, kept_ = 1, left_ = 0, right_ = 0;
    Array<Sums> sums_;
};

}  // namespace mspp
