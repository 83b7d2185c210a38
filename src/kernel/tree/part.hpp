// Parts of the data, and the splits that made them.
#pragma once

#include <cmath>

#include "kernel/tree/leaves.hpp"
#include "kernel/tree/logarithm.hpp"

namespace mspp {

// The saddle at which a part left its parent: below its density, the part is only what leads up to its peak.
struct Border {
    double radius = HUGE_VAL;  // log2, of windows of the mass
    double mass = 1, dimension = 1;

    // log2 radius of windows of another mass at the same density.
    double radius_of(double other) const { return radius + log2_of(other / mass) / dimension; }
};

// A part of the data: the points of one cluster so far.
struct Part {
    Array<u32> points;  // of the cloud, rising
    Leaves leaves;      // of these points; their mass grows with that of the windows
    i64 cluster;
    i64 weight;
    double height;                               // of its peak above the deepest valley around it, log2
    i64 mass;                                    // of the next windows
    std::vector<std::pair<i64, double>> tested;  // masses of windows that saw these points; their best score
    i64 levels;                                  // masses tried on the way here
    Border border;                               // none for all data
};

// A cluster that left its parent.
struct Split {
    i64 cluster, parent;
    i64 stage;
    i64 mass;                   // of the windows
    i64 front;                  // windows along the border; 0 if it did not matter
    u32 joins;                  // a point across the saddle
    u32 top;                    // a point at the peak
    double depth, z, critical;  // of the valley: log2 of a ratio of densities, in standard errors, needed
    double score;               // the smaller of z / critical and depth / least depth
    double weight;              // of the cluster above the saddle
    double peak, saddle, dimension;  // log2 radius at both, and the dimension that turns them into densities
};

// The clusters of a part: the first keeps its number, the others left it by the splits.
struct Division {
    std::vector<Part> parts;
    std::vector<Split> splits;
};

}  // namespace mspp
