// Contrast: the texture at every pixel, and the strength of the edge where regions touch.
//
// Both are means over squares, from summed-area tables of integers. These are exact, so an image can be
// measured in tiles, on any number of threads, with the same result. Masked pixels are not in any mean.
#pragma once

#include <atomic>
#include <cmath>

#include "kernel/image/runs.hpp"
#include "kernel/image/sliding_table.hpp"

namespace mspp {

struct Contrast {
    Array<float> texture;  // (N,)
    Array<float> edge;     // (N,), not set at pixels that do not touch another region
};

inline constexpr float kColourSteps = 128;  // steps per colour unit in the tables

// IN sum and count below 2^31. The mean of no pixels is 0.
inline float mean_of(u32 sum, u32 count) {
    const i32 divisor = std::max<i32>(static_cast<i32>(count), 1);
    return static_cast<float>(static_cast<i32>(sum)) * (1.0f / static_cast<float>(divisor));
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
    // How far from a pixel its contrast reaches.
    i64 reach() const { return std::max(2 * far, coarse + fine) + 1; }
};

// The colours of an image in a table: the distances between squares on either side of a pixel.
template <bool MASKED>
class ColourSteps {
  public:
    using Table = SlidingTable<4>;  // three colours, and 1 for each pixel that is not masked
    ColourSteps(const Table& table, const Shape& shape, i64 radius)
        : table_(table),
          shape_(shape),
          radius_(radius),
          scale_(1.0f / static_cast<float>((2 * radius + 1) * (2 * radius + 1))) {}

    // Selects the row of the pixels that follow.
    void select(i64 y) {
        y_ = y;
        whole_ = !MASKED && y >= 2 * radius_ && y + 2 * radius_ < shape_.height;
        if (!whole_) return;
        const i64 edges[6] = {y - 2 * radius_, y - radius_, y, y + 1, y + radius_ + 1, y + 2 * radius_ + 1};
        for (int k = 0; k < 6; ++k) rows_[k] = table_.above(edges[k]);
    }

    // The colour distance between the squares on either side of a pixel: the largest over four directions in
    // which both squares hold pixels.
    float at(i64 x) const {
        const bool whole = whole_ && x >= 2 * radius_ && x + 2 * radius_ < shape_.width;
        return std::sqrt(whole ? largest_whole(x - table_.left()) : largest_clipped(x));
    }

  private:
    using Sums = Table::Sums;

    // IN x: the column in the table.
    float largest_whole(i64 x) const {
        const i64 r = radius_;
        const float along = distance(1, 4, x - 2 * r, 1, 4, x), across = distance(0, 3, x - r, 2, 5, x - r);
        const float down = distance(0, 3, x - 2 * r, 2, 5, x), up = distance(2, 5, x - 2 * r, 0, 3, x);
        return std::max(std::max(along, across), std::max(down, up));
    }

    // The squared distance between two whole squares: the rows of entries above and below, and the left
    // column.
    [[gnu::always_inline]] float distance(int top, int bottom, i64 left, int top2, int bottom2,
                                          i64 left2) const {
        const i64 side = 2 * radius_ + 1;
        const Sums *a = rows_[top] + left, *b = rows_[bottom] + left, *c = rows_[top2] + left2,
                   *d = rows_[bottom2] + left2;
        float step[4];
        for (int k = 0; k < 4; ++k) {
            const u32 first = (b[side].of[k] - a[side].of[k]) - (b[0].of[k] - a[0].of[k]);
            const u32 second = (d[side].of[k] - c[side].of[k]) - (d[0].of[k] - c[0].of[k]);
            step[k] = static_cast<float>(static_cast<i32>(first - second)) * scale_;
        }
        return step[0] * step[0] + step[1] * step[1] + step[2] * step[2];
    }

    float largest_clipped(i64 x) const {
        const i64 directions[4][2] = {{0, radius_}, {radius_, 0}, {radius_, radius_}, {radius_, -radius_}};
        float largest = 0;
        for (const auto& [dy, dx] : directions) {
            const Sums a = clipped_square(y_ - dy, x - dx), b = clipped_square(y_ + dy, x + dx);
            if (a.of[3] == 0 || b.of[3] == 0) continue;
            float step[3];
            for (int k = 0; k < 3; ++k) step[k] = mean_of(a.of[k], a.of[3]) - mean_of(b.of[k], b.of[3]);
            largest = std::max(largest, step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        }
        return largest;
    }

    // The sum over the square around the pixel of the image that is nearest to (y, x).
    Sums clipped_square(i64 y, i64 x) const {
        y = std::clamp<i64>(y, 0, shape_.height - 1);
        x = std::clamp<i64>(x, 0, shape_.width - 1);
        return table_.sum(std::max<i64>(y - radius_, 0), std::min(y + radius_ + 1, shape_.height),
                          std::max<i64>(x - radius_, 0), std::min(x + radius_ + 1, shape_.width));
    }

    const Table& table_;
    const Shape& shape_;
    const i64 radius_;
    const float scale_;
    i64 y_ = 0;
    bool whole_ = false;     // whether the image holds all rows of the squares
    const Sums* rows_[6]{};  // the entries above and below them
};

// The sums over the squares around all pixels of a row.
class SquareSums {
  public:
    // IN k: which integer of the table. The squares are clipped to the image.
    template <int K>
    void measure(const SlidingTable<K>& table, int k, const Shape& shape, i64 y, i64 radius,
                 const Range& columns) {
        shift_ = 2 * radius + 1;
        before_.resize(static_cast<size_t>(columns.size() + shift_));
        const auto* high = table.above(std::max<i64>(y - radius, 0));
        const auto* low = table.above(std::min(y + radius + 1, shape.height));
        const i64 first = columns.begin - radius;
        const Range inside{std::max<i64>(first, 0), std::min(columns.end + radius, shape.width)};
        auto entry = [&](i64 x) { return low[x - table.left()].of[k] - high[x - table.left()].of[k]; };
        u32* before = before_.data();
        std::fill_n(before, inside.begin - first, entry(inside.begin));
        for (i64 x = inside.begin; x <= inside.end; ++x) before[x - first] = entry(x);
        std::fill(before + (inside.end - first), before + before_.size(), entry(inside.end));
    }
    // Of the i-th column.
    u32 operator[](i64 i) const { return before_[i + shift_] - before_[i]; }

  private:
    i64 shift_ = 0;
    Array<u32> before_;  // the sums over all columns before, from `radius` columns before the first
};

// The means over the squares around all pixels of a row.
template <bool MASKED>
class SquareMeans {
  public:
    // Of the first integer of a table; the last one counts the pixels that are not masked.
    template <int K>
    void measure(const SlidingTable<K>& table, const Shape& shape, i64 y, i64 radius, const Range& columns) {
        sums_.measure(table, 0, shape, y, radius, columns);
        means_.resize(static_cast<size_t>(columns.size()));
        if constexpr (MASKED) {
            counts_.measure(table, K - 1, shape, y, radius, columns);
            for (i64 i = 0; i < columns.size(); ++i) means_[i] = mean_of(sums_[i], counts_[i]);
        } else {
            set_shares(shape, y, radius, columns);
            for (i64 i = 0; i < columns.size(); ++i)
                means_[i] = static_cast<float>(static_cast<i32>(sums_[i])) * shares_[i];
        }
    }
    // Of the i-th column.
    float operator[](i64 i) const { return means_[i]; }

  private:
    // Divides once for all rows that clip the squares alike.
    void set_shares(const Shape& shape, i64 y, i64 radius, const Range& columns) {
        const i64 rows = std::min(y + radius + 1, shape.height) - std::max<i64>(y - radius, 0);
        if (rows == rows_ && columns.begin == columns_.begin && columns.end == columns_.end) return;
        rows_ = rows;
        columns_ = columns;
        shares_.resize(static_cast<size_t>(columns.size()));
        for (i64 x = columns.begin; x < columns.end; ++x) {
            const i64 across = std::min(x + radius + 1, shape.width) - std::max<i64>(x - radius, 0);
            shares_[x - columns.begin] = 1.0f / static_cast<float>(rows * across);
        }
    }

    SquareSums sums_, counts_;
    Array<float> means_, shares_;
    i64 rows_ = 0;  // of the squares, and the columns, for which the shares are set
    Range columns_{};
};

// Measures an image one tile after the other, row by row.
template <bool MASKED>
class ContrastMeter {
  public:
    ContrastMeter(const float* colours, const RunImage& regions, Contrast& contrast)
        : colours_(colours),
          regions_(regions),
          shape_(regions.shape()),
          radii_(shape_),
          contrast_(contrast),
          far_(colour_, shape_, radii_.far),
          near_(colour_, shape_, radii_.near) {}

    // OUT the contrast of some rows and columns of slice z.
    void measure_tile(i64 z, const Range& rows, const Range& columns) {
        first_row_ = z * shape_.height;
        auto around = [](const Range& range, i64 reach, i64 end) {
            return Range{std::max<i64>(range.begin - reach, 0), std::min(range.end + reach, end)};
        };
        const i64 reach = radii_.reach();
        const Range wide = around(columns, reach, shape_.width),
                    rough = around(columns, radii_.coarse, shape_.width);
        colour_.start(around(rows, reach, shape_.height).begin, 2 * reach + 1, wide.begin, wide.end);
        roughness_.start(around(rows, radii_.coarse, shape_.height).begin, 2 * radii_.coarse + 1, rough.begin,
                         rough.end);
        for (i64 y = rows.begin; y < rows.end; ++y) {
            poll();
            while (colour_.next() < std::min(y + reach, shape_.height)) add_colours();
            while (roughness_.next() < std::min(y + radii_.coarse + 1, shape_.height)) add_roughness(rough);
            measure_texture(y, columns);
            measure_edges(y, columns);
        }
    }

  private:
    i64 pixel(i64 y, i64 x) const { return (first_row_ + y) * shape_.width + x; }

    void add_colours() {
        const i64 y = colour_.next();
        const float* colours = colours_ + 3 * pixel(y, 0);
        if (!MASKED) {
            colour_.add_filled_row([&](auto* row) {
                fill_colours(colours + 3 * colour_.left(), colour_.right() - colour_.left(), row);
            });
            return;
        }
        mark_inside(y);
        colour_.add_row([&](i64 x, int k) {
            if (!inside_[x]) return 0;
            return k == 3 ? 1 : static_cast<i32>(colours[3 * x + k] * kColourSteps);
        });
    }

    // Compilers convert four numbers at once: those of a pixel and the first of the next one, which the count
    // then replaces.
    static void fill_colours(const float* colours, i64 n, SlidingTable<4>::Sums* row) {
        auto set = [&](i64 i, int k) {
            row[i].of[k] = static_cast<u32>(static_cast<i32>(colours[3 * i + k] * kColourSteps));
        };
        for (i64 i = 0; i < n - 1; ++i)
            for (int k = 0; k < 4; ++k) set(i, k);
        for (int k = 0; k < 3; ++k) set(n - 1, k);
        for (i64 i = 0; i < n; ++i) row[i].of[3] = 1;
    }

    void add_roughness(const Range& columns) {
        const i64 y = roughness_.next();
        fine_.measure(colour_, shape_, y, radii_.fine, columns);
        const float* colours = colours_ + 3 * pixel(y, columns.begin);
        rough_.resize(static_cast<size_t>(columns.size()));
        for (i64 i = 0; i < columns.size(); ++i)
            rough_[i] = static_cast<i32>(std::abs(colours[3 * i] * kColourSteps - fine_[i]));
        mark_inside(y);
        roughness_.add_row([&](i64 x, int k) {
            if (MASKED && !inside_[x]) return 0;
            return k == 1 ? 1 : rough_[x - columns.begin];
        });
    }

    // OUT inside_: which pixels of a row are not masked.
    void mark_inside(i64 y) {
        if (!MASKED) return;
        inside_.resize(static_cast<size_t>(shape_.width));
        for (const Run* run = regions_.row(first_row_ + y); run->begin < shape_.width; ++run)
            std::fill(&inside_[run->begin], &inside_[run->begin] + (run[1].begin - run->begin),
                      run->region != kNoRegion);
    }

    void measure_texture(i64 y, const Range& columns) {
        coarse_.measure(roughness_, shape_, y, radii_.coarse, columns);
        float* texture = &contrast_.texture[pixel(y, columns.begin)];
        for (i64 i = 0; i < columns.size(); ++i) texture[i] = coarse_[i] / kColourSteps;
    }

    void measure_edges(i64 y, const Range& columns) {
        mark_borders(first_row_ + y, columns);
        far_.select(y);
        near_.select(y);
        for (i64 x = columns.begin; x < columns.end; ++x)
            if (is_border_[x - columns.begin])
                contrast_.edge[pixel(y, x)] = (far_.at(x) + near_.at(x)) / (2 * kColourSteps);
    }

    // OUT is_border_: which pixels of a row touch another region.
    void mark_borders(i64 row, const Range& columns) {
        is_border_.assign(static_cast<size_t>(columns.size()), 0);
        auto mark = [&](i64 begin, i64 end) {
            std::fill(&is_border_[0] + (std::max(begin, columns.begin) - columns.begin),
                      &is_border_[0] + (std::min(end, columns.end) - columns.begin), 1);
        };
        const Run* here = regions_.run_at(row, columns.begin);
        for (const Run* run = here; run->begin <= columns.end && run->begin < shape_.width; ++run)
            if (run->begin >= columns.begin && run->begin > 0) mark(i64{run->begin} - 1, i64{run->begin} + 1);
        auto compare = [&](i64 other) {
            each_overlap(here, regions_.run_at(other, columns.begin), columns,
                         [&](const Run& a, const Run& b, i64 begin, i64 end) {
                             if (a.region != b.region) mark(begin, end);
                         });
        };
        each_earlier_row(shape_, row, compare);
        each_later_row(shape_, row, compare);
    }

    const float* colours_;
    const RunImage& regions_;
    const Shape& shape_;
    const Radii radii_;
    Contrast& contrast_;
    i64 first_row_ = 0;       // of the slice
    SlidingTable<4> colour_;  // three colours, and 1 for each pixel that is not masked
    // The distance of the first colour to its mean nearby; in a masked image, 1 as above.
    SlidingTable<MASKED ? 2 : 1> roughness_;
    ColourSteps<MASKED> far_, near_;
    SquareMeans<MASKED> fine_, coarse_;
    Array<i32> rough_;
    std::vector<char> inside_, is_border_;
};

// An image in tiles: rectangles of one slice. A tile measures what lies around it too, so few large ones are
// cheaper, but the table of a narrow one stays in the cache.
class Tiles {
  public:
    Tiles(const Shape& shape, int n_threads) : shape_(shape) {
        const i64 reach = Radii(shape).reach();
        across_ = (shape.width + kWidth - 1) / kWidth;
        const i64 wanted =
            n_threads == 1 ? 1 : (4 * n_threads + across_ * shape.depth - 1) / (across_ * shape.depth);
        down_ = std::clamp<i64>(wanted, 1, std::max<i64>(1, shape.height / (4 * reach)));
    }
    i64 count() const { return across_ * down_ * shape_.depth; }
    i64 slice(i64 k) const { return k / (across_ * down_); }
    Range rows(i64 k) const { return cut(shape_.height, k / across_ % down_, down_); }
    Range columns(i64 k) const { return cut(shape_.width, k % across_, across_); }

  private:
    static constexpr i64 kWidth = 1024;
    static Range cut(i64 size, i64 k, i64 n) { return {size * k / n, size * (k + 1) / n}; }
    Shape shape_;
    i64 across_, down_;
};

// IN colours (N, 3).
inline Contrast measure_contrast(const float* colours, const RunImage& regions, int n_threads) {
    const Shape& shape = regions.shape();
    Contrast contrast;
    contrast.texture.resize(static_cast<size_t>(shape.size()));
    contrast.edge.resize(static_cast<size_t>(shape.size()));
    const int team = team_size(shape.size(), kPixelGrain, n_threads);
    const Tiles tiles(shape, team);
    std::atomic<i64> next{0};
    auto measure = [&](auto&& meter) {
        for (i64 k; (k = next.fetch_add(1)) < tiles.count();)
            meter.measure_tile(tiles.slice(k), tiles.rows(k), tiles.columns(k));
    };
    const bool masked = regions.is_masked();
    parallel(static_cast<int>(std::min<i64>(team, tiles.count())), [&](int) {
        if (masked)
            measure(ContrastMeter<true>(colours, regions, contrast));
        else
            measure(ContrastMeter<false>(colours, regions, contrast));
    });
    return contrast;
}

}  // namespace mspp
