// Contrast: texture everywhere, and the strength of the edge where regions touch.
//
// Both are means over squares, from summed-area tables of integers: exact, so that an image can be measured
// in stripes, on any number of threads, with the same result. Masked pixels are in no mean.
#pragma once

#include <array>
#include <cmath>

#include "kernel/pieces.hpp"
#include "kernel/threads.hpp"

namespace mspp {

// Sums over any square in four look-ups, for K values a pixel, over some rows of a slice. The last value is
// 1, and all are 0 where a pixel is masked. Modulo 2^32: a square's own sum fits.
template <int K>
class AreaTable {
  public:
    struct alignas(K * 4) Sums {
        u32 of[K];
    };

    using Values = std::array<i32, K>;

    // Rows first to last - 1; values(y, x) are those of a pixel.
    template <class Fn>
    void build(i64 first, i64 last, i64 width, Fn&& values) {
        first_ = first;
        last_ = last;
        width_ = width;
        row_ = width + 1;
        sums_.resize(static_cast<size_t>((last - first + 1) * row_));
        std::fill_n(sums_.begin(), row_, Sums{});
        for (i64 y = first; y < last; ++y) {
            Sums along{};
            const Sums* above = at(y, 1);
            Sums* here = &sums_[(y + 1 - first) * row_];
            *here++ = Sums{};
            for (i64 x = 0; x < width; ++x) {
                const Values value = values(y, x);
                for (int k = 0; k < K; ++k) along.of[k] += static_cast<u32>(value[k]);
                for (int k = 0; k < K; ++k) here[x].of[k] = above[x].of[k] + along.of[k];
            }
        }
    }

    // OUT means over the square of that radius around (y, x), as much of it as is there; false where nothing
    // is.
    bool mean(i64 y, i64 x, i64 radius, float* mean) const {
        y = std::clamp<i64>(y, first_, last_ - 1);
        x = std::clamp<i64>(x, 0, width_ - 1);
        const i64 top = std::max<i64>(y - radius, first_), bottom = std::min(y + radius + 1, last_);
        const i64 left = std::max<i64>(x - radius, 0), right = std::min(x + radius + 1, width_);
        const Sums sums = box(at(top, 0), at(bottom, 0), left, right);
        const u32 count = sums.of[K - 1];
        if (count == 0) return false;
        const float scale = 1.0f / static_cast<float>(count);
        for (int k = 0; k < K - 1; ++k) mean[k] = static_cast<float>(static_cast<i32>(sums.of[k])) * scale;
        return true;
    }

    // Whether the square of that radius is all there.
    bool holds(i64 y, i64 x, i64 radius) const {
        return y - radius >= first_ && y + radius < last_ && x - radius >= 0 && x + radius < width_;
    }

    // The sum over such a square.
    Sums sum(i64 y, i64 x, i64 radius) const {
        return box(at(y - radius, 0), at(y + radius + 1, 0), x - radius, x + radius + 1);
    }

  private:
    const Sums* at(i64 y, i64 x) const { return &sums_[(y - first_) * row_ + x]; }
    static Sums box(const Sums* top, const Sums* bottom, i64 left, i64 right) {
        Sums sums;
        for (int k = 0; k < K; ++k)
            sums.of[k] = bottom[right].of[k] - top[right].of[k] - bottom[left].of[k] + top[left].of[k];
        return sums;
    }
    i64 first_ = 0, last_ = 0, width_ = 0, row_ = 0;
    Array<Sums> sums_;
};

// Texture everywhere, and the strength of the edge at pixels that touch another region.
struct Contrast {
    Array<float> texture, edge;
};

inline constexpr float kColourSteps = 128;  // of a colour unit, in the summed-area tables

// The distance in colour between the squares to either side of a pixel, the largest over four directions in
// which both are there.
inline float colour_step(const AreaTable<4>& colour, i64 y, i64 x, i64 radius) {
    const i64 directions[4][2] = {{0, radius}, {radius, 0}, {radius, radius}, {radius, -radius}};
    const bool inside = colour.holds(y, x, 2 * radius);
    const u32 area = static_cast<u32>((2 * radius + 1) * (2 * radius + 1));
    const float scale = 1.0f / static_cast<float>(area);
    float largest = 0;
    for (const auto& [dy, dx] : directions) {
        float step[4] = {};
        bool whole = false;
        if (inside) {
            const auto a = colour.sum(y - dy, x - dx, radius), b = colour.sum(y + dy, x + dx, radius);
            whole = a.of[3] == area && b.of[3] == area;
            for (int k = 0; k < 4; ++k)
                step[k] = static_cast<float>(static_cast<i32>(a.of[k] - b.of[k])) * scale;
        }
        if (!whole) {
            float a[3], b[3];
            if (!colour.mean(y - dy, x - dx, radius, a) || !colour.mean(y + dy, x + dx, radius, b)) continue;
            for (int k = 0; k < 3; ++k) step[k] = a[k] - b[k];
        }
        largest = std::max(largest, step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    }
    return std::sqrt(largest);
}

// How far the squares reach. Found on images of 481 x 321; in larger ones the same edges and textures are
// larger too.
struct Reach {
    i64 far, near, fine, coarse;
    explicit Reach(const Shape& shape) {
        const double scale = std::max(1.0, std::sqrt(static_cast<double>(shape.slice()) / (481.0 * 321.0)));
        auto scaled = [&](int radius) { return std::min<i64>(std::lrint(radius * scale), 100); };
        far = scaled(5);
        near = scaled(1);
        fine = scaled(2);
        coarse = scaled(6);
    }
};

// Measures a stripe of rows after the other; each has tables of its own, with as many rows around it as the
// squares reach.
class ContrastMeter {
  public:
    ContrastMeter(const float* colours, const Array<u32>& regions, const Shape& shape, Contrast& contrast)
        : colours_(colours), regions_(regions), shape_(shape), reach_(shape), contrast_(contrast) {}

    void stripe(i64 z, i64 first, i64 last) {
        const float* slice = colours_ + 3 * z * shape_.slice();
        const i64 width = shape_.width;
        auto around = [&](i64 rows) {
            return Range{std::max<i64>(first - rows, 0), std::min(last + rows, shape_.height)};
        };
        const Range texture = around(reach_.coarse + 1);
        const Range wide = around(std::max(2 * reach_.far + 1, reach_.coarse + reach_.fine + 2));
        const u32* regions = regions_.data() + z * shape_.slice();
        colour_.build(wide.begin, wide.end, width, [&](i64 y, i64 x) {
            const i64 p = y * width + x;
            if (regions[p] == kNoRegion) return AreaTable<4>::Values{};
            auto steps = [&](int k) { return static_cast<i32>(slice[3 * p + k] * kColourSteps); };
            return AreaTable<4>::Values{steps(0), steps(1), steps(2), 1};
        });
        rough_.build(texture.begin, texture.end, width, [&](i64 y, i64 x) {
            const i64 p = y * width + x;
            float mean[3];
            if (regions[p] == kNoRegion || !colour_.mean(y, x, reach_.fine, mean))
                return AreaTable<2>::Values{};
            return AreaTable<2>::Values{static_cast<i32>(std::abs(slice[3 * p] * kColourSteps - mean[0])), 1};
        });
        for (i64 y = first; y < last; ++y) measure({z * shape_.slice() + y * width, z, y, 0});
    }

  private:
    void measure(Pixel pixel) {
        for (; pixel.x < shape_.width; ++pixel.x, ++pixel.p) {
            float rough = 0;
            rough_.mean(pixel.y, pixel.x, reach_.coarse, &rough);
            contrast_.texture[pixel.p] = rough / kColourSteps;
            bool border = false;
            pixel.each_touching(shape_, [&](i64 q) { border |= regions_[q] != regions_[pixel.p]; });
            contrast_.edge[pixel.p] = border ? edge(pixel.y, pixel.x) : 0.0f;
        }
    }

    float edge(i64 y, i64 x) const {
        const float steps = colour_step(colour_, y, x, reach_.far) + colour_step(colour_, y, x, reach_.near);
        return steps / (2 * kColourSteps);
    }

    const float* colours_;
    const Array<u32>& regions_;
    const Shape& shape_;
    const Reach reach_;
    Contrast& contrast_;
    AreaTable<4> colour_;
    AreaTable<2> rough_;
};

inline Contrast measure_contrast(const float* colours, const Array<u32>& regions, const Shape& shape,
                                 int n_threads) {
    const i64 rows =
        std::max<i64>(96, 4 * Reach(shape).far);  // of a stripe: well above what it needs around it
    Contrast contrast;
    contrast.texture.resize(static_cast<size_t>(shape.size()));
    contrast.edge.resize(static_cast<size_t>(shape.size()));
    const i64 stripes = (shape.height + rows - 1) / rows;
    const int team = team_size(shape.size(), 1 << 14, n_threads);
    parallel(team, [&](int t) {
        ContrastMeter meter(colours, regions, shape, contrast);
        const Range range = part(stripes * shape.depth, t, team);
        for (i64 k = range.begin; k < range.end; ++k)
            meter.stripe(k / stripes, k % stripes * shape.height / stripes,
                         (k % stripes + 1) * shape.height / stripes);
    });
    return contrast;
}

}  // namespace mspp
