// The points of a tree, as integers and sorted along the Morton curve.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kernel/base/errors.hpp"
#include "kernel/tree/radix.hpp"

namespace mspp {

struct Cloud {
    int d;
    i64 weight;               // of all points
    double scale;             // units of the positions per unit of the caller
    Array<i32> positions;     // (n, d), from 0 to 2^31 - 1: the smallest boxes of the curve
    Array<i64> weights;       // (n,)
    Array<u32> rows;          // (n,), the row of the caller
    std::vector<i32> period;  // (d,), in the same units; 0 for none
    i64 size() const { return static_cast<i64>(weights.size()); }
    const i32* position(i64 i) const { return &positions[static_cast<size_t>(i * d)]; }
};

// The first bit in which the codes of two boxes on the Morton curve differ: a code has the highest bits of
// all coordinates first. `axis` is -1 if the boxes are equal.
struct Difference {
    int bit;  // of the coordinate, from 1
    int axis;
    i32 order(int d) const { return axis < 0 ? 0 : bit * d - axis; }  // higher bits are greater
};

inline Difference first_difference(const i32* a, const i32* b, int d) {
    u32 any = 0;
    for (int j = 0; j < d; ++j) any |= static_cast<u32>(a[j] ^ b[j]);
    if (any == 0) return {0, -1};
    int axis = 0;
    while (static_cast<u32>(a[axis] ^ b[axis]) < std::bit_floor(any)) ++axis;
    return {static_cast<int>(std::bit_width(any)), axis};
}

namespace detail {

inline constexpr int kAxisBits = 31;

// The first bits of the code of a box, as many as an integer holds.
class CurveKey {
  public:
    explicit CurveKey(int d) : axes_(std::min(d, kBits)), axis_bits_(std::min(kAxisBits, kBits / axes_)) {
        for (int byte = 0; byte < 256; ++byte)
            for (int bit = 0; bit < 8 && bit * axes_ < kBits; ++bit)
                spread_[byte] |= u64(byte >> bit & 1) << bit * axes_;
    }
    int bits() const { return axes_ * axis_bits_; }
    u64 operator()(const i32* position) const {
        u64 key = 0;
        for (int j = 0; j < axes_; ++j) {
            const u32 first = static_cast<u32>(position[j]) >> (kAxisBits - axis_bits_);
            for (int bit = 0; bit < axis_bits_; bit += 8)
                key |= spread_[first >> bit & 255] << (bit * axes_ + axes_ - 1 - j);
        }
        return key;
    }

  private:
    static constexpr int kBits = 63;
    int axes_, axis_bits_;
    u64 spread_[256] = {};  // the bits of a byte, with space for those of the other axes
};

// The rows along the curve. In one box they are in the order of their coordinates, then of their weights:
// only rows that are equal in both depend on the order of the caller.
inline Array<Keyed> order_along_curve(const double* points, const i64* weights, const Array<i32>& positions,
                                      int d, int n_threads) {
    const CurveKey key(d);
    Array<Keyed> rows(positions.size() / static_cast<size_t>(d));
    const i64 n = static_cast<i64>(rows.size());
    const int team = team_size(n, 1 << 15, n_threads);
    parallel(team, [&](int t) {
        each_of(part(n, t, team), 8 * d,
                [&](i64 i) { rows[i] = {key(&positions[i * d]), static_cast<u32>(i)}; });
    });
    sort_by_key(rows, key.bits());
    Poller poll;
    auto before = [&](const Keyed& a, const Keyed& b) {
        poll(64);  // two random rows
        const i32 *s = &positions[i64{a.item} * d], *t = &positions[i64{b.item} * d];
        const int axis = first_difference(s, t, d).axis;
        if (axis >= 0) return s[axis] < t[axis];
        const double *p = points + i64{a.item} * d, *q = points + i64{b.item} * d;
        const auto [x, y] = std::mismatch(p, p + d, q);
        if (x != p + d) return *x < *y;
        return weights[a.item] != weights[b.item] ? weights[a.item] < weights[b.item] : a.item < b.item;
    };
    for (i64 begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && rows[end].key == rows[begin].key) ++end;
        poll(end - begin);
        if (end - begin > 1) std::sort(rows.begin() + begin, rows.begin() + end, before);
    }
    return rows;
}

struct Bounds {
    std::vector<double> low;  // of each axis
    double span;              // of the widest axis
};

inline Bounds bounds_of(const double* points, i64 n, int d, const double* period) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<double> low(static_cast<size_t>(d), kInfinity), high(static_cast<size_t>(d), -kInfinity);
    each_of({0, n}, d, [&](i64 i) {
        for (int j = 0; j < d; ++j) {
            low[j] = std::min(low[j], points[i * d + j]);
            high[j] = std::max(high[j], points[i * d + j]);
        }
    });
    double span = 0;
    for (int j = 0; j < d; ++j) {
        if (period[j] > 0) low[j] = 0, high[j] = period[j];
        span = std::max(span, high[j] - low[j]);
    }
    return {std::move(low), span};
}

}  // namespace detail

// IN points (n, d), finite; weights (n,), positive; period (d,), 0 for none: values of a periodic axis are
// from 0 to the period.
inline Cloud sort_along_curve(const double* points, const i64* weights, i64 n, int d, const double* period,
                              int n_threads = 1) {
    const auto [low, span] = detail::bounds_of(points, n, d, period);
    if (!std::isfinite(span))
        throw BadInput("the points span more than float64 can hold; scale the data down");
    // The scale of a smaller span could overflow; its points are in one box.
    const double scale = span > 0x1p-900 ? 0x1p31 * (1 - 1e-9) / span : 1.0;
    const size_t size = static_cast<size_t>(n), values = static_cast<size_t>(n * d);
    const int team = team_size(n, 1 << 15, n_threads);
    Array<i32> positions(values);
    parallel(team, [&, &low = low](int t) {
        each_of(part(n, t, team), 2 * d, [&](i64 i) {
            for (int j = 0; j < d; ++j)
                positions[i * d + j] = static_cast<i32>((points[i * d + j] - low[j]) * scale);
        });
    });
    Cloud cloud{d, 0, scale, Array<i32>(values), Array<i64>(size), Array<u32>(size), {}};
    const Array<Keyed> order = detail::order_along_curve(points, weights, positions, d, n_threads);
    parallel(team, [&](int t) {
        each_of(part(n, t, team), 4 * d, [&](i64 i) {
            const u32 row = cloud.rows[i] = order[i].item;
            std::copy_n(&positions[i64{row} * d], d, &cloud.positions[i * d]);
            cloud.weights[i] = weights[row];
        });
    });
    for (i64 i = 0; i < n; ++i) cloud.weight += weights[i];
    for (int j = 0; j < d; ++j) cloud.period.push_back(static_cast<i32>(std::nearbyint(period[j] * scale)));
    return cloud;
}

}  // namespace mspp
