// Profiles: sums of the points of each cluster, in one pass over the points.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

// Per cluster: its weight, and per feature the weighted sums of offsets and of their squares, the smallest
// and the largest offset. An offset is the distance from the centre in units of the feature.
struct ClusterSums {
    double total = 0;             // the weight of all points, of label -1 too
    Array<double> weights;        // (k,)
    Array<double> sums, squares;  // (k, d)
    Array<double> lows, highs;    // (k, d), infinite for a cluster without points
    ClusterSums(size_t k, size_t d)
        : weights(k, 0.0),
          sums(k * d, 0.0),
          squares(k * d, 0.0),
          lows(k * d, std::numeric_limits<double>::infinity()),
          highs(k * d, -std::numeric_limits<double>::infinity()) {}
};

// IN labels (n,): -1 for none; weights (n,) or null; centers (k, d); periods (d,), 0 for none; units (d,).
// The points are added one after the other on one thread, so the sums do not depend on the number of threads.
inline ClusterSums sum_clusters(const Points& points, const i32* labels, const double* weights,
                                const double* centers, i64 k, const double* periods, const double* units) {
    const int d = points.d;
    ClusterSums found(static_cast<size_t>(k), static_cast<size_t>(d));
    with_type(points.dtype, [&](auto zero) {
        using T = decltype(zero);
        each_of({0, points.n}, 4 * d, [&](i64 i) {
            const double weight = weights ? weights[i] : 1.0;
            found.total += weight;
            const i64 label = labels[i];
            if (label >= k) throw std::invalid_argument("labels must be below the number of centers");
            if (label < 0 || !(weight > 0)) return;
            found.weights[label] += weight;
            for (int j = 0; j < d; ++j) {
                T x;
                std::memcpy(&x, points.at(i, j), sizeof x);
                double offset = static_cast<double>(x) - centers[label * d + j];
                if (periods[j] > 0) offset -= std::nearbyint(offset / periods[j]) * periods[j];
                offset /= units[j];
                const i64 at = label * d + j;
                found.sums[at] += weight * offset;
                found.squares[at] += weight * offset * offset;
                found.lows[at] = std::min(found.lows[at], offset);
                found.highs[at] = std::max(found.highs[at], offset);
            }
        });
    });
    return found;
}

}  // namespace mspp
