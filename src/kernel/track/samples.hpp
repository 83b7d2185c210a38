// Samples of a frame on a lattice: the cost of reading a part of a frame is that of its samples, not of its
// pixels.
#pragma once

#include <cmath>

#include "kernel/image/area_table.hpp"
#include "kernel/track/colour_cells.hpp"

namespace mspp {

// The colour cells of the pixels in the middle of the lattice's squares.
struct Samples {
    i64 x0 = 0, y0 = 0;  // the first pixel of the lattice
    i64 step = 1;        // the side of a square in pixels
    i64 nx = 0, ny = 0;  // squares
    std::vector<uint16_t> ids;

    // OUT ids (ny, nx), `none` for samples outside the frame.
    void read(const Frame& frame, const ColourCells& cells, uint16_t none) {
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
            cells.read(frame, at, x + first * step, step, last - first, out + first);
            std::fill(out + last, out + nx, none);
        }
    }
    // Rounds up; the callers limit negative quotients to 0.
    static i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
    // The step at which an area has about so many samples.
    static i64 step_for(double area, double samples) {
        return std::max<i64>(1, static_cast<i64>(std::ceil(std::sqrt(area / samples))));
    }
};

// Sums of the samples' weights over rectangles of the lattice.
class WeightTable {
  public:
    // IN weights of the colour cells, and of `none`.
    void build(const Samples& samples, const std::vector<i32>& weights) {
        const uint16_t* ids = samples.ids.data();
        const i32* weight = weights.data();
        const i64 nx = samples.nx;
        table_.build(0, samples.ny, nx, [=](i64 y, i64 x, int) { return weight[ids[y * nx + x]]; });
    }
    i64 sum(const Rect& rect) const { return static_cast<i32>(table_.sum(rect).of[0]); }
    double mean(const Rect& rect) const {
        return static_cast<double>(sum(rect)) / static_cast<double>(std::max<i64>(rect.area(), 1));
    }

  private:
    AreaTable<1> table_;
};

}  // namespace mspp
