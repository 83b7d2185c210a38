// Leaves: groups of neighbours on the curve, which are the centres of windows and what windows hold.
#pragma once

#include "kernel/tree/cloud.hpp"
#include "kernel/tree/near_loops.hpp"

namespace mspp {

struct Leaves {
    static constexpr i64 kWidth = kLanes;
    int d = 0;
    Array<i32> positions;  // means; of every eight leaves and each axis, eight values side by side
    Array<i64> weights;
    Array<i32> steps;    // the order of the first difference of each leaf from the one before
    Array<u32> first;    // leaf k has the points first[k] .. first[k + 1] of its part
    Array<float> guess;  // how far a window might reach, 0 if unknown; decides the time, never a result
    i64 guess_mass = 1;  // of those windows

    i64 size() const { return static_cast<i64>(weights.size()); }
    i64 groups() const { return (size() + kWidth - 1) / kWidth; }
    const i32* group(i64 g) const { return &positions[static_cast<size_t>(g * d * kWidth)]; }
    i32& at(i64 i, int j) {
        return positions[static_cast<size_t>((i / kWidth * d + j) * kWidth + i % kWidth)];
    }
    i32 at(i64 i, int j) const { return const_cast<Leaves*>(this)->at(i, j); }

    // Makes room for so many leaves.
    void resize(i64 n) {
        const size_t size = static_cast<size_t>(n);
        weights.resize(size), steps.resize(size), guess.resize(size), first.resize(size + 1);
        positions.resize(static_cast<size_t>(groups() * kWidth * d));
    }
    // The last group is filled up with the last leaf.
    void pad() {
        for (i64 i = size(); i < groups() * kWidth; ++i)
            for (int j = 0; j < d; ++j) at(i, j) = at(size() - 1, j);
    }
};

// The shorter of the ways between two coordinates, if the axis is a circle.
inline i32 gap_of(i32 a, i32 b, i32 period) {
    const i32 gap = std::abs(a - b);
    return period > 0 ? std::min(gap, period - gap) : gap;
}

// The squared distance of two leaves. Every distance in the tree is this float, so each comparison of two
// distances has one result.
inline float squared_distance(const Leaves& leaves, const std::vector<i32>& period, i64 a, i64 b) {
    float sum = 0;
    for (int j = 0; j < leaves.d; ++j) {
        const float gap = static_cast<float>(gap_of(leaves.at(a, j), leaves.at(b, j), period[j]));
        sum = sum + gap * gap;
    }
    return sum;
}

// The items of a sequence along the curve that begin a group. The sequence is divided at its greatest step
// until each group weighs at most `limit`, and never at a step of 0.
template <class Weight>
std::vector<u32> group_along_curve(const Array<i32>& steps, i64 limit, Weight&& weight) {
    struct Open {
        i32 step;
        u32 at;
        i64 before;  // weight
    };
    const u32 n = static_cast<u32>(steps.size());
    std::vector<char> begins(n, 0);
    std::vector<Open> open;  // steps whose group has not ended, falling
    i64 before = 0;
    Poller poll;
    for (u32 i = 0; i <= n; ++i) {
        poll(2);
        while (!open.empty() && (i == n || open.back().step < steps[i])) {
            const u32 at = open.back().at;
            open.pop_back();
            begins[at] = before - (open.empty() ? 0 : open.back().before) > limit;
        }
        if (i == n) break;
        if (i > 0 && steps[i] > 0) open.push_back({steps[i], i, before});
        before += weight(i);
    }
    std::vector<u32> result;
    for (u32 i = 0; i < n; ++i)
        if (i == 0 || begins[i]) result.push_back(i);
    return result;
}

// One leaf for each point of a part. IN points: rising; reach: of the windows of some mass around each point
// of the cloud, if they are known.
inline Leaves leaves_of_points(const Cloud& cloud, const Array<u32>& points, const Array<float>& reach = {},
                               i64 mass = 1) {
    Leaves leaves;
    const i64 n = static_cast<i64>(points.size());
    leaves.d = cloud.d;
    leaves.guess_mass = mass;
    leaves.resize(n);
    each_of({0, n}, 4 * cloud.d, [&](i64 i) {
        const i32* x = cloud.position(points[i]);
        for (int j = 0; j < cloud.d; ++j) leaves.at(i, j) = x[j];
        leaves.weights[i] = cloud.weights[points[i]];
        leaves.steps[i] =
            i == 0 ? 0 : first_difference(cloud.position(points[i - 1]), x, cloud.d).order(cloud.d);
        leaves.first[i] = static_cast<u32>(i);
        leaves.guess[i] = reach.empty() ? 0 : reach[points[i]];
    });
    leaves.first[n] = static_cast<u32>(n);
    leaves.pad();
    return leaves;
}

// Joins leaves while a group weighs at most `limit` or lies in one smallest box. Leaves of a larger limit
// are unions of leaves of a smaller one.
inline Leaves join_leaves(const Leaves& fine, i64 limit) {
    std::vector<u32> begin = group_along_curve(fine.steps, limit, [&](u32 i) { return fine.weights[i]; });
    const i64 n = static_cast<i64>(begin.size());
    begin.push_back(static_cast<u32>(fine.size()));
    Leaves leaves;
    leaves.d = fine.d;
    leaves.resize(n);
    leaves.guess_mass = fine.guess_mass;
    std::vector<double> mean(static_cast<size_t>(fine.d));
    Poller poll;
    for (i64 k = 0; k < n; ++k) {
        poll(i64{begin[k + 1] - begin[k]} * fine.d);
        std::fill(mean.begin(), mean.end(), 0.0);
        i64 weight = 0;
        for (u32 i = begin[k]; i < begin[k + 1]; ++i) {
            weight += fine.weights[i];
            for (int j = 0; j < fine.d; ++j) mean[j] += static_cast<double>(fine.weights[i]) * fine.at(i, j);
        }
        for (int j = 0; j < fine.d; ++j)
            leaves.at(k, j) = static_cast<i32>(mean[j] / static_cast<double>(weight));
        leaves.weights[k] = weight;
        leaves.steps[k] = fine.steps[begin[k]];
        leaves.first[k] = fine.first[begin[k]];
        leaves.guess[k] = fine.guess[begin[k]];
    }
    leaves.first[n] = fine.first[fine.size()];
    leaves.pad();
    return leaves;
}

}  // namespace mspp
