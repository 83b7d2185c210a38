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
    std::array<i64, kSamples> offset;    // in bytes, of the pixel before
    std::array<int16_t, kSamples> part;  // of the way to the next pixel, in units of 1/64

    // One more sample at either end; places outside the frame have the colour of its edge.
    SampleAxis(double centre, double side, i64 n_pixels, i64 stride) {
        const i64 step = std::max<i64>(1, round_half_up(side * 1024 / static_cast<double>(kSamples - 2)));
        const i64 first = round_half_up(centre * 1024) - 512 - (kSamples - 1) * step / 2;
        for (i64 i = 0; i < kSamples; ++i) {
            const i64 at = std::clamp<i64>((first + i * step) >> 4, 0, (n_pixels - 1) * kParts);
            const i64 pixel = std::min(at / kParts, std::max<i64>(n_pixels - 2, 0));
            offset[i] = pixel * stride;
            part[i] = static_cast<int16_t>(at - pixel * kParts);
        }
    }
};

template <i64 kCells, i64 kPer>  // cells, and samples of a cell, along each axis
class EdgeCells {
  public:
    static constexpr i64 kDirections = 8;
    static constexpr i64 kSize = kCells * kCells;
    static constexpr i64 kSamples = kCells * kPer + 2;
    using Axis = SampleAxis<kSamples>;
    using Planes = std::array<std::array<float, kSize>, kDirections>;

    // OUT cells: a plane for each direction, with values from 0 to 1.
    void read(const Frame& frame, const Axis& xs, const Axis& ys, Planes& cells) {
        sample(frame, xs, ys);
        collect(cells);
        normalise(cells);
    }

  private:
    static constexpr i64 kInner = kCells * kPer;      // samples in cells, along each axis
    static constexpr float kFloor = 4 * kPer * kPer;  // weaker edges count less
    static constexpr float kMost = 0.4f;              // of a cell's edges in one direction

    // Interpolates green. Weights and values between rows fit 16 bits, which the processor multiplies
    // fastest.
    void sample(const Frame& frame, const Axis& xs, const Axis& ys) {
        const i64 right = frame.width > 1 ? frame.column : 0, down = frame.height > 1 ? frame.row : 0;
        std::array<int16_t, kSamples> top, top_right, bottom, bottom_right;
        for (i64 j = 0; j < kSamples; ++j) {
            const uint8_t* row = frame.data + ys.offset[j] + frame.channel;
            for (i64 i = 0; i < kSamples; ++i) {
                const uint8_t* p = row + xs.offset[i];
                top[i] = p[0], top_right[i] = p[right], bottom[i] = p[down],
                bottom_right[i] = p[down + right];
            }
            const int16_t y = ys.part[j], rest = Axis::kParts - y;
            int* out = light_.data() + j * kSamples;
            for (i64 i = 0; i < kSamples; ++i) {
                const int16_t x = xs.part[i];
                const int16_t above = static_cast<int16_t>(top[i] * (Axis::kParts - x) + top_right[i] * x);
                const int16_t below =
                    static_cast<int16_t>(bottom[i] * (Axis::kParts - x) + bottom_right[i] * x);
                out[i] = above * rest + below * y;
            }
        }
    }

    // Adds up the strengths of the edges in each cell by direction, between the two nearest ones.
    void collect(Planes& cells) {
        constexpr float unit = 1.0f / (Axis::kParts * Axis::kParts);
        for (auto& plane : cells) plane.fill(0);
        for (i64 j = 0; j < kInner; ++j) {
            const int* p = light_.data() + (j + 1) * kSamples + 1;
            std::array<float, kInner> before, after;
            std::array<int, kInner> direction;
            for (i64 i = 0; i < kInner; ++i) {
                const float dx = static_cast<float>(p[i + 1] - p[i - 1]) * unit;
                const float dy = static_cast<float>(p[i + kSamples] - p[i - kSamples]) * unit;
                const float strength = std::sqrt(dx * dx + dy * dy), turn = direction_of(dx, dy);
                direction[i] = static_cast<int>(turn);
                after[i] = strength * (turn - static_cast<float>(direction[i]));
                before[i] = strength - after[i];
            }
            for (i64 i = 0; i < kInner; ++i) {
                const i64 cell = j / kPer * kCells + i / kPer;
                cells[direction[i] & (kDirections - 1)][cell] += before[i];
                cells[(direction[i] + 1) & (kDirections - 1)][cell] += after[i];
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
    static void normalise(Planes& cells) {
        std::array<float, kSize> energy{}, across, scale;
        for (const auto& plane : cells)
            for (i64 k = 0; k < kSize; ++k) energy[k] += plane[k] * plane[k];
        for (i64 k = 0; k < kSize; k += kCells) {
            for (i64 x = 1; x < kCells - 1; ++x)
                across[k + x] = energy[k + x - 1] + energy[k + x] + energy[k + x + 1];
            const i64 last = k + kCells - 1;
            across[k] = energy[k] + energy[k] + energy[k + 1];
            across[last] = energy[last - 1] + energy[last] + energy[last];
        }
        for (i64 y = 0; y < kCells; ++y) {
            const float* here = across.data() + y * kCells;
            const float *above = y > 0 ? here - kCells : here, *below = y < kCells - 1 ? here + kCells : here;
            for (i64 x = 0; x < kCells; ++x)
                scale[y * kCells + x] = 1 / std::sqrt((above[x] + here[x] + below[x]) / 9 + kFloor * kFloor);
        }
        for (auto& plane : cells)
            for (i64 k = 0; k < kSize; ++k) plane[k] = std::min(plane[k] * scale[k], kMost);
    }

    std::array<int, kSamples * kSamples> light_;
};

}  // namespace mspp
