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
    explicit ColourCells(const std::array<double, 3>& sides) : table_(size_t{1} << (3 * kBits)) {
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
        if (cells_.size() > static_cast<size_t>(kMaxColourCells))
            throw BadInput("these sides make " + std::to_string(cells_.size()) + " colour cells, more than " +
                           std::to_string(kMaxColourCells) + "; use a larger bandwidth");
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
        const Row row(frame, y);
        return of(frame, row, x);
    }
    // The rows that the edges of a row of pixels are read from.
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
        const u32 edge = across + along < kEdgeStep ? 0 : across >= along ? 1 : 2;
        return static_cast<uint16_t>(colour + edge * static_cast<u32>(cells_.size()));
    }

  private:
    static constexpr int kBits = 6;
    static constexpr i64 kReach = 2;      // pixels to either side
    static constexpr int kEdgeStep = 28;  // the difference in green that makes an edge
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
