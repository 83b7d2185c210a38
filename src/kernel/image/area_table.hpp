// Summed-area tables: the sum over any rectangle from four table entries.
#pragma once

#include <algorithm>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

// [left, right) x [top, bottom).
struct Rect {
    i64 left, top, right, bottom;
    i64 width() const { return right - left; }
    i64 height() const { return bottom - top; }
    i64 area() const { return width() * height(); }
};

// For K integers per pixel, over the rows [first, last) of an image. Entries are modulo 2^32, which is exact
// as long as the sum over the rectangle itself fits 32 bits.
template <int K>
class AreaTable {
  public:
    struct alignas(K * 4) Sums {
        u32 of[K];
    };

    // IN value(y, x, k): the k-th integer of a pixel.
    template <class Fn>
    void build(i64 first, i64 last, i64 width, Fn&& value) {
        first_ = first;
        row_ = width + 1;
        sums_.resize(static_cast<size_t>((last - first + 1) * row_));
        std::fill_n(sums_.begin(), row_, Sums{});
        for (i64 y = first; y < last; ++y) {
            Sums along{};
            const Sums* above = at(y, 1);
            Sums* here = &sums_[(y + 1 - first) * row_];
            *here++ = Sums{};
            for (i64 x = 0; x < width; ++x) {
                for (int k = 0; k < K; ++k) along.of[k] += static_cast<u32>(value(y, x, k));
                for (int k = 0; k < K; ++k) here[x].of[k] = above[x].of[k] + along.of[k];
            }
        }
    }

    Sums sum(const Rect& rect) const {
        return difference(at(rect.top, 0), at(rect.bottom, 0), rect.left, rect.right);
    }

  private:
    const Sums* at(i64 y, i64 x) const { return &sums_[(y - first_) * row_ + x]; }
    static Sums difference(const Sums* top, const Sums* bottom, i64 left, i64 right) {
        Sums sums;
        for (int k = 0; k < K; ++k)
            sums.of[k] = bottom[right].of[k] - top[right].of[k] - bottom[left].of[k] + top[left].of[k];
        return sums;
    }
    i64 first_ = 0, row_ = 0;
    Array<Sums> sums_;
};

}  // namespace mspp
