// Measurements of the learned stage in a stripe of a reduced image: how much colours, their spread and the
// texture change across a pixel, and which colours and gradients a region has.
//
// All are means over squares from summed-area tables of integers, so stripes do not change them. Masked
// pixels are not in any mean.
#pragma once

#include <array>
#include <cmath>

#include "kernel/image/reduced.hpp"
#include "kernel/image/sliding_table.hpp"

namespace mspp {

// Steps between the squares on either side of a pixel: the largest over four directions, of each by itself.
enum BorderChannel { kColour5, kColour10, kFisher5, kFisher10, kChroma5, kTexture10, kBorderChannels };
using BorderSteps = std::array<float, kBorderChannels>;

// Counts of the pixels of a region, in groups of four bins: lightness, two chroma axes, fine gradients, and
// coarse ones. A colour counts 256, shared between the two nearest bins of its axis.
struct RegionCounts {
    static constexpr int kLight = 0, kChromaA = 12, kChromaB = 24, kFine = 36, kCoarse = 52, kSize = 68;
    std::array<u32, kSize> of{};
    u32 pixels = 0;
    void add(const RegionCounts& other) {
        for (int k = 0; k < kSize; ++k) of[k] += other.of[k];
        pixels += other.pixels;
    }
};

template <bool MASKED>
class BorderMeter {
  public:
    explicit BorderMeter(const ReducedImage& image)
        : image_(image),
          near_(image.scaled(5)),
          far_(image.scaled(10)),
          smooth_(image.scaled(2)),
          apart_(image.scaled(3)) {}

    // Starts a stripe: the first row to select is `first`.
    void start(i64 first) {
        const i64 reach = 2 * far_, width = image_.width();
        texture_.start(std::max<i64>(first - reach, 0), 2 * reach + 1, 0, width);
        const i64 above = std::max<i64>(first - reach - smooth_, 0);
        colour_.start(above, 2 * reach + smooth_ + 1, 0, width);
        if (MASKED) count_.start(above, 2 * reach + smooth_ + 1, 0, width);
        light_.resize(static_cast<size_t>((smooth_ + 2) * width));
        smooth_light_.resize(static_cast<size_t>((reach + apart_ + 1) * width));
    }

    // Selects the row of the pixels that follow: the first, then each next one.
    void select(i64 y) {
        const i64 height = image_.height();
        while (texture_.next() < std::min(y + 2 * far_ + 1, height)) {
            while (colour_.next() < std::min(texture_.next() + smooth_ + 1, height)) add_colours();
            const i64 row = texture_.next();
            texture_.add_filled_row([&](Sums* texture) { fill_texture(row, texture); });
        }
        y_ = y;
        for (int k = 0; k < 3; ++k) smooth_rows_[k] = &smooth_light_[smooth_row(y + (k - 1) * apart_)];
        near_rows_ = colour_near_.select(colour_, y, near_, height);
        far_rows_ = colour_far_.select(colour_, y, far_, height);
        texture_far_.select(texture_, y, far_, height);
    }

    BorderSteps steps(i64 x) const {
        BorderSteps largest{};
        auto fits = [&](bool rows, i64 radius) {
            return !MASKED && rows && x >= 2 * radius && x + 2 * radius < image_.width();
        };
        if (fits(near_rows_, near_))
            each_whole_pair(near_, x, [&](const Box& p, const Box& q) {
                add_near(colour_near_.means(p), colour_near_.means(q), largest);
            });
        else
            each_pair(near_, x, [&](i64 top, i64 left, i64 bottom, i64 right) {
                const Means p = square(colour_, top, left, near_), q = square(colour_, bottom, right, near_);
                if (p.known && q.known) add_near(p, q, largest);
            });
        if (fits(far_rows_, far_))
            each_whole_pair(far_, x, [&](const Box& p, const Box& q) {
                add_far(colour_far_.means(p), colour_far_.means(q), largest);
                add_texture(texture_far_.means(p), texture_far_.means(q), largest);
            });
        else
            each_pair(far_, x, [&](i64 top, i64 left, i64 bottom, i64 right) {
                const Means p = square(colour_, top, left, far_), q = square(colour_, bottom, right, far_);
                if (!p.known || !q.known) return;
                add_far(p, q, largest);
                add_texture(square(texture_, top, left, far_), square(texture_, bottom, right, far_),
                            largest);
            });
        for (float& step : largest) step = std::sqrt(step);
        return largest;
    }

    // Counts a pixel of the selected row; its row and column are even.
    void count(i64 y, i64 x, RegionCounts& counts) const {
        const float* colour = image_.at(y, x);
        ++counts.pixels;
        share(colour[0] * 0.12f, &counts.of[RegionCounts::kLight]);
        share((colour[1] + 48) * 0.125f, &counts.of[RegionCounts::kChromaA]);
        share((colour[2] + 48) * 0.125f, &counts.of[RegionCounts::kChromaB]);
        const float here = colour[0];
        ++counts.of[RegionCounts::kFine + gradient_bin(light(y, x + 1, here) - light(y, x - 1, here),
                                                       light(y + 1, x, here) - light(y - 1, x, here))];
        ++counts.of[RegionCounts::kCoarse +
                    gradient_bin(smooth_rows_[1][std::min(x + apart_, image_.width() - 1)] -
                                     smooth_rows_[1][std::max<i64>(x - apart_, 0)],
                                 smooth_rows_[2][x] - smooth_rows_[0][x])];
    }

  private:
    static constexpr float kSteps = 64, kEnergySteps = 8;  // per unit of colour, and of its square
    using Table = SlidingTable<4>;
    using Sums = Table::Sums;
    struct Means {
        float of[4];
        bool known;
    };

    // A square within the image: the numbers of its first and last row among the selected ones.
    struct Box {
        int top, bottom;
        i64 left;
    };

    // The entries above and below the squares around a row.
    struct WholeSquares {
        const Sums* rows[6];
        i64 side;
        float share;
        // Returns whether the image holds all rows of the squares.
        bool select(const Table& table, i64 y, i64 radius, i64 height) {
            if (y < 2 * radius || y + 2 * radius >= height) return false;
            const i64 edges[6] = {y - 2 * radius, y - radius, y, y + 1, y + radius + 1, y + 2 * radius + 1};
            for (int k = 0; k < 6; ++k) rows[k] = table.above(edges[k]);
            side = 2 * radius + 1;
            share = 1.0f / static_cast<float>(side * side);
            return true;
        }
        [[gnu::always_inline]] Means means(const Box& box) const {
            const Sums *high = rows[box.top] + box.left, *low = rows[box.bottom] + box.left;
            Means means;
            for (int k = 0; k < 4; ++k) {
                const u32 sum = (low[side].of[k] - high[side].of[k]) - (low[0].of[k] - high[0].of[k]);
                means.of[k] = static_cast<float>(static_cast<i32>(sum)) * share;
            }
            means.known = true;
            return means;
        }
    };

    // Calls fn(p, q) for the squares on either side of a pixel in four directions.
    template <class Fn>
    [[gnu::always_inline]] static void each_whole_pair(i64 r, i64 x, Fn&& fn) {
        fn(Box{1, 4, x - 2 * r}, Box{1, 4, x});
        fn(Box{0, 3, x - r}, Box{2, 5, x - r});
        fn(Box{0, 3, x - 2 * r}, Box{2, 5, x});
        fn(Box{0, 3, x}, Box{2, 5, x - 2 * r});
    }

    // Calls fn with the middles of these squares.
    template <class Fn>
    void each_pair(i64 r, i64 x, Fn&& fn) const {
        fn(y_, x - r, y_, x + r);
        fn(y_ - r, x, y_ + r, x);
        fn(y_ - r, x - r, y_ + r, x + r);
        fn(y_ - r, x + r, y_ + r, x - r);
    }

    bool inside(i64 y, i64 x) const { return !MASKED || image_.inside(y, x); }

    static float energy(float L, float a, float b) { return 0.5f * L * L + a * a + b * b; }

    void add_colours() {
        const i64 y = colour_.next();
        const float* colours = image_.at(y, 0);
        if (MASKED) count_.add_row([&](i64 x, int) { return inside(y, x); });
        float* light = light_row(y);
        for (i64 x = 0; x < image_.width(); ++x) light[x] = colours[3 * x];
        colour_.add_filled_row([&](Sums* row) {
            for (i64 x = 0; x < image_.width(); ++x) {
                const float* of = colours + 3 * x;
                for (int k = 0; k < 3; ++k) row[x].of[k] = rounded(of[k] * kSteps);
                row[x].of[3] = rounded(energy(of[0], of[1], of[2]) * kEnergySteps);
                if (MASKED && !inside(y, x)) row[x] = Sums{};
            }
        });
    }

    // To the nearest integer, modulo 2^32. IN above -2^16.
    static u32 rounded(float value) { return static_cast<u32>(static_cast<i32>(value + 65536.5f) - 65536); }

    // The lightness of a pixel, or `otherwise` beyond the image or the mask.
    float light(i64 y, i64 x, float otherwise) const {
        const bool known = y >= 0 && x >= 0 && y < image_.height() && x < image_.width() && inside(y, x);
        return known ? image_.at(y, x)[0] : otherwise;
    }

    float* light_row(i64 y) { return &light_[y % (smooth_ + 2) * image_.width()]; }

    // Where the nearest row of the image begins in the ring of smooth rows.
    i64 smooth_row(i64 y) const {
        return std::clamp<i64>(y, 0, image_.height() - 1) % (2 * far_ + apart_ + 1) * image_.width();
    }

    // Four measures of texture: differences along three directions, and to the mean nearby.
    struct TextureInput {
        float left, right, above, below, falling, rising, here, mean;
        void fill(Sums& out) const {
            out.of[0] = rounded(std::abs(right - left) * kSteps);
            out.of[1] = rounded(std::abs(below - above) * kSteps);
            out.of[2] = rounded((falling + rising) * (kSteps / 2));
            out.of[3] = rounded(std::abs(here - mean) * (2 * kSteps));
        }
    };

    void fill_texture(i64 y, Sums* row) {
        const i64 width = image_.width(), r = smooth_;
        if (MASKED || y < std::max<i64>(r, 1) || y + std::max<i64>(r, 1) >= image_.height()) {
            for (i64 x = 0; x < width; ++x) fill_at_border(y, x, row[x]);
            return;
        }
        const i64 margin = std::min(std::max<i64>(r, 1), width);
        for (i64 x = 0; x < margin; ++x) {
            fill_at_border(y, x, row[x]);
            fill_at_border(y, width - 1 - x, row[width - 1 - x]);
        }
        const float *above = light_row(y - 1), *here = light_row(y), *below = light_row(y + 1);
        const Sums *high = colour_.above(y - r), *low = colour_.above(y + r + 1);
        const float share = 1 / static_cast<float>((2 * r + 1) * (2 * r + 1));
        float* smooth = &smooth_light_[smooth_row(y)];
        for (i64 x = margin; x < width - margin; ++x) {
            const u32 sum =
                (low[x + r + 1].of[0] - high[x + r + 1].of[0]) - (low[x - r].of[0] - high[x - r].of[0]);
            smooth[x] = static_cast<float>(static_cast<i32>(sum)) * share * (1 / kSteps);
            const TextureInput input{here[x - 1],
                                     here[x + 1],
                                     above[x],
                                     below[x],
                                     std::abs(below[x + 1] - above[x - 1]),
                                     std::abs(below[x - 1] - above[x + 1]),
                                     here[x],
                                     smooth[x]};
            input.fill(row[x]);
        }
    }

    void fill_at_border(i64 y, i64 x, Sums& out) {
        const float mean = square(colour_, y, x, smooth_).of[0] * (1 / kSteps);
        smooth_light_[smooth_row(y) + x] = mean;
        if (!inside(y, x)) {
            out = Sums{};
            return;
        }
        const float here = image_.at(y, x)[0];
        auto at = [&](i64 dy, i64 dx) { return light(y + dy, x + dx, here); };
        const TextureInput input{at(0, -1),
                                 at(0, 1),
                                 at(-1, 0),
                                 at(1, 0),
                                 std::abs(at(1, 1) - at(-1, -1)),
                                 std::abs(at(1, -1) - at(-1, 1)),
                                 here,
                                 mean};
        input.fill(out);
    }

    // The means over the square around the pixel of the image that is nearest to (y, x).
    Means square(const Table& table, i64 y, i64 x, i64 radius) const {
        y = std::clamp<i64>(y, 0, image_.height() - 1);
        x = std::clamp<i64>(x, 0, image_.width() - 1);
        const i64 left = std::max<i64>(x - radius, 0), right = std::min(x + radius + 1, image_.width()),
                  top = std::max<i64>(y - radius, 0), bottom = std::min(y + radius + 1, image_.height());
        const Sums sums = table.sum(top, bottom, left, right);
        const i64 pixels =
            MASKED ? count_.sum(top, bottom, left, right).of[0] : (bottom - top) * (right - left);
        const float share = 1.0f / static_cast<float>(std::max<i64>(pixels, 1));
        Means means;
        for (int k = 0; k < 4; ++k) means.of[k] = static_cast<float>(static_cast<i32>(sums.of[k])) * share;
        means.known = pixels > 0;
        return means;
    }

    // The squared steps of colour, of chroma and of colour by its spread.
    struct ColourSteps3 {
        float colour, chroma, fisher;
    };
    [[gnu::always_inline]] static ColourSteps3 colour_steps(const Means& p, const Means& q) {
        float step[3];
        for (int k = 0; k < 3; ++k) step[k] = (p.of[k] - q.of[k]) * (1 / kSteps);
        auto spread = [](const Means& m) {
            return m.of[3] * (1 / kEnergySteps) - energy(m.of[0], m.of[1], m.of[2]) * (1 / (kSteps * kSteps));
        };
        const float chroma = step[1] * step[1] + step[2] * step[2], light = step[0] * step[0];
        return {light + chroma, chroma,
                (0.5f * light + chroma) / (std::max(spread(p) + spread(q), 0.0f) + 4.0f)};
    }

    [[gnu::always_inline]] static void add_near(const Means& p, const Means& q, BorderSteps& largest) {
        const ColourSteps3 steps = colour_steps(p, q);
        largest[kColour5] = std::max(largest[kColour5], steps.colour);
        largest[kChroma5] = std::max(largest[kChroma5], steps.chroma);
        largest[kFisher5] = std::max(largest[kFisher5], steps.fisher);
    }

    [[gnu::always_inline]] static void add_far(const Means& p, const Means& q, BorderSteps& largest) {
        const ColourSteps3 steps = colour_steps(p, q);
        largest[kColour10] = std::max(largest[kColour10], steps.colour);
        largest[kFisher10] = std::max(largest[kFisher10], steps.fisher);
    }

    [[gnu::always_inline]] static void add_texture(const Means& p, const Means& q, BorderSteps& largest) {
        float ratio[4];
        for (int k = 0; k < 4; ++k) {
            const float step = p.of[k] - q.of[k];
            ratio[k] = step * step / (p.of[k] + q.of[k] + kSteps);
        }
        largest[kTexture10] =
            std::max(largest[kTexture10], ((ratio[0] + ratio[1]) + (ratio[2] + ratio[3])) * (1 / kSteps));
    }

    // Shares 256 between the two bins of twelve around a position. IN position: in bins, of the left border.
    static void share(float position, u32* bins) {
        const float place = std::min(std::max(position - 0.5f, 0.0f), 10.999f);
        const i32 bin = static_cast<i32>(place);
        const u32 right = static_cast<u32>((place - static_cast<float>(bin)) * 256);
        bins[bin] += 256 - right;
        bins[bin + 1] += right;
    }

    // 0 for a weak gradient; otherwise one of three strengths and four directions. Without branches, which
    // textures would mispredict.
    static int gradient_bin(float gx, float gy) {
        constexpr float tangent = 0.41421356f;  // of 22.5 degrees
        const float square = gx * gx + gy * gy, across = std::abs(gx), down = std::abs(gy);
        const int strength = (square >= 36) + (square >= 256);
        const int flat = down < tangent * across, steep = across < tangent * down, rising = gx * gy > 0;
        const int direction = 2 * steep + (1 - flat - steep) * (3 - 2 * rising);
        return (square >= 4) * (1 + 4 * strength + direction);
    }

    const ReducedImage& image_;
    const i64 near_, far_, smooth_, apart_;  // radii of squares, and the distance of coarse gradients
    Table colour_;                           // three colours, and 0.5 L^2 + a^2 + b^2
    Table texture_;
    SlidingTable<1> count_;  // of the pixels that are not masked
    i64 y_ = 0;
    bool near_rows_ = false, far_rows_ = false;  // whether the image holds all rows of the squares
    WholeSquares colour_near_, colour_far_, texture_far_;
    Array<float> light_;             // the lightness of pixels: a ring of rows
    Array<float> smooth_light_;      // the mean lightness of the squares around pixels: a ring of rows
    const float* smooth_rows_[3]{};  // of it: at some distance above, here, and below
};

}  // namespace mspp
