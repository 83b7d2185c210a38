// The features of a border that the learned cost compares with thresholds.
//
// They use only operations that IEEE 754 rounds correctly, so that every platform merges alike. The table was
// trained on them as they are here: a change of a feature needs a new table.
#pragma once

#include <cmath>

#include "kernel/image/learned_regions.hpp"
#include "kernel/image/merge_table.hpp"

namespace mspp {

class MergeFeatures {
  public:
    // IN the weights of three colours and the texture, and all regions together.
    MergeFeatures(const std::array<double, 4>& weight, const Region& image, double frame, double scale)
        : weight_(weight), pixels_(image.n), frame_(frame), scale_(scale) {
        const double spread = image.variance / 225;  // relative to a standard deviation of 15
        unit10_ = kUnit10 * spread * spread * spread * std::sqrt(spread);
    }

    // The hand-made cost of RegionGraph to the power 2.5, in units of its default cut.
    double plain_cost(const Region& a, const Region& b, double length, double strength) const {
        const double size = 1000 * (a.n * b.n / (a.n + b.n)) / pixels_;
        const double shared = length / std::min(a.border, b.border) + 0.02, z = strength / length;
        const double base = size * distance(a, b), base2 = base * base, z2 = z * z, z4 = z2 * z2;
        return std::sqrt(std::sqrt(base2 * base2 * base * (z4 * z4 * z2) / (shared * shared) / unit10_));
    }

    // OUT a lane of the batch. IN a: the smaller region.
    void fill(const LearnedRegion& a, const LearnedRegion& b, const LearnedBorder& border,
              FeatureBatch& batch, int lane) const {
        int feature = 0;
        auto add = [&](double value) { batch.set(lane, feature++, value); };
        add_sizes(a, b, border, add);
        add_appearance(a, b, add);
        add_steps(border, add);
        add_context(a, b, border, add);
        add_shape(a, b, border, add);
    }

  private:
    static constexpr double kUnit2 = 854.0 * 854.0, kUnit10 = kUnit2 * kUnit2 * kUnit2 * kUnit2 * kUnit2;

    double distance(const Region& a, const Region& b) const {
        double sum = 0;
        for (int k = 0; k < 4; ++k) sum += weight_[k] * (a.mean[k] - b.mean[k]) * (a.mean[k] - b.mean[k]);
        return sum / (1 + (a.variance + b.variance) / 220);
    }

    // Half the chi-squared distance of the shares in [first, last).
    static double chi_squared(const LearnedRegion& a, const LearnedRegion& b, int first, int last) {
        float sum[4] = {};
        for (int k = first; k < last; k += 4)
            for (int i = 0; i < 4; ++i) {
                const float p = a.shares[k + i], q = b.shares[k + i], step = p - q;
                sum[i] += step * step / (p + q + 1e-9f);
            }
        return 0.5 * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }

    template <class Add>
    void add_sizes(const LearnedRegion& a, const LearnedRegion& b, const LearnedBorder& border,
                   Add&& add) const {
        add(a.stats.n / pixels_);
        add(b.stats.n / pixels_);
        add(border.length / a.perimeter());
        add(border.length / b.perimeter());
        add(border.length / std::sqrt(a.stats.n));
    }

    template <class Add>
    void add_appearance(const LearnedRegion& a, const LearnedRegion& b, Add&& add) const {
        const auto &p = a.stats.mean, &q = b.stats.mean;
        add(std::abs(p[0] - q[0]));
        // Grey pictures in three channels have a chroma of rounding errors.
        const double chroma = (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]);
        add(std::max(std::sqrt(chroma), 0.1));
        add(std::sqrt(distance(a.stats, b.stats)));
        add(chi_squared(a, b, RegionCounts::kLight, RegionCounts::kChromaA));
        add(chi_squared(a, b, RegionCounts::kChromaA, RegionCounts::kFine));
        add(chi_squared(a, b, RegionCounts::kFine, RegionCounts::kCoarse));
        add(chi_squared(a, b, RegionCounts::kCoarse, RegionCounts::kSize));
        const double smooth = std::min(p[3], q[3]), rough = std::max(p[3], q[3]);
        add((rough + 0.5) / (smooth + 0.5));
        add(smooth);
        add(rough);
    }

    template <class Add>
    static void add_steps(const LearnedBorder& border, Add&& add) {
        auto mean = [&](int channel) { return border.steps[channel] / border.length; };
        add(std::max(2 * border.strength / border.length - mean(kColour5), 0.0));  // the step at radius 1
        for (const int channel : {kColour5, kColour10, kFisher5, kFisher10, kChroma5, kTexture10})
            add(mean(channel));
    }

    template <class Add>
    void add_context(const LearnedRegion& a, const LearnedRegion& b, const LearnedBorder& border,
                     Add&& add) const {
        add(a.frame / frame_);
        add(b.frame / frame_);
        const i64 width = std::max(a.right, b.right) - std::min(a.left, b.left),
                  height = std::max(a.bottom, b.bottom) - std::min(a.top, b.top);
        add((a.stats.n + b.stats.n) / static_cast<double>(width * height));
        add(plain_cost(a.stats, b.stats, border.length, border.strength));
        const double z = border.strength / border.length;
        for (const LearnedRegion* side : {&a, &b})
            add(z / (side->dissolved_strength / std::max(side->dissolved, 1.0) + 1));
        add(a.costliest);
        add(b.costliest);
    }

    template <class Add>
    void add_shape(const LearnedRegion& a, const LearnedRegion& b, const LearnedBorder& border,
                   Add&& add) const {
        add(std::sqrt(a.stats.variance));
        add(std::sqrt(b.stats.variance));
        const double dx = a.x / a.stats.n - b.x / b.stats.n, dy = a.y / a.stats.n - b.y / b.stats.n;
        add(std::sqrt((dx * dx + dy * dy) / pixels_));
        const double L = border.length, z = border.strength / L;
        add(std::sqrt(std::max(border.squared_strength / L - z * z, 0.0)) / (z + 1));
        const double pixel = scale_ * scale_, mx = border.x / L, my = border.y / L;
        const double xx = std::max(border.xx / L - mx * mx, 0.0) / pixel,
                     yy = std::max(border.yy / L - my * my, 0.0) / pixel,
                     xy = (border.xy / L - mx * my) / pixel;
        const double middle = (xx + yy) / 2, half = (xx - yy) / 2, radius = std::sqrt(half * half + xy * xy);
        const double longest = middle + radius, shortest = std::max(middle - radius, 0.0);
        add(std::sqrt((shortest + 0.1) / (longest + 0.1)));
        add(L / scale_ / std::sqrt(12 * longest + 1));
        const double joint = (a.perimeter() + b.perimeter() - 2 * L) / std::sqrt(a.stats.n + b.stats.n);
        add(joint);
        add(joint - std::max(a.perimeter() / std::sqrt(a.stats.n), b.perimeter() / std::sqrt(b.stats.n)));
    }

    std::array<double, 4> weight_;
    double pixels_, frame_, scale_;
    double unit10_;  // the hand-made cost of the default cut to the power 10
};

}  // namespace mspp
