// Frames of a video and the colour cells of their pixels.
//
// A frame is bytes with strides and is never copied. A colour finds its cell in a table of six bits a
// channel, made once; parts of a frame are read on a lattice of steps, so that the cost is that of the
// samples.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernel/base/errors.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/image/colour.hpp"

namespace mspp {

struct Frame {
    const uint8_t* data;
    i64 height, width;
    i64 row, column, channel;  // strides in bytes
    const uint8_t* at(i64 y, i64 x) const { return data + y * row + x * column; }
};

// Cells of CIE Lab, those that bytes can have, numbered in lexicographic order. Each is centred on a multiple
// of its sides: grey, where most of a picture is, then lies in the middle of a cell and not on an edge.
class ColourCells {
  public:
    using Cell = std::array<i64, 3>;

    explicit ColourCells(const std::array<double, 3>& sides) : table_(size_t{1} << (3 * kBits)) {
        static const Curve curve([](double t) { return lab_curve(t); });
        std::vector<Cell> all(table_.size());
        for (size_t k = 0; k < all.size(); ++k) {
            const Colour lab = lab_of({light(k >> (2 * kBits)), light(k >> kBits), light(k)}, curve);
            all[k] = {cell(lab.a, sides[0]), cell(lab.b, sides[1]), cell(lab.c, sides[2])};
        }
        cells_ = all;
        std::sort(cells_.begin(), cells_.end());
        cells_.erase(std::unique(cells_.begin(), cells_.end()), cells_.end());
        if (cells_.size() > static_cast<size_t>(kMaxColourCells))
            throw BadInput("these sides make " + std::to_string(cells_.size()) + " colour cells, more than " +
                           std::to_string(kMaxColourCells) + "; take a larger bandwidth");
        for (size_t k = 0; k < all.size(); ++k)
            table_[k] = static_cast<uint16_t>(std::lower_bound(cells_.begin(), cells_.end(), all[k]) -
                                              cells_.begin());
    }
    static constexpr int kGrains = 3;  // no edge, upright, level
    size_t size() const { return kGrains * cells_.size(); }
    // The cells of colour: number k has the ids k, k + n_colours(), k + 2 n_colours(), one for each grain.
    size_t n_colours() const { return cells_.size(); }
    const Cell& colour(size_t k) const { return cells_[k]; }

    uint16_t of(const Frame& frame, i64 y, i64 x) const {
        const Row row(frame, y);
        return of(frame, row, x);
    }
    // The rows a pixel's grain is read from.
    struct Row {
        const uint8_t *here, *above, *below;
        Row(const Frame& frame, i64 y)
            : here(frame.at(y, 0)),
              above(frame.at(std::max<i64>(y - kReach, 0), 0) + frame.channel),
              below(frame.at(std::min(y + kReach, frame.height - 1), 0) + frame.channel) {}
    };
    uint16_t of(const Frame& frame, const Row& row, i64 x) const {
        constexpr int drop = 8 - kBits;
        const uint8_t* pixel = row.here + x * frame.column;
        const uint8_t* green = row.here + frame.channel;
        const u32 colour = table_[static_cast<size_t>(pixel[0] >> drop) << (2 * kBits) |
                                  static_cast<size_t>(pixel[frame.channel] >> drop) << kBits |
                                  static_cast<size_t>(pixel[2 * frame.channel] >> drop)];
        const int across = std::abs(green[std::min(x + kReach, frame.width - 1) * frame.column] -
                                    green[std::max<i64>(x - kReach, 0) * frame.column]);
        const int along = std::abs(row.below[x * frame.column] - row.above[x * frame.column]);
        const u32 grain = across + along < kEdge ? 0 : across >= along ? 1 : 2;
        return static_cast<uint16_t>(colour + grain * static_cast<u32>(cells_.size()));
    }

  private:
    static constexpr int kBits = 6;
    static constexpr i64 kReach = 2;  // pixels to either side
    static constexpr int kEdge = 28;  // difference in green that makes an edge
    static i64 cell(float x, double side) { return static_cast<i64>(std::floor(x / side + 0.5)); }
    static float light(size_t k) {
        const double step = 256 >> kBits;
        const double value = static_cast<double>(k & ((1 << kBits) - 1)) * step + (step - 1) / 2;
        return static_cast<float>(linear_light(value / 255));
    }
    std::vector<uint16_t> table_;
    std::vector<Cell> cells_;
};

// A rectangle of frame or lattice: [left, right) x [top, bottom).
struct Rect {
    i64 left, top, right, bottom;
    i64 width() const { return right - left; }
    i64 height() const { return bottom - top; }
    i64 area() const { return width() * height(); }
};

// Cells of the pixels in the middle of the squares of a lattice; `none` outside the frame.
struct Samples {
    i64 x0 = 0, y0 = 0, step = 1, nx = 0, ny = 0;
    std::vector<uint16_t> ids;

    void take(const Frame& frame, const ColourCells& cells, uint16_t none) {
        ids.resize(static_cast<size_t>(nx * ny));
        const i64 x = x0 + step / 2, y = y0 + step / 2;
        const i64 first = std::clamp<i64>(ceil_div(-x, step), 0, nx);
        const i64 last = std::clamp<i64>(ceil_div(frame.width - x, step), first, nx);
        for (i64 j = 0; j < ny; ++j) {
            uint16_t* out = ids.data() + j * nx;
            const i64 at = y + j * step;
            if (at < 0 || at >= frame.height) {
                std::fill(out, out + nx, none);
                continue;
            }
            std::fill(out, out + first, none);
            const ColourCells::Row row(frame, at);
            for (i64 i = first; i < last; ++i) out[i] = cells.of(frame, row, x + i * step);
            std::fill(out + last, out + nx, none);
        }
    }
    static i64 ceil_div(i64 a, i64 b) { return a >= 0 ? (a + b - 1) / b : -((-a) / b); }
};

// Sums over rectangles of a lattice.
class Integral {
  public:
    void build(const Samples& samples, const std::vector<i32>& weights) {
        nx_ = samples.nx + 1;
        sums_.resize(static_cast<size_t>(nx_ * (samples.ny + 1)));
        std::fill(sums_.begin(), sums_.begin() + nx_, 0);
        for (i64 j = 0; j < samples.ny; ++j) {
            const uint16_t* ids = samples.ids.data() + j * samples.nx;
            const i32* above = sums_.data() + j * nx_;
            i32* here = sums_.data() + (j + 1) * nx_;
            i32 run = here[0] = 0;
            for (i64 i = 0; i < samples.nx; ++i) {
                run += weights[ids[i]];
                here[i + 1] = above[i + 1] + run;
            }
        }
    }
    i64 sum(const Rect& r) const {
        return static_cast<i64>(at(r.right, r.bottom)) - at(r.left, r.bottom) - at(r.right, r.top) +
               at(r.left, r.top);
    }
    double mean(const Rect& r) const {
        return static_cast<double>(sum(r)) / static_cast<double>(std::max<i64>(r.area(), 1));
    }

  private:
    i32 at(i64 x, i64 y) const { return sums_[static_cast<size_t>(y * nx_ + x)]; }
    i64 nx_ = 0;
    std::vector<i32> sums_;
};

}  // namespace mspp
