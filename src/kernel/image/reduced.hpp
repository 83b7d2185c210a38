// An image at a fraction of its size, for measurements that photographs of 481 x 321 taught.
//
// The learned stage measures every image at about that size, so its time and memory hardly grow with the
// image. A reduced pixel is the mean of a square of pixels that are not masked.
#pragma once

#include <cmath>

#include "kernel/image/runs.hpp"

namespace mspp {

class ReducedImage {
  public:
    // IN colours (N, 3) of an image, not of a volume.
    ReducedImage(const float* colours, const RunImage& regions, int n_threads)
        : full_(regions.shape()), colours_(colours) {
        scale_ = std::max(1.0, std::sqrt(static_cast<double>(full_.size()) / (481.0 * 321.0)));
        factor_ = static_cast<i64>(scale_);
        height_ = (full_.height + factor_ - 1) / factor_;
        width_ = (full_.width + factor_ - 1) / factor_;
        const bool masked = regions.is_masked();
        if (masked) inside_.resize(static_cast<size_t>(height_ * width_));
        if (factor_ > 1) means_.resize(static_cast<size_t>(3 * height_ * width_));
        if (!masked && factor_ == 1) return;
        const int team = team_size(full_.size(), kPixelGrain, n_threads);
        parallel(team, [&](int t) {
            const Range rows = part(height_, t, team);
            Array<float> sums;
            for (i64 y = rows.begin; y < rows.end; ++y) reduce_row(regions, y, sums);
        });
        if (factor_ > 1) colours_ = means_.data();
    }

    i64 height() const { return height_; }
    i64 width() const { return width_; }
    i64 factor() const { return factor_; }
    double scale() const { return scale_; }  // of the image, relative to 481 x 321
    bool is_masked() const { return !inside_.empty(); }
    bool inside(i64 y, i64 x) const { return inside_.empty() || inside_[y * width_ + x]; }
    // Three colours; not set at masked pixels if the image is reduced.
    const float* at(i64 y, i64 x) const { return colours_ + 3 * (y * width_ + x); }
    // The pixel of the image in the middle of a reduced one.
    i64 middle_row(i64 y) const { return std::min(y * factor_ + factor_ / 2, full_.height - 1); }
    i64 middle_column(i64 x) const { return std::min(x * factor_ + factor_ / 2, full_.width - 1); }
    // A radius of an image of 481 x 321, in reduced pixels.
    i64 scaled(double radius) const { return std::lrint(radius * scale_ / static_cast<double>(factor_)); }

  private:
    // OUT one row of means and of the mask. Every other row of a large square is skipped.
    void reduce_row(const RunImage& regions, i64 y, Array<float>& sums) {
        sums.assign(static_cast<size_t>(4 * width_), 0.0f);
        const i64 step = factor_ >= 4 ? 2 : 1;
        for (i64 row = y * factor_; row < std::min((y + 1) * factor_, full_.height); row += step)
            regions.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                if (run.region != kNoRegion) add_pixels(begin, end, begin - run.begin, sums);
            });
        for (i64 x = 0; x < width_; ++x) {
            const float* sum = &sums[4 * x];
            if (!inside_.empty()) inside_[y * width_ + x] = sum[3] > 0;
            if (factor_ == 1) continue;
            const float share = 1.0f / std::max(sum[3], 1.0f);
            for (int k = 0; k < 3; ++k) means_[3 * (y * width_ + x) + k] = sum[k] * share;
        }
    }

    // Adds the pixels [begin, end) of a row that begins at `first`.
    void add_pixels(i64 begin, i64 end, i64 first, Array<float>& sums) const {
        for (i64 p = begin; p < end;) {
            const i64 x = (p - first) / factor_, stop = std::min(end, first + (x + 1) * factor_);
            float* sum = &sums[4 * x];
            sum[3] += static_cast<float>(stop - p);
            for (; p < stop; ++p)
                for (int k = 0; k < 3; ++k) sum[k] += colours_[3 * p + k];
        }
    }

    Shape full_;
    const float* colours_;
    double scale_;
    i64 factor_, height_, width_;
    Array<float> means_;
    std::vector<char> inside_;  // whether a reduced pixel holds any that is not masked; empty if all do
};

}  // namespace mspp
