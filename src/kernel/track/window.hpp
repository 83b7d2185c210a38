// The window of a tracker: centre and sides, in pixels.
//
// All places are multiples of 1/64 pixel relative to the last one, so moving the scene by whole pixels moves
// the window by exactly that.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernel/image/area_table.hpp"

namespace mspp {

// Rounds to the nearest integer, halves up; round_to_one returns at least 1.
inline i64 round_half_up(double x) { return static_cast<i64>(std::floor(x + 0.5)); }
inline i64 round_to_one(double x) { return std::max<i64>(1, round_half_up(x)); }
// Rounds to a multiple of 1/64.
inline double snap(double x) { return std::floor(x * 64 + 0.5) / 64; }

struct Window {
    double x, y, w, h;

    double mean_side() const { return std::sqrt(w * h); }

    // Moves the centre, which stays in the frame.
    void move(i64 frame_height, i64 frame_width, double dx, double dy) {
        x = std::clamp(x + snap(dx), 0.5, static_cast<double>(frame_width) - 0.5);
        y = std::clamp(y + snap(dy), 0.5, static_cast<double>(frame_height) - 0.5);
    }
    // The pixels of the window that are in the frame; at least one.
    Rect pixels(i64 frame_height, i64 frame_width) const {
        const i64 left = round_half_up(x - w / 2), top = round_half_up(y - h / 2);
        const i64 right = left + round_to_one(w), bottom = top + round_to_one(h);
        return {std::clamp<i64>(left, 0, frame_width - 1), std::clamp<i64>(top, 0, frame_height - 1),
                std::clamp<i64>(right, 1, frame_width), std::clamp<i64>(bottom, 1, frame_height)};
    }
};

}  // namespace mspp
