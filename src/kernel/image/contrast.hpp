// Contrast: the texture at every pixel, and the strength of the edge where regions touch.
//
// Both are means over squares, from summed-area tables of integers. These are exact, so an image can be
// measured in stripes, on any number of threads, with the same result. Masked pixels are not in any mean.
#pragma once

#include <cmath>

#include "kernel/base/threads.hpp"
#include "kernel/image/area_table.hpp"
#include "kernel/image/pixels.hpp"

namespace mspp {

struct Contrast {
    Array<float> texture;  // (N,)
    Array<float> edge;     // (N,), 0 at pixels that do not touch another region
};

inline constexpr float kColourSteps = 128;  // steps per colour unit in the tables

inline float mean_of(u32 sum, u32 count) {
    return static_cast<float>(static_cast<i32>(sum)) * (1.0f / static_cast<float>(count));
}

// The colour distance between the squares on either side of a pixel: the largest over four directions in
// which both squares hold pixels. IN a table of three colours, and 1 for each pixel that is not masked.
template <bool MASKED>
float colour_step(const AreaTable<4>& colour, i64 y, i64 x, i64 radius) {
    const i64 directions[4][2] = {{0, radius}, {radius, 0}, {radius, radius}, {radius, -radius}};
    const bool whole = !MASKED && colour.holds(y, x, 2 * radius);
    const float scale = 1.0f / static_cast<float>((2 * radius + 1) * (2 * radius + 1));
    float largest = 0;
    for (const auto& [dy, dx] : directions) {
        float step[4];
        if (whole) {
            const auto a = colour.sum_square(y - dy, x - dx, radius);
            const auto b = colour.sum_square(y + dy, x + dx, radius);
            for (int k = 0; k < 4; ++k)
                step[k] = static_cast<float>(static_cast<i32>(a.of[k] - b.of[k])) * scale;
        } else {
            const auto a = colour.sum(colour.square(y - dy, x - dx, radius));
            const auto b = colour.sum(colour.square(y + dy, x + dx, radius));
            if (a.of[3] == 0 || b.of[3] == 0) continue;
            for (int k = 0; k < 3; ++k) step[k] = mean_of(a.of[k], a.of[3]) - mean_of(b.of[k], b.of[3]);
        }
        largest = std::max(largest, step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    }
    return std::sqrt(largest);
}

// The radii of the squares, in pixels. They were tuned on images of 481 x 321; in larger images the same
// edges and textures are larger too.
struct Radii {
    i64 far, near;     // of the two edges
    i64 fine, coarse;  // of the two means of a texture
    explicit Radii(const Shape& shape) {
        const double scale = std::max(1.0, std::sqrt(static_cast<double>(shape.slice()) / (481.0 * 321.0)));
        auto scaled = [&](int radius) { return std::min<i64>(std::lrint(radius * scale), 100); };
        far = scaled(5);
        near = scaled(1);
        fine = scaled(2);
        coarse = scaled(6);
    }
};

// Measures an image one stripe of rows after the other. The tables of a stripe hold as many rows around it as
// the squares need.
template <bool MASKED>
class ContrastMeter {
  public:
    ContrastMeter(const float* colours, const Array<u32>& regions, const Shape& shape, Contrast& contrast)
        : colours_(colours), regions_(regions), shape_(shape), radii_(shape), contrast_(contrast) {}

    // OUT the contrast of rows first to last - 1 of slice z.
    void measure_stripe(i64 z, i64 first, i64 last) {
        const float* slice = colours_ + 3 * z * shape_.slice();
        const i64 width = shape_.width;
        auto rows_around = [&](i64 rows) {
            return Range{std::max<i64>(first - rows, 0), std::min(last + rows, shape_.height)};
        };
        const Range texture = rows_around(radii_.coarse + 1);
        const Range wide = rows_around(std::max(2 * radii_.far + 1, radii_.coarse + radii_.fine + 2));
        const u32* regions = regions_.data() + z * shape_.slice();
        auto is_masked = [&](i64 p) { return MASKED && regions[p] == kNoRegion; };
        colour_.build(wide.begin, wide.end, width, [&](i64 y, i64 x, int k) {
            const i64 p = y * width + x;
            if (is_masked(p)) return 0;
            return k == 3 ? 1 : static_cast<i32>(slice[3 * p + k] * kColourSteps);
        });
        roughness_.build(texture.begin, texture.end, width, [&](i64 y, i64 x, int) {
            const i64 p = y * width + x;
            if (is_masked(p)) return 0;
            const Rect square = colour_.square(y, x, radii_.fine);
            const float mean = mean_of(colour_.sum(square).of[0], count_pixels(square));
            return static_cast<i32>(std::abs(slice[3 * p] * kColourSteps - mean));
        });
        for (i64 y = first; y < last; ++y) measure_row({z * shape_.slice() + y * width, z, y, 0});
    }

  private:
    void measure_row(Pixel pixel) {
        for (; pixel.x < shape_.width; ++pixel.x, ++pixel.p) {
            const Rect square = roughness_.square(pixel.y, pixel.x, radii_.coarse);
            const u32 count = count_pixels(square);
            contrast_.texture[pixel.p] =
                count == 0 ? 0.0f : mean_of(roughness_.sum(square).of[0], count) / kColourSteps;
            bool border = false;
            pixel.each_touching(shape_, [&](i64 q) { border |= regions_[q] != regions_[pixel.p]; });
            contrast_.edge[pixel.p] = border ? edge_strength(pixel.y, pixel.x) : 0.0f;
        }
    }

    u32 count_pixels(const Rect& square) const {
        return MASKED ? colour_.sum(square).of[3] : static_cast<u32>(square.area());
    }

    float edge_strength(i64 y, i64 x) const {
        const float far = colour_step<MASKED>(colour_, y, x, radii_.far);
        const float near = colour_step<MASKED>(colour_, y, x, radii_.near);
        return (far + near) / (2 * kColourSteps);
    }

    const float* colours_;
    const Array<u32>& regions_;
    const Shape& shape_;
    const Radii radii_;
    Contrast& contrast_;
    AreaTable<4> colour_;     // three colours, and 1 for each pixel that is not masked
    AreaTable<1> roughness_;  // the distance of the first colour to its mean nearby
};

// IN colours (N, 3), regions (N,), kNoRegion for masked pixels.
inline Contrast measure_contrast(const float* colours, const Array<u32>& regions, const Shape& shape,
                                 int n_threads) {
    const i64 rows =
        std::max<i64>(96, 4 * Radii(shape).far);  // of a stripe: many more than it needs around it
    Contrast contrast;
    contrast.texture.resize(static_cast<size_t>(shape.size()));
    contrast.edge.resize(static_cast<size_t>(shape.size()));
    const i64 stripes = (shape.height + rows - 1) / rows;
    const int team = team_size(shape.size(), 1 << 14, n_threads);
    auto measure = [&](int t, auto&& meter) {
        const Range range = part(stripes * shape.depth, t, team);
        for (i64 k = range.begin; k < range.end; ++k)
            meter.measure_stripe(k / stripes, k % stripes * shape.height / stripes,
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
