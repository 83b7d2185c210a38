// Piles at the ends of clipped features.
//
// A sensor collects everything beyond its scale at the two ends. Such a pile is spread outwards, where the
// density falls from that of the values next to it.
#pragma once

#include "kernel/leaves/tree_lattice.hpp"

namespace mspp {

// A pile at the end of a feature's scale; half of it is spread within `width` of data units, which is
// negative at the low end.
struct EndPile {
    size_t feature;
    double value, width;

    static constexpr double kFarthest = 15;  // widths

    bool holds(i64 coordinate, const TreeLattice& lattice) const {
        if (!lattice.is_used(feature)) return false;
        const i64 cell =
            static_cast<i64>(std::floor(value / lattice.cell_size[feature])) - lattice.low[feature];
        return coordinate == cell >> lattice.shift[feature];
    }
    // How far to move a part of the pile, from 0 to 1: the density falls with the distance.
    i64 move(double part, const TreeLattice& lattice) const {
        part *= kFarthest / (1 + kFarthest);
        return static_cast<i64>(std::rint(width / lattice.units[feature] * part / (1 - part)));
    }
};

using EndPiles = std::vector<EndPile>;

namespace detail {

// One end of a feature: its cells from there inwards.
class ScaleEnd {
  public:
    ScaleEnd(const Feature& feature, bool is_low) : feature_(feature), is_low_(is_low) {}

    // Whether far more points lie here than next to it. Outliers, such as a code for missing values, are not
    // the end of a scale.
    bool has_pile() const {
        const auto [low, high] = feature_.limits(1);
        if (is_low_ ? low != feature_.low() : high != feature_.high()) return false;
        double heaviest = 0;
        for (size_t k = 1; k <= kNeighbours; ++k) heaviest = std::max(heaviest, count(k));
        return count(0) >= kLeastPile * (count(0) + others()) && count(0) >= kHeavier * heaviest;
    }

    double width() const {
        const double near = kNear * std::min(count(0), others());
        size_t last = 1;
        double sum = count(1);
        while (sum < near) sum += count(++last);
        const double length = static_cast<double>(std::abs(cell(last) - cell(0))) * feature_.cell_size();
        return length * count(0) / sum;
    }

    static constexpr size_t kNeighbours = 16;

  private:
    static constexpr double kHeavier = 4;        // times the heaviest of the values next to it
    static constexpr double kLeastPile = 0.002;  // of all points
    static constexpr double kNear = 0.25;  // of a pile: so many points next to it tell the density there

    size_t at(size_t k) const { return is_low_ ? k : feature_.size() - 1 - k; }
    double count(size_t k) const { return feature_.count(at(k)); }
    i64 cell(size_t k) const { return feature_.cell(at(k)); }
    double others() const {
        double sum = 0;
        for (size_t k = 1; k < feature_.size(); ++k) sum += count(k);
        return sum;
    }

    const Feature& feature_;
    bool is_low_;
};

}  // namespace detail

inline EndPiles find_end_piles(const Features& features) {
    EndPiles found;
    for (size_t j = 0; j < features.size(); ++j) {
        const Feature& feature = features[j];
        if (feature.period() > 0 || feature.size() < 2 * detail::ScaleEnd::kNeighbours) continue;
        for (const bool is_low : {true, false}) {
            const detail::ScaleEnd end(feature, is_low);
            if (!end.has_pile()) continue;
            found.push_back(
                {j, is_low ? feature.low() : feature.high(), is_low ? -end.width() : end.width()});
        }
    }
    return found;
}

// Moves the points of piles to the middle of where they were spread. OUT coordinates (n, d).
inline void place_ends(Array<i64>& coordinates, const TreeLattice& lattice, const EndPiles& ends) {
    const Array<i64> before = coordinates;
    for (const EndPile& end : ends)
        for (size_t i = end.feature; i < coordinates.size(); i += lattice.d())
            if (end.holds(before[i], lattice)) coordinates[i] += end.move(0.5, lattice);
}

// How a tree measures points: the lattice, and the piles that are spread.
struct LatticePlan {
    TreeLattice lattice;
    EndPiles ends;
    bool is_plain;  // no feature is rounded or has a pile at its end

    // IN total: the weight of all points.
    LatticePlan(const Features& features, const Units& units, double total) : ends(find_end_piles(features)) {
        std::vector<double> margins;
        for (size_t j = 0; j < features.size(); ++j)
            margins.push_back(units[j] > 0 ? features[j].step(total) : 0);
        is_plain =
            ends.empty() && std::none_of(margins.begin(), margins.end(), [](double x) { return x > 0; });
        for (const EndPile& end : ends)
            margins[end.feature] = std::max(margins[end.feature], EndPile::kFarthest * std::fabs(end.width));
        lattice = TreeLattice(features, units, margins);
    }
};

}  // namespace mspp
