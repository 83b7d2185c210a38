// Contrast: texture everywhere, and the strength of the edge where regions touch.
//
// Both are means over squares, from summed-area tables of integers: exact, so that an image can be measured
// in stripes, on any number of threads, with the same result. Masked pixels are in no mean.
#pragma once

#include <array>
#include <cmath>

#include "kernel/base/threads.hpp"
#include "kernel/image/pieces.hpp"

namespace mspp {

// Some rows and columns, the last ones excluded.
struct Square {
    i64 top, bottom, left, right;
    u32 area() const { return static_cast<u32>((bottom - top) * (right - left)); }
};

inline float mean_of(u32 sum, u32 count) {
    return static_cast<float>(static_cast<i32>(sum)) * (1.0f / static_cast<float>(count));
}

// Sums over any square in four look-ups, for K values a pixel, over some rows of a slice. Modulo 2^32: a
// square's own sum fits.
template <int K>
class AreaTable {
  public:
    struct alignas(K * 4) Sums {
        u32 of[K];
    };

    // Rows first to last - 1; value(y, x, k) is an integer.
    template <class Fn>
    void build(i64 first, i64 last, i64 width, Fn&& value) {
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
                for (int k = 0; k < K; ++k) along.of[k] += static_cast<u32>(value(y, x, k));
                for (int k = 0; k < K; ++k) here[x].of[k] = above[x].of[k] + along.of[k];
            }
        }
    }

    // The square of that radius around (y, x), as much of it as is there.
    Square around(i64 y, i64 x, i64 radius) const {
        y = std::clamp<i64>(y, first_, last_ - 1);
        x = std::clamp<i64>(x, 0, width_ - 1);
        return {std::max<i64>(y - radius, first_), std::min(y + radius + 1, last_),
                std::max<i64>(x - radius, 0), std::min(x + radius + 1, width_)};
    }

    Sums sum(const Square& square) const {
        return box(at(square.top, 0), at(square.bottom, 0), square.left, square.right);
    }

    // Whether the square of that radius is all there.
    bool holds(i64 y, i64 x, i64 radius) const {
        return y - radius >= first_ && y + radius < last_ && x - radius >= 0 && x + radius < width_;
    }

    // The sum over one that is.
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
// which both are there. IN colours, and 1 for each pixel that counts.
template <bool MASKED>
float colour_step(const AreaTable<4>& colour, i64 y, i64 x, i64 radius) {
    const i64 directions[4][2] = {{0, radius}, {radius, 0}, {radius, radius}, {radius, -radius}};
    const bool whole = !MASKED && colour.holds(y, x, 2 * radius);
    const float scale = 1.0f / static_cast<float>((2 * radius + 1) * (2 * radius + 1));
    float largest = 0;
    for (const auto& [dy, dx] : directions) {
        float step[4];
        if (whole) {
            const auto a = colour.sum(y - dy, x - dx, radius), b = colour.sum(y + dy, x + dx, radius);
            for (int k = 0; k < 4; ++k)
                step[k] = static_cast<float>(static_cast<i32>(a.of[k] - b.of[k])) * scale;
        } else {
            const auto a = colour.sum(colour.around(y - dy, x - dx, radius));
            const auto b = colour.sum(colour.around(y + dy, x + dx, radius));
            if (a.of[3] == 0 || b.of[3] == 0) continue;
            for (int k = 0; k < 3; ++k) step[k] = mean_of(a.of[k], a.of[3]) - mean_of(b.of[k], b.of[3]);
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
template <bool MASKED>
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
        auto hidden = [&](i64 p) { return MASKED && regions[p] == kNoRegion; };
        colour_.build(wide.begin, wide.end, width, [&](i64 y, i64 x, int k) {
            const i64 p = y * width + x;
            if (hidden(p)) return 0;
            return k == 3 ? 1 : static_cast<i32>(slice[3 * p + k] * kColourSteps);
        });
        rough_.build(texture.begin, texture.end, width, [&](i64 y, i64 x, int) {
            const i64 p = y * width + x;
            if (hidden(p)) return 0;
            const Square square = colour_.around(y, x, reach_.fine);
            const float mean = mean_of(colour_.sum(square).of[0], counted(square));
            return static_cast<i32>(std::abs(slice[3 * p] * kColourSteps - mean));
        });
        for (i64 y = first; y < last; ++y) measure({z * shape_.slice() + y * width, z, y, 0});
    }

  private:
    void measure(Pixel pixel) {
        for (; pixel.x < shape_.width; ++pixel.x, ++pixel.p) {
            const Square square = rough_.around(pixel.y, pixel.x, reach_.coarse);
            const u32 count = counted(square);
            contrast_.texture[pixel.p] =
                count == 0 ? 0.0f : mean_of(rough_.sum(square).of[0], count) / kColourSteps;
            bool border = false;
            pixel.each_touching(shape_, [&](i64 q) { border |= regions_[q] != regions_[pixel.p]; });
            contrast_.edge[pixel.p] = border ? edge(pixel.y, pixel.x) : 0.0f;
        }
    }

    u32 counted(const Square& square) const { return MASKED ? colour_.sum(square).of[3] : square.area(); }

    float edge(i64 y, i64 x) const {
        const float far = colour_step<MASKED>(colour_, y, x, reach_.far);
        const float near = colour_step<MASKED>(colour_, y, x, reach_.near);
        return (far + near) / (2 * kColourSteps);
    }

    const float* colours_;
    const Array<u32>& regions_;
    const Shape& shape_;
    const Reach reach_;
    Contrast& contrast_;
    AreaTable<4> colour_;
    AreaTable<1> rough_;
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
    auto measure = [&](int t, auto&& meter) {
        const Range range = part(stripes * shape.depth, t, team);
        for (i64 k = range.begin; k < range.end; ++k)
            meter.stripe(k / stripes, k % stripes * shape.height / stripes,
                         (k % stripes + 1) * shape.height / stripes);
    };
    const bool masked = std::find(regions.begin(), regions.end(), kNoRegion) != regions.end();
    parallel(team, [&](int t) {
        if (masked)
            measure(t, ContrastMeter<true>(colours, regions, shape, contrast));
        else
            measure(t, ContrastMeter<false>(colours, regions, shape, contrast));
    });
    return contrast;
}

}  // namespace mspp
