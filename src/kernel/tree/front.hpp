// The front of a cluster: how many windows long its border to other clusters is.
//
// Noise breaks a ring at one place; two rings face each other along many windows, which are all low at once.
#pragma once

#include "kernel/tree/links.hpp"

namespace mspp {

inline constexpr double kFrontSlack = 0.6780719051126377;  // log2 1.6: how much sparser than the saddle
inline constexpr size_t kLongestFrontLength = 18;

// The number of centres of cluster b, two radii apart, from which another cluster can be reached at a level
// not much above its saddle; at least 1.
inline i64 front_length(u32 b, const std::vector<u32>& basin, const Leaves& centres, const Windows& windows,
                        const Links& links, i64 saddle, i64 shift) {
    const i64 limit = saddle + static_cast<i64>(kFrontSlack / kLogUnit);
    const double reach = exp2_units(2 * (limit - shift));
    const Boxes::Common common = links.boxes().common(basin);
    std::vector<u32> picked;
    for (u32 i = 0; i < basin.size() && picked.size() < kLongestFrontLength; ++i) {
        if (basin[i] != b || windows.radius[i] > limit) continue;
        auto close = [&](u32 other) { return links.squared_distance(i, other) <= 4 * windows.square[i]; };
        if (std::any_of(picked.begin(), picked.end(), close)) continue;
        bool reached = false;
        auto hit = [&](i64 group) {
            const Range found = links.boxes().range(group);
            for (u32 k = static_cast<u32>(found.begin); k < found.end && !reached; ++k)
                reached =
                    basin[k] != b && windows.radius[k] <= limit && links.squared_distance(i, k) <= reach;
        };
        const double* x = centres.position(i);
        links.boxes().visit(x, x, reach, hit,
                            [&](size_t layer, i64 box) { return reached || common[layer][box] == b; });
        if (reached) picked.push_back(i);
    }
    return std::max<i64>(1, static_cast<i64>(picked.size()));
}

}  // namespace mspp
