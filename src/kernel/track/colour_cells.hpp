// The colour cells of a tracker: cells of CIE Lab, three for each colour by the direction of the edge there.
//
// A colour finds its cell in a table of six bits per channel, made once. Each cell is centred on a multiple
// of its sides, so that grey, the most common colour of pictures, lies in the middle of a cell and not on an
// edge.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/errors.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/track/frame.hpp"

namespace mspp {

class ColourCells {
  public:
    using Cell = std::array<i64, 3>;

    // Numbers the cells that bytes can lie in, in lexicographic order.
    explicit ColourCells(const std::array<double, 3>& sides, i64 limit = kMaxColourCells)
        : table_(size_t{1} << (3 * kBits)) {
        static const Curve curve([](double t) { return lab_curve(t); });
        std::vector<Cell> all(table_.size());
        for (size_t k = 0; k < all.size(); ++k) {
            const Colour lab = lab_of({light(k >> (2 * kBits)), light(k >> kBits), light(k)}, curve);
            all[k] = {centred_cell(lab.a, sides[0]), centred_cell(lab.b, sides[1]),
                      centred_cell(lab.c, sides[2])};
        }
        cells_ = all;
        std::sort(cells_.begin(), cells_.end());
        cells_.erase(std::unique(cells_.begin(), cells_.end()), cells_.end());
        if (cells_.size() > static_cast<size_t>(limit))
            throw BadInput("these sides make " + std::to_string(cells_.size()) + " colour cells, more than " +
                           std::to_string(limit) + "; use a larger bandwidth");
        for (size_t k = 0; k < all.size(); ++k)
            table_[k] = static_cast<uint16_t>(std::lower_bound(cells_.begin(), cells_.end(), all[k]) -
                                              cells_.begin());
    }

    static constexpr int kEdgeKinds = 3;  // none, vertical, horizontal
    size_t size() const { return kEdgeKinds * cells_.size(); }
    // Colour k has the ids k, k + n_colours() and k + 2 n_colours(), one for each kind of edge.
    size_t n_colours() const { return cells_.size(); }
    const Cell& colour(size_t k) const { return cells_[k]; }

    // The id of a pixel.
    uint16_t of(const Frame& frame, i64 y, i64 x) const {
        uint16_t id;
        read(frame, y, x, 1, 1, &id);
        return id;
    }
    // OUT ids of n pixels of a row, every `step` pixels from x on.
    void read(const Frame& frame, i64 y, i64 x, i64 step, i64 n, uint16_t* ids) const {
        const uint8_t* pixel = frame.at(y, x);
        const i64 green = frame.channel, blue = 2 * frame.channel, next = step * frame.column;
        const i64 above = green + (std::max<i64>(y - kReach, 0) - y) * frame.row;
        const i64 below = green + (std::min(y + kReach, frame.height - 1) - y) * frame.row;
        auto read_to = [&](i64 end, auto&& before, auto&& after) {
            for (; x < end; x += step, pixel += next)
                *ids++ =
                    id_of(pixel[0], pixel[green], pixel[blue],
                          pixel[green + after(x)] - pixel[green - before(x)], pixel[below] - pixel[above]);
        };
        // Beyond the frame, the edge is taken for the pixel.
        const i64 end = x + n * step, inner_end = std::min(end, frame.width - kReach);
        auto inside = [reach = kReach * frame.column](i64) { return reach; };
        auto before = [&](i64 at) { return std::min(at, kReach) * frame.column; };
        auto after = [&](i64 at) { return std::min(kReach, frame.width - 1 - at) * frame.column; };
        read_to(std::min(end, kReach), before, after);
        read_to(inner_end, inside, inside);
        read_to(end, before, after);
    }

  private:
    static constexpr int kBits = 6;
    static constexpr i64 kReach = 2;      // pixels to either side
    static constexpr int kEdgeStep = 28;  // the difference in green that makes an edge
    // IN the changes of green across and along.
    uint16_t id_of(u32 red, u32 green, u32 blue, int across, int along) const {
        constexpr int drop = 8 - kBits;
        const u32 colour = table_[(red >> drop) << (2 * kBits) | (green >> drop) << kBits | blue >> drop];
        across = std::abs(across), along = std::abs(along);
        const u32 edge = across + along < kEdgeStep ? 0 : across >= along ? 1 : 2;
        return static_cast<uint16_t>(colour + edge * static_cast<u32>(cells_.size()));
    }
    static i64 centred_cell(float x, double side) {
        return static_cast<i64>(cell_of(quotient_of(x, side) + 0.5));
    }
    static float light(size_t k) {
        const double step = 256 >> kBits;
        const double value = static_cast<double>(k & ((1 << kBits) - 1)) * step + (step - 1) / 2;
        return static_cast<float>(linear_light(value / 255));
    }
    std::vector<uint16_t> table_;
    std::vector<Cell> cells_;
};

}  // namespace mspp
