// Piles of equal values, as meanshiftpp.core.tree.piles: spread over their step or outwards, or counted less.
#pragma once

#include <numeric>

#include "features.hpp"
#include "kernel/base/mix_bits.hpp"

namespace mspp {

// Weighted points, by their coordinates.
struct Weighted {
    Array<i64> coordinates;  // (n, d)
    Array<u64> counts;
};

// A pile at the end of a feature's scale; the width is negative at the low end.
struct EndPile {
    size_t feature;
    double value, width;
    static constexpr double kFarthest = 15;

    bool holds(i64 coordinate, const TreeLattice& lattice) const {
        if (!lattice.is_used(feature)) return false;
        const i64 cell =
            static_cast<i64>(std::floor(value / lattice.cell_size[feature])) - lattice.low[feature];
        return coordinate == cell >> lattice.shift[feature];
    }
    // How far to move a part of the pile, from 0 to 1.
    i64 move(double part, const TreeLattice& lattice) const {
        const double length = width / lattice.units[feature];
        part *= kFarthest / (1 + kFarthest);
        return static_cast<i64>(std::rint(length * part / (1 - part)));
    }
};

inline std::vector<EndPile> end_piles(const std::vector<Feature>& features) {
    constexpr size_t kNeighbours = 16;
    std::vector<EndPile> found;
    for (size_t j = 0; j < features.size(); ++j) {
        const Feature& feature = features[j];
        const size_t n = feature.size();
        if (n < 2 * kNeighbours) continue;
        for (const bool is_low : {true, false}) {
            auto from_end = [&](size_t k) { return is_low ? k : n - 1 - k; };
            auto inner = [&](size_t k) { return feature.count(from_end(k + 1)); };
            const double pile = feature.count(from_end(0));
            double heaviest = 0, others = 0;
            for (size_t k = 0; k + 1 < n; ++k) {
                others += inner(k);
                if (k < kNeighbours) heaviest = std::max(heaviest, inner(k));
            }
            const auto [low, high] = feature.limits(1);
            if (is_low ? low != feature.low() : high != feature.high()) continue;
            if (pile < 0.002 * (pile + others) || pile < 4 * heaviest) continue;
            const double near = 0.25 * std::min(pile, others);
            size_t at = 0;
            double sum = 0;
            do sum += inner(at++);
            while (sum < near);
            const i64 cells = feature.cell(from_end(at)) - feature.cell(from_end(0));
            const double length = static_cast<double>(std::abs(cells)) * feature.cell_size();
            const double width = length * pile / sum;
            found.push_back({j, is_low ? feature.low() : feature.high(), is_low ? -width : width});
        }
    }
    return found;
}

// The room that spread points need beyond the limits of each feature.
inline std::vector<double> margins_of(const std::vector<EndPile>& ends, std::vector<double> steps) {
    for (const EndPile& end : ends)
        steps[end.feature] = std::max(steps[end.feature], EndPile::kFarthest * std::fabs(end.width));
    return steps;
}

// Moves points of piles to the middle of where they were spread.
inline void place_ends(Array<i64>& coordinates, size_t d, const TreeLattice& lattice,
                       const std::vector<EndPile>& ends) {
    const Array<i64> before = coordinates;
    for (const EndPile& end : ends)
        for (size_t i = end.feature; i < coordinates.size(); i += d)
            if (end.holds(before[i], lattice)) coordinates[i] += end.move(0.5, lattice);
}

// Spreads piles outwards. IN limit: the largest weight of a leaf.
inline Weighted spread_ends(const Weighted& points, size_t d, const TreeLattice& lattice,
                            const std::vector<EndPile>& ends, u64 limit) {
    constexpr u64 kCopies = 32, kGolden = 0x9E3779B97F4A7C15;
    Weighted now = points;
    for (size_t number = 0; number < ends.size(); ++number) {
        const EndPile& end = ends[number];
        Weighted next;
        for (size_t i = 0; i < now.counts.size(); ++i) {
            const i64* row = &now.coordinates[i * d];
            const u64 count = now.counts[i];
            const bool is_own = end.holds(row[end.feature], lattice);
            const u64 copies = is_own ? std::min(count, std::max((count + limit - 1) / limit, kCopies)) : 1;
            u64 hash = 0;
            for (size_t j = 0; j < d; ++j) hash = mix_bits((hash ^ static_cast<u64>(row[j])) + kGolden);
            const double uniform =
                static_cast<double>(mix_bits(hash + (number + 1) * kGolden) >> 11) * 0x1p-53;
            for (u64 k = 0; k < copies; ++k) {
                next.coordinates.insert(next.coordinates.end(), row, row + d);
                next.counts.push_back(count * (k + 1) / copies - count * k / copies);
                const double part = (static_cast<double>(k) + uniform) / static_cast<double>(copies);
                if (is_own)
                    next.coordinates[next.coordinates.size() - d + end.feature] += end.move(part, lattice);
            }
        }
        now = std::move(next);
    }
    return now;
}

// Divides points heavier than the limit evenly over their steps. IN steps, in coordinates; 0 for none.
inline Weighted spread_steps(const Weighted& points, size_t d, const std::vector<double>& steps, u64 limit) {
    std::vector<size_t> rounded;
    double least = HUGE_VAL;
    for (size_t j = 0; j < d; ++j)
        if (steps[j] >= 3) {
            rounded.push_back(j);
            least = std::min(least, steps[j]);
        }
    if (rounded.empty()) return points;
    Weighted spread;
    for (size_t i = 0; i < points.counts.size(); ++i) {
        const u64 count = points.counts[i];
        u64 m = 1;  // along each feature, odd, so that one stays in the middle
        if (count > limit) {
            const double wanted = static_cast<double>(count) / static_cast<double>(limit);
            const double root = rounded.size() == 1   ? wanted
                                : rounded.size() == 2 ? std::sqrt(wanted)
                                                      : std::pow(wanted, 1.0 / 3);
            m = std::min(static_cast<u64>(std::ceil(root)) | 1,
                         static_cast<u64>(static_cast<i64>(least) - 1) | 1);
        }
        u64 total = 1;
        for (size_t k = 0; k < rounded.size(); ++k) total *= m;
        for (u64 k = 0; k < total; ++k) {
            const u64 share = count * (k + 1) / total - count * k / total;
            if (share == 0) continue;
            spread.counts.push_back(share);
            const i64* row = &points.coordinates[i * d];
            spread.coordinates.insert(spread.coordinates.end(), row, row + d);
            u64 rest = k;
            for (size_t r = rounded.size(); r-- > 0; rest /= m) {
                const double place = (static_cast<double>(rest % m) + 0.5) / static_cast<double>(m) - 0.5;
                spread.coordinates[spread.coordinates.size() - d + rounded[r]] +=
                    static_cast<i64>(std::rint(place * steps[rounded[r]]));
            }
        }
    }
    return spread;
}

// The counts of repeated points by their share of the effective sample size (Kish 1965).
inline void make_effective(Array<u64>& counts) {
    double sum = 0, squares = 0;
    for (const u64 count : counts) {
        const double weight = static_cast<double>(count);
        sum += weight;
        squares += weight * weight;
    }
    for (u64& count : counts)
        count = std::max<u64>(static_cast<u64>(std::rint(static_cast<double>(count) * (sum / squares))), 1);
}

}  // namespace mspp
