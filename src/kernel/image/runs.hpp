// An image of regions as runs: consecutive pixels of a row in one region.
//
// A photograph of 12 megapixels has a million runs or fewer, so threads compare runs instead of pixels.
#pragma once

#include <utility>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/image/pixels.hpp"

namespace mspp {

inline constexpr u32 kNoRegion = UINT32_MAX;  // of masked pixels

struct Run {
    u32 begin, region;  // it ends where the next run begins
};

// Calls fn(a, b, begin, end) for every range of columns in which neither row changes its run. IN the runs of
// two rows at the first column.
template <class Fn>
void each_overlap(const Run* a, const Run* b, const Range& columns, Fn&& fn) {
    for (i64 begin = columns.begin; begin < columns.end;) {
        const i64 end = std::min<i64>(std::min(a[1].begin, b[1].begin), columns.end);
        fn(*a, *b, begin, end);
        a += a[1].begin == end;
        b += b[1].begin == end;
        begin = end;
    }
}

class RunImage {
  public:
    RunImage() = default;
    explicit RunImage(const Stripes& stripes)
        : shape_(stripes.shape()),
          runs_(static_cast<size_t>(stripes.count())),
          rows_(static_cast<size_t>(shape_.rows())) {}
    RunImage(RunImage&&) = default;
    RunImage& operator=(RunImage&&) = default;

    const Shape& shape() const { return shape_; }
    // The runs of a row, and one more that begins at `width`.
    const Run* row(i64 row) const { return rows_[row]; }
    // The run of a pixel.
    const Run* run_at(i64 row, i64 column) const {
        const Run* run = rows_[row];
        while (run[1].begin <= column) ++run;
        return run;
    }
    // Calls fn(run, begin, end) for the runs of a row, with the range of their pixels in the image.
    template <class Fn>
    void each_run(i64 row, Fn&& fn) const {
        const i64 first = row * shape_.width;
        for (const Run* run = rows_[row]; run->begin < shape_.width; ++run)
            fn(*run, first + run->begin, first + run[1].begin);
    }

    // Whether any pixel is in no region.
    bool is_masked() const {
        for (i64 row = 0; row < shape_.rows(); ++row)
            for (const Run* run = rows_[row]; run->begin < shape_.width; ++run)
                if (run->region == kNoRegion) return true;
        return false;
    }

    // Stores the runs of the t-th stripe. IN first: where the runs of each row begin.
    void store(int t, const Range& rows, Array<Run>&& runs, const std::vector<size_t>& first) {
        runs_[t] = std::move(runs);
        for (i64 row = rows.begin; row < rows.end; ++row) rows_[row] = &runs_[t][first[row - rows.begin]];
    }

    // Replaces every region r in these rows by number[r]; runs that then have the same region become one.
    void renumber(const Range& rows, const std::vector<u32>& number) {
        Poller poll;
        for (i64 row = rows.begin; row < rows.end; ++row) {
            poll(shape_.width);
            Run* end = rows_[row];
            for (const Run* run = end; run->begin < shape_.width; ++run) {
                const u32 region = run->region == kNoRegion ? kNoRegion : number[run->region];
                if (end == rows_[row] || end[-1].region != region) *end++ = {run->begin, region};
            }
            *end = {static_cast<u32>(shape_.width), kNoRegion};
        }
    }

  private:
    Shape shape_{};
    std::vector<Array<Run>> runs_;  // per stripe
    std::vector<Run*> rows_;
};

}  // namespace mspp
