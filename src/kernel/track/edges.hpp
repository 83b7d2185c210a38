// Edges in a part of a frame: the part is read at a fixed number of samples, whatever its size in pixels, and
// divided into square cells. Each cell holds the strength of its edges by direction, relative to the edges
// around it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/track/frame.hpp"
#include "kernel/track/window.hpp"

namespace mspp {

// The samples along one axis, interpolated between pixels. Places are integers in units of 1/1024 pixel, so
// that whole-pixel moves are exact.
template <i64 kSamples>
struct SampleAxis {
    static constexpr int kParts = 64;
    std::array<i64, kSamples> offset;  // in bytes, of the pixel before
    std::array<int, kSamples> part;    // of the way to the next pixel, in units of 1/64

    // One more sample at either end; places outside the frame have the colour of its edge.
    SampleAxis(double centre, double side, i64 n_pixels, i64 stride) {
        const i64 step = std::max<i64>(1, round_half_up(side * 1024 / static_cast<double>(kSamples - 2)));
        const i64 first = round_half_up(centre * 1024) - 512 - (kSamples - 1) * step / 2;
        for (i64 i = 0; i < kSamples; ++i) {
            const i64 at = std::clamp<i64>((first + i * step) >> 4, 0, (n_pixels - 1) * kParts);
            const i64 pixel = std::min(at / kParts, std::max<i64>(n_pixels - 2, 0));
            offset[i] = pixel * stride;
            part[i] = static_cast<int>(at - pixel * kParts);
        }
    }
};

template <i64 kCells, i64 kPer>  // cells, and samples of a cell, along each axis
class EdgeCells {
  public:
    static constexpr i64 kDirections = 8;
    static constexpr i64 kSamples = kCells * kPer + 2;
    using Axis = SampleAxis<kSamples>;

    // OUT cells (kCells, kCells, kDirections), each from 0 to 1.
    void read(const Frame& frame, const Axis& xs, const Axis& ys, float* cells) {
        sample(frame, xs, ys);
        collect();
        normalise(cells);
    }

  private:
    static constexpr float kFloor = 4 * kPer * kPer;  // weaker edges count less
    static constexpr float kMost = 0.4f;              // of a cell's edges in one direction

    void sample(const Frame& frame, const Axis& xs, const Axis& ys) {
        const i64 right = frame.width > 1 ? frame.column : 0, down = frame.height > 1 ? frame.row : 0;
        for (i64 j = 0; j < kSamples; ++j) {
            const uint8_t* row = frame.data + ys.offset[j] + frame.channel;  // green
            const int y = ys.part[j];
            for (i64 i = 0; i < kSamples; ++i) {
                const uint8_t* p = row + xs.offset[i];
                const int x = xs.part[i];
                const int top = p[0] * (Axis::kParts - x) + p[right] * x;
                const int bottom = p[down] * (Axis::kParts - x) + p[down + right] * x;
                light_[j * kSamples + i] = top * (Axis::kParts - y) + bottom * y;
            }
        }
    }

    void collect() {
        edges_.fill(0);
        constexpr float unit = 1.0f / (Axis::kParts * Axis::kParts);
        for (i64 j = 0; j < kCells * kPer; ++j) {
            const int* p = light_.data() + (j + 1) * kSamples + 1;
            std::array<float, kCells * kPer> strength, direction;
            for (i64 i = 0; i < kCells * kPer; ++i) {
                const float dx = static_cast<float>(p[i + 1] - p[i - 1]) * unit;
                const float dy = static_cast<float>(p[i + kSamples] - p[i - kSamples]) * unit;
                strength[i] = std::sqrt(dx * dx + dy * dy);
                direction[i] = direction_of(dx, dy);
            }
            float* row = edges_.data() + j / kPer * kCells * kDirections;
            for (i64 i = 0; i < kCells * kPer; ++i) {
                float* cell = row + i / kPer * kDirections;
                const int before = static_cast<int>(direction[i]);
                const float after = strength[i] * (direction[i] - static_cast<float>(before));
                cell[before & (kDirections - 1)] += strength[i] - after;
                cell[(before + 1) & (kDirections - 1)] += after;
            }
        }
    }
    // The direction of an edge, whichever side is lighter: from 0 to 8 in half a turn, within 0.01.
    static float direction_of(float dx, float dy) {
        const float ax = std::abs(dx), ay = std::abs(dy);
        const float t = std::min(ax, ay) / std::max(std::max(ax, ay), 1e-6f);
        const float octant = t * (2.0f + 0.695f * (1 - t));
        const float quarter = ay > ax ? 4 - octant : octant;
        return (dx < 0) != (dy < 0) ? 8 - quarter : quarter;
    }

    // Divides each cell by the strength of the edges in it and the cells around it.
    void normalise(float* cells) const {
        std::array<float, kCells * kCells> energy, across{};
        for (i64 k = 0; k < kCells * kCells; ++k) {
            float sum = 0;
            for (i64 c = k * kDirections; c < (k + 1) * kDirections; ++c) sum += edges_[c] * edges_[c];
            energy[k] = sum;
        }
        for (i64 y = 0; y < kCells; ++y)
            for (i64 x = 0; x < kCells; ++x)
                across[y * kCells + x] = energy[y * kCells + std::max<i64>(x - 1, 0)] +
                                         energy[y * kCells + x] +
                                         energy[y * kCells + std::min(x + 1, kCells - 1)];
        for (i64 y = 0; y < kCells; ++y)
            for (i64 x = 0; x < kCells; ++x) {
                const float around = across[std::max<i64>(y - 1, 0) * kCells + x] + across[y * kCells + x] +
                                     across[std::min(y + 1, kCells - 1) * kCells + x];
                const float scale = 1 / std::sqrt(around / 9 + kFloor * kFloor);
                const i64 first = (y * kCells + x) * kDirections;
                for (i64 c = first; c < first + kDirections; ++c)
                    cells[c] = std::min(edges_[c] * scale, kMost);
            }
    }

    std::array<int, kSamples * kSamples> light_;
    std::array<float, kCells * kCells * kDirections> edges_;
};

}  // namespace mspp
