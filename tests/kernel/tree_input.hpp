// Random input for the tests of tree/, and the distances that their oracles share.
#pragma once

#include <numeric>

#include "kernel/tree/leaves.hpp"
#include "oracle.hpp"

namespace tree_input {

using namespace mspp;

struct Input {
    oracle::Cloud cloud;
    std::vector<i64> weights;
    std::vector<double> period;
};

// Blobs of unequal weights; with a period, the first axis is a circle.
inline Input make_input(u32 seed, i64 n, int d, double period = 0) {
    Input input{oracle::make_cloud(seed, n, d), {}, std::vector<double>(static_cast<size_t>(d), 0.0)};
    for (const u64 weight : oracle::make_weights(seed, n))
        input.weights.push_back(1 + static_cast<i64>(weight));
    if (period > 0) {
        input.period[0] = period;
        for (i64 i = 0; i < n; ++i) {
            double& x = input.cloud.x[static_cast<size_t>(i * d)];
            x -= period * std::floor(x / period);
        }
    }
    return input;
}

// Sums of twelve uniform numbers around the corners of a line, `step` apart.
inline Input make_blobs(int blobs, i64 n, int d, double step) {
    std::mt19937_64 random(7);
    Input input{{d, {}},
                std::vector<i64>(static_cast<size_t>(n), 1),
                std::vector<double>(static_cast<size_t>(d), 0.0)};
    for (i64 i = 0; i < n; ++i)
        for (int j = 0; j < d; ++j) {
            double x = j == 0 ? step * static_cast<double>(i % blobs) : 0.0;
            for (int k = 0; k < 12; ++k) x += static_cast<double>(random() >> 11) * 0x1p-53;
            input.cloud.x.push_back(x);
        }
    return input;
}

// Calls fn(loops, name) for every instruction set of this machine.
template <class Fn>
void each_near_loops(Fn&& fn) {
    int n;
    const NearChoice* choices = near_choices(n);
    for (int k = 0; k < n; ++k)
        if (choices[k].runs_here) fn(choices[k].loops, choices[k].name);
}

inline mspp::Cloud sorted(const Input& input) {
    return sort_along_curve(input.cloud.x.data(), input.weights.data(), input.cloud.n(), input.cloud.d,
                            input.period.data());
}

inline Array<u32> all_points(const mspp::Cloud& cloud) {
    Array<u32> part(static_cast<size_t>(cloud.size()));
    std::iota(part.begin(), part.end(), 0u);
    return part;
}

inline Leaves make_leaves(const mspp::Cloud& cloud, i64 limit) {
    return join_leaves(leaves_of_points(cloud, all_points(cloud)), limit);
}

// The difference of two coordinates, the shorter way round a circle.
inline double gap_between(double a, double b, double period) {
    const double gap = std::abs(a - b);
    return period > 0 ? std::min(gap, period - gap) : gap;
}

// The squared distance of two leaves.
inline double squared_gap(const Leaves& leaves, i64 a, i64 b, const std::vector<i32>& period) {
    double squared = 0;
    for (int j = 0; j < leaves.d; ++j) {
        const double gap = gap_between(leaves.at(a, j), leaves.at(b, j), period[j]);
        squared += gap * gap;
    }
    return squared;
}

}  // namespace tree_input
