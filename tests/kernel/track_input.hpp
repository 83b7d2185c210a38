// Random frames with strides of their own, for tests of the trackers.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "kernel/track/frame.hpp"

namespace track_input {

using namespace mspp;

// Planes of bytes; the channels, rows and columns have gaps between them. The right half is strong noise,
// the left half weak.
struct Film {
    std::vector<uint8_t> memory;
    Frame frame;

    Film(i64 height, i64 width, unsigned seed, int coarse = 1)
        : memory(static_cast<size_t>(3 * height * (2 * width + 5))),
          frame{memory.data(), height, width, 2 * width + 5, 2, height * (2 * width + 5)} {
        std::mt19937 random(seed);
        for (i64 y = 0; y < height; ++y)
            for (i64 x = 0; x < width; ++x)
                for (i64 c = 0; c < 3; ++c)
                    set(y, x, c,
                        y % coarse || x % coarse ? value(y - y % coarse, x - x % coarse, c)
                        : 2 * x < width          ? 100 + static_cast<int>(random() % 20)
                                                 : static_cast<int>(random() % 256));
    }
    Film(const Film&) = delete;
    void set(i64 y, i64 x, i64 c, int to) {
        memory[static_cast<size_t>(y * frame.row + x * frame.column + c * frame.channel)] =
            static_cast<uint8_t>(to);
    }
    int value(i64 y, i64 x, i64 c) const { return frame.at(y, x)[c * frame.channel]; }
    // The value at the nearest pixel in the frame.
    int near(i64 y, i64 x, i64 c) const {
        return value(std::clamp<i64>(y, 0, frame.height - 1), std::clamp<i64>(x, 0, frame.width - 1), c);
    }
    void fill(i64 left, i64 top, i64 width, i64 height, const std::array<int, 3>& colour) {
        for (i64 y = top; y < top + height; ++y)
            for (i64 x = left; x < left + width; ++x)
                for (i64 c = 0; c < 3; ++c) set(y, x, c, colour[static_cast<size_t>(c)]);
    }
};

}  // namespace track_input
