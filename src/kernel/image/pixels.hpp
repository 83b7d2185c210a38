// The pixels of an image or of a volume, which of their rows touch, and their division among threads.
//
// A volume is a stack of slices; an image is a volume of depth 1. Rows are numbered through all slices.
#pragma once

#include <algorithm>

#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

struct Shape {
    i64 depth, height, width;
    i64 slice() const { return height * width; }
    i64 rows() const { return depth * height; }
    i64 size() const { return rows() * width; }
};

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

inline constexpr i64 kPixelGrain = 1 << 14;  // pixels that are worth a thread

// The rows of an image in nearly equal stripes: one for each thread.
class Stripes {
  public:
    // IN count: of the stripes, at most one for each row.
    Stripes(const Shape& shape, int count) : shape_(shape), count_(count) {}
    static Stripes for_threads(const Shape& shape, int n_threads) {
        const i64 team = team_size(shape.size(), kPixelGrain, n_threads);
        return {shape, static_cast<int>(std::min(team, shape.rows()))};
    }

    const Shape& shape() const { return shape_; }
    int count() const { return count_; }
    Range rows(int t) const { return part(shape_.rows(), t, count_); }
    // Calls fn(t, rows) for the t-th stripe on its own thread.
    template <class Fn>
    void each(Fn&& fn) const {
        parallel(count_, [&](int t) { fn(t, rows(t)); });
    }

  private:
    Shape shape_;
    int count_;
};

}  // namespace mspp
