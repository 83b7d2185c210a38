// The points of a tree, sorted along the Morton curve, and leaves: groups of neighbours on that curve.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernel/base/errors.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

struct Cloud {
    int d;
    i64 weight;                  // of all points
    double scale;                // units of the positions per unit of the caller
    Array<double> positions;     // (n, d), in units of the smallest box of the curve
    Array<u32> boxes;            // (n, d), their boxes: the positions, rounded down
    Array<i64> weights;          // (n,)
    Array<u32> rows;             // (n,), the row of the caller
    std::vector<double> period;  // (d,), in the same units; 0 for none
    i64 size() const { return static_cast<i64>(weights.size()); }
    const u32* box(i64 i) const { return &boxes[static_cast<size_t>(i * d)]; }
};

// The first bit in which the codes of two boxes on the Morton curve differ: a code has the highest bits of
// all coordinates first. `axis` is -1 if the boxes are equal.
struct Difference {
    int bit;  // of the coordinate, from 1
    int axis;
    i64 order(int d) const { return axis < 0 ? 0 : i64{bit} * d - axis; }  // higher bits are greater
};

inline Difference first_difference(const u32* a, const u32* b, int d) {
    u32 any = 0;
    for (int j = 0; j < d; ++j) any |= a[j] ^ b[j];
    if (any == 0) return {0, -1};
    int axis = 0;
    while ((a[axis] ^ b[axis]) < std::bit_floor(any)) ++axis;
    return {static_cast<int>(std::bit_width(any)), axis};
}

namespace detail {

inline constexpr int kCodeBits = 62, kAxisBits = 20;

// The first bits of the code of a box, as many as an integer holds.
inline u64 first_bits(const u32* box, int d) {
    const int axes = std::min(d, kCodeBits), bits = std::min(kAxisBits, kCodeBits / axes);
    u64 code = 0;
    for (int bit = 1; bit <= bits; ++bit)
        for (int j = 0; j < axes; ++j) code = code << 1 | (box[j] >> (kAxisBits - bit) & 1);
    return code;
}

// The rows in the order of their boxes along the curve; in one box, by their coordinates and numbers.
inline Array<u32> order_along_curve(const double* points, const Array<u32>& boxes, i64 n, int d) {
    Array<u64> codes(static_cast<size_t>(n));
    each_of({0, n}, kCodeBits, [&](i64 i) { codes[i] = first_bits(&boxes[i * d], d); });
    Array<u32> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), 0u);
    Poller poll;
    std::sort(rows.begin(), rows.end(), [&](u32 a, u32 b) {
        poll(64);  // two random rows
        if (codes[a] != codes[b]) return codes[a] < codes[b];
        const u32 *s = &boxes[i64{a} * d], *t = &boxes[i64{b} * d];
        const int axis = first_difference(s, t, d).axis;
        if (axis >= 0) return s[axis] < t[axis];
        const double *p = points + i64{a} * d, *q = points + i64{b} * d;
        const auto [x, y] = std::mismatch(p, p + d, q);
        return x != p + d ? *x < *y : a < b;
    });
    return rows;
}

}  // namespace detail

// IN points (n, d), finite; weights (n,), positive; period (d,), 0 for none: values of a periodic axis are
// from 0 to the period. Points with equal coordinates are kept in the order of their rows.
inline Cloud sort_along_curve(const double* points, const i64* weights, i64 n, int d, const double* period) {
    std::vector<double> low(static_cast<size_t>(d), std::numeric_limits<double>::infinity());
    double span = 0;
    for (int j = 0; j < d; ++j) {
        double high = -low[j];
        each_of({0, n}, [&](i64 i) {
            low[j] = std::min(low[j], points[i * d + j]);
            high = std::max(high, points[i * d + j]);
        });
        if (period[j] > 0) low[j] = 0, high = period[j];
        span = std::max(span, high - low[j]);
    }
    if (!std::isfinite(span))
        throw BadInput("the points span more than float64 can hold; scale the data down");
    // The scale of a smaller span could overflow; its points are in one box.
    const double scale =
        span > 0x1p-1000 ? static_cast<double>(i64{1} << detail::kAxisBits) * (1 - 1e-9) / span : 1.0;
    auto coordinate = [&](i64 i, int j) { return (points[i * d + j] - low[j]) * scale; };

    const size_t size = static_cast<size_t>(n), values = static_cast<size_t>(n * d);
    Array<u32> boxes(values);
    each_of({0, n}, 2 * d, [&](i64 i) {
        for (int j = 0; j < d; ++j) boxes[i * d + j] = static_cast<u32>(coordinate(i, j));
    });
    Cloud cloud{d, 0, scale, Array<double>(values), Array<u32>(values), Array<i64>(size), {}, {}};
    cloud.rows = detail::order_along_curve(points, boxes, n, d);
    each_of({0, n}, 4 * d, [&](i64 i) {
        const i64 row = cloud.rows[i];
        for (int j = 0; j < d; ++j) {
            cloud.positions[i * d + j] = coordinate(row, j);
            cloud.boxes[i * d + j] = boxes[row * d + j];
        }
        cloud.weights[i] = weights[row];
        cloud.weight += weights[row];
    });
    for (int j = 0; j < d; ++j) cloud.period.push_back(period[j] * scale);
    return cloud;
}

// The weight of the group that is divided before each element of a sequence along the curve. A group is
// divided at its greatest step, and never at a step of 0. IN before: weight before each element, and of all.
inline std::vector<i64> divided_weights(const std::vector<i64>& steps, const std::vector<i64>& before) {
    const size_t n = steps.size();
    std::vector<i64> divided(n, 0);
    std::vector<size_t> open;  // steps whose group has not ended, falling
    for (size_t i = 1; i <= n; ++i) {
        while (!open.empty() && (i == n || steps[open.back()] < steps[i])) {
            const size_t at = open.back();
            open.pop_back();
            divided[at] = before[i] - before[open.empty() ? 0 : open.back()];
        }
        if (i < n && steps[i] > 0) open.push_back(i);
    }
    return divided;
}

// Some points of a cloud, and how the curve divides them.
struct Stretch {
    std::vector<u32> points;   // rising
    std::vector<i64> steps;    // the order of the first difference of each point from the one before
    std::vector<i64> divided;  // weight of the group that is divided before each point

    Stretch(const Cloud& cloud, std::vector<u32> some) : points(std::move(some)), steps(points.size(), 0) {
        std::vector<i64> before{0};
        each_of({0, static_cast<i64>(points.size())}, 2 * cloud.d, [&](i64 i) {
            before.push_back(before[i] + cloud.weights[points[i]]);
            if (i > 0)
                steps[i] =
                    first_difference(cloud.box(points[i - 1]), cloud.box(points[i]), cloud.d).order(cloud.d);
        });
        divided = divided_weights(steps, before);
    }
};

// Groups of neighbours on a stretch: weight and mean of each. `first` has one entry more: leaf k has the
// points first[k] .. first[k + 1] of the stretch.
struct Leaves {
    int d;
    std::vector<u32> first;
    std::vector<double> positions;
    std::vector<i64> weights;
    std::vector<i64> steps;  // those of the first points
    i64 size() const { return static_cast<i64>(weights.size()); }
    const double* position(i64 i) const { return &positions[static_cast<size_t>(i * d)]; }
    // The leaf of a point of the stretch.
    i64 of(u32 point) const {
        return std::upper_bound(first.begin(), first.end(), point) - first.begin() - 1;
    }
};

// Divides a stretch until each group weighs at most `limit` or lies in one smallest box. Leaves of a larger
// limit are unions of leaves of a smaller.
inline Leaves make_leaves(const Cloud& cloud, const Stretch& stretch, i64 limit) {
    const std::vector<u32>& points = stretch.points;
    Leaves leaves{cloud.d, {}, {}, {}, {}};
    for (u32 i = 0; i < points.size(); ++i)
        if (i == 0 || stretch.divided[i] > limit) {
            leaves.first.push_back(i);
            leaves.steps.push_back(stretch.steps[i]);
        }
    leaves.first.push_back(static_cast<u32>(points.size()));

    const size_t m = leaves.first.size() - 1, d = static_cast<size_t>(cloud.d);
    leaves.weights.assign(m, 0);
    leaves.positions.assign(m * d, 0.0);
    Poller poll;
    for (size_t k = 0; k < m; ++k) {
        poll(i64{leaves.first[k + 1] - leaves.first[k]} * cloud.d);
        double* mean = &leaves.positions[k * d];
        for (u32 i = leaves.first[k]; i < leaves.first[k + 1]; ++i) {
            const i64 weight = cloud.weights[points[i]];
            leaves.weights[k] += weight;
            for (size_t j = 0; j < d; ++j)
                mean[j] += static_cast<double>(weight) * cloud.positions[points[i] * d + j];
        }
        for (size_t j = 0; j < d; ++j) mean[j] /= static_cast<double>(leaves.weights[k]);
    }
    return leaves;
}

}  // namespace mspp
