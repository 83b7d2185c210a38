// The rules of a significant split: the constants of the tree, each with its reason.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernel/tree/logarithm.hpp"

namespace mspp {

// The critical values of a number of features; src/meanshiftpp/core/tree/critical.py has them.
struct CriticalValues {
    double line;   // factor for parts that are lines: noise cuts them at one window
    double plane;  // factor for parts of two and more dimensions: noise must close a ring of windows
    double slope;  // of the factor between the two, by dimension
    double least;  // no split below this, however few windows there are
};

// The masses of windows and leaves.
struct Masses {
    double row;  // weight of one effective row

    static constexpr i64 kLeastRows = 8;
    static constexpr i64 kWindowsToSplit = 4;  // a part lighter than so many windows stays whole
    // The lightest window holds so many of the caller's points, or they would blur it; single rows do not. A
    // quarter of a part's points may be heavier: a few piles of equal rows must not widen all windows.
    static constexpr i64 kPointsInWindow = 12;
    bool is_heavy(i64 point, i64 mass) const {
        return static_cast<double>(point) > row && kPointsInWindow * point > mass;
    }

    // The masses of a part grow by about half, and double if it has many rows, whose valleys show at any
    // mass.
    static constexpr double kManyRows = 32768;
    static i64 next(i64 mass, double rows) { return rows < kManyRows ? mass + mass / 2 : 2 * mass; }
    static i64 before(i64 mass, double rows) { return rows < kManyRows ? (2 * mass + 2) / 3 : mass / 2; }
    static constexpr i64 kSmallPart = 16;  // a part of at most this share of the data has windows of its own

    // The mass of the lightest windows of a part, if its points are light enough.
    i64 first(i64 weight) const {
        const i64 root = static_cast<i64>(std::sqrt(static_cast<double>(weight) / row));
        return static_cast<i64>(std::ceil(row * static_cast<double>(std::max(kLeastRows, root / 4))));
    }
    // The mass of leaves, which must blur a window less than noise does. Leaves of more features are halved
    // along few axes, so they must be lighter to be as compact.
    i64 leaf(i64 mass, int d) const {
        constexpr int kMany = 6;
        constexpr i64 kLeavesInWindow[kMany + 1] = {16, 16, 16, 24, 40, 56, 168};
        const i64 rows = static_cast<i64>(std::sqrt(static_cast<double>(mass) / row)) / 2;
        const i64 root = static_cast<i64>(row * static_cast<double>(rows));  // blurs less than noise
        return std::max({i64{1}, mass / kLeavesInWindow[std::min(d, kMany)], d < kMany ? root : 1});
    }
    // The heaviest leaf of a part: every feature is halved at least twice on average. Two layers of leaves
    // along one feature look like two clusters, with a valley where no leaf has its centre.
    static i64 heaviest_leaf(i64 weight, int d) {
        constexpr int kMany = 6;
        return std::max<i64>(1, weight >> 2 * std::min(d, kMany));
    }
};

struct Rules {
    int d;
    double region;  // weight of the data among which a valley is to be rare
    double row;     // weight of one effective row
    double strictness;
    CriticalValues critical;
    double dip = kWideDip;

    // The least depth of a valley: log2 of 1.25 in the lightest windows, of 1.4 in heavier ones. Wide windows
    // also see the shape of a part: those across a ring hold more of it where it is bent.
    static constexpr double kDip = 0.32192809488736235, kWideDip = 0.4854268271702416;
    static constexpr double kInner = 0.2;  // least depth, as a share of the part's height
    static constexpr double kDeep = 2.0;   // depth that always suffices: log2 of 4
    // Where the surroundings of a peak fill all features, no bend and no edge is in sight, only a wide part
    // that the peak lies on. Noise is then all there is to fear, and z measures it; the least depth is log2
    // of 1.2. The share of the features that is filled was 1.00 around bumps on a wide Gaussian, and 0.87 to
    // 0.92 inside a thick ring in three features.
    static constexpr double kFlatDip = 0.2630344058337938;
    static constexpr double kAlmostFull = 0.9, kFull = 0.98;
    static constexpr double kLineDimension = 1.2;
    static constexpr double kLongFront = 1.1, kLongestFront = 0.95;  // factors for 6 and 18 windows

    // The radius of a ball of mass K / 2 relative to the root mean square radius of mass K, as log2 units.
    static i64 link_shift(double dimension) {
        const double shift = 1 / dimension + 0.5 * log2_of(dimension / (dimension + 2));
        return static_cast<i64>(std::floor(shift / kLogUnit + 0.5));
    }
    // The dimension in which mass grows with the radius, from the mean growth of log2 radius to twice the
    // mass.
    double dimension(double growth) const {
        return std::clamp(1 / std::max(growth * kLogUnit, kLogUnit), 0.5, double(d));
    }

    // IN shape: the dimension of the surroundings.
    double least_depth(double height, double shape) const {
        const double bent = std::clamp((kFull - shape / d) / (kFull - kAlmostFull), 0.0, 1.0);
        return std::max(kFlatDip + bent * (dip - kFlatDip), std::min(bent * kInner * height, kDeep));
    }
    // The depth of a valley (log2 of a ratio of densities) in standard errors.
    double z(double depth, double dimension, double mass) const {
        return depth * kLn2 * std::sqrt(mass / row / 2 / (1 + dimension / (dimension + 4)));
    }
    // The extreme of all differences of two windows, one of the part and one of the region: sqrt(2 ln pairs),
    // and more for light windows. The logarithm of the mass within a radius is skewed by 1 / sqrt(K), so its
    // extremes are farther out than those of a Gaussian. The factors hold for windows of ten rows.
    double extreme(double smaller, double mass) const {
        const double pairs = region / mass * std::max(smaller / mass, 1.0);
        return std::sqrt(2 * kLn2 * log2_of(pairs)) * tail(mass / row) / tail(10);
    }
    static double tail(double rows) { return 1 + 0.25 / std::sqrt(rows); }
    // The factor for a shape (1 for a line), and for a border that is `front` windows long.
    double factor(double shape) const {
        return std::clamp(critical.line - critical.slope * (shape - kLineDimension), critical.plane,
                          critical.line);
    }
    static double factor_of_front(double factor, double front) {
        factor += (std::min(factor, kLongFront) - factor) * std::clamp((front - 3) / 3, 0.0, 1.0);
        factor += (std::min(factor, kLongestFront) - factor) * std::clamp((front - 9) / 9, 0.0, 1.0);
        return factor;
    }
    // The most lenient factor of any shape and front.
    double lenient_factor() const { return std::min(critical.plane, kLongestFront); }
    double critical_value(double factor, double extreme) const {
        return std::max(critical.least, factor * extreme);
    }
};

}  // namespace mspp
