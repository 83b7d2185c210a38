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

struct Rules {
    int d;
    double total;  // weight of all points
    double strictness;
    CriticalValues critical;

    static constexpr double kDip = 0.32192809488736235;  // least depth of a valley: log2 of 1.25
    static constexpr double kInner = 0.2;                // least depth, as a share of the part's height
    static constexpr double kDeep = 2.0;                 // depth that always suffices: log2 of 4
    static constexpr double kLineDimension = 1.2;
    static constexpr double kLongFront = 1.1, kLongestFront = 0.7;  // factors for 6 and 18 windows

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

    double least_depth(double height) const { return std::max(kDip, std::min(kInner * height, kDeep)); }
    // The depth of a valley (log2 of a ratio of densities) in standard errors.
    static double z(double depth, double dimension, double mass) {
        return depth * kLn2 * std::sqrt(mass / 2 / (1 + dimension / (dimension + 4)));
    }
    // The extreme of all differences of two windows, one of the part and one of all data: sqrt(2 ln pairs).
    double extreme(double smaller, double mass) const {
        return std::sqrt(2 * kLn2 * log2_of(total / mass * std::max(smaller / mass, 1.0)));
    }
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
    double critical_value(double factor, double extreme) const {
        return std::max(critical.least, factor * extreme);
    }
};

}  // namespace mspp
