// Columns of the caller's points, block by block: a block stays in the first-level cache, so that loops over
// one axis after the other read the points from memory once.
#pragma once

#include "kernel/base/threads.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

inline constexpr int kColumnRows = 512;  // of a block

// OUT out (count,): one column of a block as doubles. Returns whether all are finite and exact.
template <class T>
bool load_column(const Points& points, i64 first, int count, int axis, double* out) {
    bool is_good = true;
    for (int k = 0; k < count; ++k) {
        T x;
        std::memcpy(&x, points.at(first + k, axis), sizeof x);
        out[k] = static_cast<double>(x);
        if constexpr (!std::numeric_limits<T>::is_integer)
            is_good &= std::fabs(out[k]) <= std::numeric_limits<double>::max();
        else if constexpr (sizeof(T) == 8)
            is_good &= is_exact(x);
    }
    return is_good;
}

// Throws BadInput for the first value of some rows that is not finite or not exact.
template <class T>
void check_rows(const Points& points, Range rows) {
    for (i64 i = rows.begin; i < rows.end; ++i)
        for (int j = 0; j < points.d; ++j)
            if (const double x = widen<T>(points, i, j); !std::isfinite(x)) reject(i, j, x, 1.0);
}

// Calls fn(first, count) for each block of a range of rows, and polls.
template <class Fn>
void each_block(Range rows, Fn&& fn) {
    for (i64 first = rows.begin; first < rows.end; first += kColumnRows) {
        poll();
        fn(first, static_cast<int>(std::min<i64>(kColumnRows, rows.end - first)));
    }
}

// Throws BadInput for the first value that is not finite.
template <class T>
void check_finite(const Points& points, int n_threads) {
    const int team = team_size(points.n, 1 << 16, n_threads);
    parallel(team, [&](int t) {
        each_block(part(points.n, t, team), [&](i64 first, int count) {
            double values[kColumnRows];
            for (int j = 0; j < points.d; ++j)
                if (!load_column<T>(points, first, count, j, values))
                    check_rows<T>(points, {first, first + count});
        });
    });
}

}  // namespace mspp
