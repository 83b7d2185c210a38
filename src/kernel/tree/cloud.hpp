// The points of a tree, sorted along the Morton curve, and leaves: groups of neighbours on that curve.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

struct Cloud {
    int d;
    int bits;                    // of a code
    i64 weight;                  // of all points
    double scale;                // units of the positions per unit of the caller
    Array<double> positions;     // (n, d), in units of the smallest box of the curve
    Array<i64> weights;          // (n,)
    Array<u64> codes;            // (n,), rising
    Array<u32> rows;             // (n,), the row of the caller
    std::vector<double> period;  // (d,), in the same units; 0 for none
    i64 size() const { return static_cast<i64>(weights.size()); }
    const double* position(i64 i) const { return &positions[static_cast<size_t>(i * d)]; }
};

namespace detail {

inline constexpr int kCodeBits = 62, kMaxAxisBits = 20;

// Interleaves the bits of the coordinates, the highest first.
inline u64 morton_code(const u32* coordinates, int axes, int axis_bits) {
    u64 code = 0;
    for (int bit = axis_bits - 1; bit >= 0; --bit)
        for (int j = 0; j < axes; ++j) code = code << 1 | (coordinates[j] >> bit & 1);
    return code;
}

}  // namespace detail

// IN points (n, d), finite; weights (n,), positive; period (d,), 0 for none: values of a periodic axis are
// from 0 to the period. Points with equal coordinates are kept in the order of their rows.
inline Cloud sort_along_curve(const double* points, const i64* weights, i64 n, int d, const double* period) {
    std::vector<double> low(static_cast<size_t>(d), std::numeric_limits<double>::infinity());
    double span = 0;
    for (int j = 0; j < d; ++j) {
        double high = -low[j];
        for (i64 i = 0; i < n; ++i) {
            low[j] = std::min(low[j], points[i * d + j]);
            high = std::max(high, points[i * d + j]);
        }
        if (period[j] > 0) low[j] = 0, high = period[j];
        span = std::max(span, high - low[j]);
    }
    const int axes = std::min(d, detail::kCodeBits),
              axis_bits = std::min(detail::kMaxAxisBits, detail::kCodeBits / axes);
    const double scale = span > 0 ? static_cast<double>(i64{1} << axis_bits) * (1 - 1e-9) / span : 1.0;
    auto coordinate = [&](i64 i, int j) { return (points[i * d + j] - low[j]) * scale; };

    Array<u64> codes(static_cast<size_t>(n));
    std::vector<u32> box(static_cast<size_t>(axes));
    for (i64 i = 0; i < n; ++i) {
        for (int j = 0; j < axes; ++j) box[j] = static_cast<u32>(coordinate(i, j));
        codes[i] = detail::morton_code(box.data(), axes, axis_bits);
    }
    Cloud cloud{d, axes * axis_bits, 0, scale, {}, {}, {}, Array<u32>(static_cast<size_t>(n)), {}};
    std::iota(cloud.rows.begin(), cloud.rows.end(), 0u);
    std::sort(cloud.rows.begin(), cloud.rows.end(), [&](u32 a, u32 b) {
        if (codes[a] != codes[b]) return codes[a] < codes[b];
        const double *p = points + i64{a} * d, *q = points + i64{b} * d;
        const auto [x, y] = std::mismatch(p, p + d, q);
        return x != p + d ? *x < *y : a < b;
    });
    cloud.positions.resize(static_cast<size_t>(n * d));
    cloud.weights.resize(static_cast<size_t>(n));
    cloud.codes.resize(static_cast<size_t>(n));
    for (i64 i = 0; i < n; ++i) {
        const i64 row = cloud.rows[i];
        for (int j = 0; j < d; ++j) cloud.positions[i * d + j] = coordinate(row, j);
        cloud.weights[i] = weights[row];
        cloud.codes[i] = codes[row];
        cloud.weight += weights[row];
    }
    for (int j = 0; j < d; ++j) cloud.period.push_back(period[j] * scale);
    return cloud;
}

// Groups of a part's points: weight and mean of each. `first` has one entry more: leaf k has the points
// first[k] .. first[k + 1] of the part.
struct Leaves {
    int d;
    std::vector<u32> first;
    std::vector<double> positions;
    std::vector<i64> weights;
    std::vector<u64> codes;  // of the first point of each
    i64 size() const { return static_cast<i64>(weights.size()); }
    const double* position(i64 i) const { return &positions[static_cast<size_t>(i * d)]; }
    // The leaf of a point of the part.
    i64 of(u32 point) const {
        return std::upper_bound(first.begin(), first.end(), point) - first.begin() - 1;
    }
};

// Halves the range of a part's points along the curve until each group weighs at most `limit` or lies in one
// smallest box. Leaves of a larger limit are unions of leaves of a smaller. IN part: rising indices.
inline Leaves make_leaves(const Cloud& cloud, const std::vector<u32>& part, i64 limit) {
    const u32 n = static_cast<u32>(part.size());
    std::vector<i64> before(n + 1, 0);
    for (u32 i = 0; i < n; ++i) before[i + 1] = before[i] + cloud.weights[part[i]];
    auto code = [&](u32 i) { return cloud.codes[part[i]]; };

    struct Group {
        u32 begin, end;
        int bit;
    };
    Leaves leaves{cloud.d, {}, {}, {}, {}};
    std::vector<Group> open{{0, n, cloud.bits}};
    while (!open.empty()) {
        const auto [begin, end, bit] = open.back();
        open.pop_back();
        if (begin == end) continue;
        if (before[end] - before[begin] <= limit || bit == 0 || code(begin) == code(end - 1)) {
            leaves.first.push_back(begin);
            leaves.codes.push_back(code(begin));
            continue;
        }
        const u64 half = (code(begin) >> bit << bit) | (u64{1} << (bit - 1));
        const u32 middle =
            static_cast<u32>(std::partition_point(part.begin() + begin, part.begin() + end,
                                                  [&](u32 i) { return cloud.codes[i] < half; }) -
                             part.begin());
        open.push_back({middle, end, bit - 1});
        open.push_back({begin, middle, bit - 1});
    }
    leaves.first.push_back(n);

    const size_t m = leaves.first.size() - 1, d = static_cast<size_t>(cloud.d);
    leaves.weights.resize(m);
    leaves.positions.assign(m * d, 0.0);
    for (size_t k = 0; k < m; ++k) {
        const u32 begin = leaves.first[k], end = leaves.first[k + 1];
        leaves.weights[k] = before[end] - before[begin];
        for (size_t j = 0; j < d; ++j) {
            double sum = 0;
            for (u32 i = begin; i < end; ++i)
                sum += static_cast<double>(cloud.weights[part[i]]) * cloud.positions[part[i] * d + j];
            leaves.positions[k * d + j] = sum / static_cast<double>(leaves.weights[k]);
        }
    }
    return leaves;
}

}  // namespace mspp
