// The pixels of an image or of a volume, which of them touch, and their division among threads.
//
// A volume is a stack of slices; an image is a volume of depth 1.
#pragma once

#include <algorithm>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

struct Shape {
    i64 depth, height, width;
    i64 slice() const { return height * width; }
    i64 rows() const { return depth * height; }
    i64 size() const { return rows() * width; }
};

inline constexpr u32 kNoRegion = UINT32_MAX;  // of a masked pixel

// Calls fn(other) for each row that touches `row` and comes before it: above, and in the slice before.
template <class Fn>
void each_earlier_row(const Shape& shape, i64 row, Fn&& fn) {
    if (row % shape.height > 0) fn(row - 1);
    if (row >= shape.height) fn(row - shape.height);
}

template <class Fn>
void each_later_row(const Shape& shape, i64 row, Fn&& fn) {
    if (row % shape.height < shape.height - 1) fn(row + 1);
    if (row + shape.height < shape.rows()) fn(row + shape.height);
}

// The rows of an image, or of all slices of a volume, in nearly equal stripes: one for each thread.
class Stripes {
  public:
    Stripes(const Shape& shape, int n_threads)
        : shape_(shape),
          count_(static_cast<int>(std::min<i64>(team_size(shape.size(), kGrain, n_threads), shape.rows()))) {}

    const Shape& shape() const { return shape_; }
    int count() const { return count_; }
    Range rows(int t) const { return part(shape_.rows(), t, count_); }
    // Calls fn(t, range) for the t-th stripe on its own thread, with the range of its pixels.
    template <class Fn>
    void each(Fn&& fn) const {
        parallel(count_, [&](int t) {
            const Range range = rows(t);
            fn(t, Range{range.begin * shape_.width, range.end * shape_.width});
        });
    }

  private:
    static constexpr i64 kGrain = 1 << 14;  // pixels that are worth a thread
    Shape shape_;
    int count_;
};

// Calls fn(region, begin, end) for every run of consecutive pixels of one region; masked pixels are skipped.
template <class Fn>
void each_run(const u32* regions, const Range& range, Fn&& fn) {
    for (i64 begin = range.begin, end; begin < range.end; begin = end) {
        const u32 region = regions[begin];
        for (end = begin + 1; end < range.end && regions[end] == region;) ++end;
        if (region != kNoRegion) fn(region, begin, end);
    }
}

}  // namespace mspp
