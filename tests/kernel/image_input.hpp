// Input and plain versions that the tests of images share: pieces by flood fill, and labels of pixels.
#pragma once

#include <random>
#include <vector>

#include "kernel/image/pieces.hpp"

namespace image_input {

using namespace mspp;

// The touching pixels of p.
inline std::vector<i64> around(const Shape& shape, i64 p) {
    const i64 x = p % shape.width, y = p / shape.width % shape.height;
    std::vector<i64> pixels;
    auto add = [&](bool inside, i64 q) {
        if (inside) pixels.push_back(q);
    };
    add(x > 0, p - 1);
    add(x + 1 < shape.width, p + 1);
    add(y > 0, p - shape.width);
    add(y + 1 < shape.height, p + shape.width);
    add(p >= shape.slice(), p - shape.slice());
    add(p + shape.slice() < shape.size(), p + shape.slice());
    return pixels;
}

// The pieces by filling each from its first pixel; kNoRegion for masked pixels.
inline std::vector<u32> flood_fill(const std::vector<i32>& clusters, const Shape& shape) {
    std::vector<u32> pieces(clusters.size(), kNoRegion);
    u32 count = 0;
    for (i64 first = 0; first < shape.size(); ++first) {
        if (clusters[first] < 0 || pieces[first] != kNoRegion) continue;
        std::vector<i64> open{first};
        pieces[first] = count;
        while (!open.empty()) {
            const i64 p = open.back();
            open.pop_back();
            for (const i64 q : around(shape, p)) {
                if (clusters[q] != clusters[p] || pieces[q] != kNoRegion) continue;
                pieces[q] = count;
                open.push_back(q);
            }
        }
        ++count;
    }
    return pieces;
}

// The number of each pixel's part; kNoRegion for masked pixels.
inline std::vector<u32> pixels_of(const RunImage& parts, const std::vector<u32>& number) {
    std::vector<u32> pixels(static_cast<size_t>(parts.shape().size()));
    for (i64 row = 0; row < parts.shape().rows(); ++row)
        parts.each_run(row, [&](const Run& run, i64 begin, i64 end) {
            for (i64 p = begin; p < end; ++p)
                pixels[p] = run.region == kNoRegion ? kNoRegion : number[run.region];
        });
    return pixels;
}

}  // namespace image_input
