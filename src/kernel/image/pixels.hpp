// The pixels of an image or of a volume, and which of them touch.
//
// A volume is a stack of slices; an image is a volume of depth 1.
#pragma once

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

struct Shape {
    i64 depth, height, width;
    i64 slice() const { return height * width; }
    i64 size() const { return depth * slice(); }
};

inline constexpr u32 kNoRegion = UINT32_MAX;  // of a masked pixel

// The index p of a pixel and its coordinates, which give its neighbours without a division.
struct Pixel {
    i64 p, z, y, x;

    // Calls fn(q) for the touching pixels that come before: to the left, above, in the slice before.
    template <class Fn>
    void each_earlier(const Shape& shape, Fn&& fn) const {
        if (x > 0) fn(p - 1);
        if (y > 0) fn(p - shape.width);
        if (z > 0) fn(p - shape.slice());
    }
    template <class Fn>
    void each_touching(const Shape& shape, Fn&& fn) const {
        each_earlier(shape, fn);
        if (x + 1 < shape.width) fn(p + 1);
        if (y + 1 < shape.height) fn(p + shape.width);
        if (z + 1 < shape.depth) fn(p + shape.slice());
    }
};

template <class Fn>
void each_pixel(const Shape& shape, Fn&& fn) {
    Pixel pixel{0, 0, 0, 0};
    for (pixel.z = 0; pixel.z < shape.depth; ++pixel.z)
        for (pixel.y = 0; pixel.y < shape.height; ++pixel.y)
            for (pixel.x = 0; pixel.x < shape.width; ++pixel.x, ++pixel.p) fn(pixel);
}

// Calls fn(region, begin, end) for every run of consecutive pixels of one region; masked pixels are skipped.
template <class Fn>
void each_run(const Array<u32>& regions, Fn&& fn) {
    const i64 n = static_cast<i64>(regions.size());
    for (i64 begin = 0, end; begin < n; begin = end) {
        const u32 region = regions[begin];
        for (end = begin + 1; end < n && regions[end] == region;) ++end;
        if (region != kNoRegion) fn(region, begin, end);
    }
}

}  // namespace mspp
