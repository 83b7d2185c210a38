// The lattice of a tree, made from its features: cells of the same size along all of them, in some units.
#pragma once

#include "kernel/leaves/feature.hpp"
#include "kernel/leaves/lattice.hpp"

namespace mspp {

using Units = std::vector<double>;

// The units in which to look at features: all alike, and each by its spread if that differs. Spreads are
// rounded to powers of four of the largest; a constant feature has the unit 0. Empty if all are constant.
inline std::vector<Units> unit_choices(const Features& features) {
    double largest = 0;
    for (const Feature& each : features)
        if (each.varies()) largest = std::max(largest, each.spread());
    if (largest == 0) return {};
    Units alike, own;
    for (const Feature& each : features) {
        const double ratio = std::max(each.spread() / largest, 0x1p-60);
        const int exponent = 2 * static_cast<int>(std::rint(std::log(ratio) / std::log(4.0)));
        own.push_back(each.varies() ? std::ldexp(1.0, exponent) : 0);
        alike.push_back(each.varies());
    }
    if (own == alike) return {alike};
    return {alike, own};
}

// How many words a code of d coordinates has, and how many bits of each coordinate it holds.
inline int code_words(size_t d) {
    return with_words(static_cast<int>(d), [](auto words) { return decltype(words)::value; });
}
inline int code_bits(size_t d) {
    return std::min(Lattice::kMaxBits, std::max(1, 64 * code_words(d) / static_cast<int>(d)));
}

// Arrays with one value per feature. A value x has the coordinate (floor(x / cell_size) - low) >> shift.
// Points outside of the extent are not part of the tree; they are far beyond nearly all others.
struct TreeLattice {
    std::vector<double> cell_size;
    std::vector<i64> cells_per_period;  // 0 for none
    std::vector<i64> low, extent;       // the first cell, and how many there are
    std::vector<i64> shift;             // bits of their number that are dropped
    std::vector<double> scale;          // length of a coordinate in the tree; 1 without a period
    std::vector<double> units;          // length in data units of 1 in the tree; 0 for a constant feature
    std::vector<double> constants;      // medians, for features whose values all have the same coordinate

    static constexpr int kPeriodBits = 30;  // a period has 2^30 cells

    TreeLattice() = default;

    // The finest lattice whose codes fit. IN relative: the units, powers of two; margins: room beyond the
    // limits of each feature.
    TreeLattice(const Features& features, const Units& relative, const std::vector<double>& margins) {
        std::vector<double> sizes;
        for (size_t j = 0; j < features.size(); ++j) {
            add_axis(features[j], relative[j], margins[j], features.size());
            sizes.push_back(relative[j] > 0 ? cell_size[j] / relative[j] : 0);
        }
        fit(sizes, relative);
    }

    size_t d() const { return low.size(); }
    bool is_used(size_t j) const { return units[j] > 0; }
    double period(size_t j) const {
        return std::ldexp(static_cast<double>(cells_per_period[j]), -static_cast<int>(shift[j])) * scale[j];
    }
    Lattice view() const {
        return {static_cast<int>(d()), cell_size.data(), cells_per_period.data(), low.data(),
                extent.data(),         shift.data()};
    }

    // The coordinate of a value; beyond the extent for one outside.
    i64 coordinate(double x, size_t j) const {
        const double from_low = std::floor(x / cell_size[j]) - static_cast<double>(low[j]);
        i64 cell = static_cast<i64>(std::clamp(from_low, -0x1p60, 0x1p60));
        if (const i64 turn = cells_per_period[j]; turn > 0) cell = (cell % turn + turn) % turn;
        return cell >> shift[j];
    }

    // The position of a value in the tree, without rounding to coordinates.
    double position(double x, size_t j) const {
        const double cells = x / cell_size[j] - static_cast<double>(low[j]);
        const double at = cells * std::ldexp(scale[j], -static_cast<int>(shift[j]));
        if (cells_per_period[j] == 0) return at;
        const double turn = period(j), rest = std::fmod(at, turn), inside = rest < 0 ? rest + turn : rest;
        return inside < turn ? inside : 0;
    }

    // The position of all points with a coordinate.
    double middle(i64 coordinate, size_t j) const {
        const double cell = static_cast<double>((coordinate << shift[j]) + low[j]) + 0.5;
        return position(cell * cell_size[j], j);
    }

    // The offset of two positions, the shorter way round a period.
    double wrapped(double offset, size_t j) const {
        if (cells_per_period[j] == 0) return offset;
        const double turn = period(j);
        return offset - std::rint(offset / turn) * turn;
    }

    // The value in data units of a position.
    double value(double position, size_t j) const {
        if (!is_used(j) || (extent[j] - 1) >> shift[j] == 0) return constants[j];
        const double cells = std::ldexp(position / scale[j], static_cast<int>(shift[j]));
        return (cells + static_cast<double>(low[j])) * cell_size[j];
    }

  private:
    static constexpr int kLeastBits = 15;  // of the coordinates of the middle 98 % of a feature

    void add_axis(const Feature& feature, double unit, double margin, size_t d) {
        i64 first = -2, cells = 4;
        if (feature.period() > 0) {
            first = 0;
            cells = i64{1} << kPeriodBits;
            cell_size.push_back(std::ldexp(feature.period(), -kPeriodBits));
        } else if (unit > 0) {
            const double size = std::ldexp(1.0, feature.fine_level());
            const auto [from, to] = feature.limits(std::ldexp(1.0, std::max(code_bits(d) - kLeastBits, 0)));
            const double begin = std::floor((from - margin) / size), end = std::floor((to + margin) / size);
            first = static_cast<i64>(begin);
            cells = static_cast<i64>(end - begin) + 1;
            cell_size.push_back(size);
        } else {
            const int exponent = std::clamp(exponent_of(feature.largest()), Feature::kFinestLevel, 1023);
            cell_size.push_back(std::ldexp(1.0, exponent));
        }
        low.push_back(first);
        extent.push_back(cells);
        cells_per_period.push_back(feature.period() > 0 ? cells : 0);
        constants.push_back(feature.median());
    }

    // Drops bits until all coordinates have the same size, and fit the codes. IN sizes of the cells in units.
    void fit(const std::vector<double>& sizes, const Units& relative) {
        const int bits = code_bits(d());
        const double largest = *std::max_element(sizes.begin(), sizes.end());
        double size = std::ldexp(1.0, whole_log2(largest > 0 ? largest : 1)), longest = 1;
        for (size_t j = 0; j < d(); ++j)
            longest = std::max(longest, static_cast<double>(extent[j]) * sizes[j] / size);
        size = std::ldexp(size, std::max(0, whole_log2(longest) - bits));
        for (size_t j = 0; j < d(); ++j) {
            const bool turns = cells_per_period[j] > 0, used = relative[j] > 0;
            i64 dropped = turns ? kPeriodBits : 2;  // all values are in one coordinate
            if (used) {
                const double wanted = std::rint(std::log2(size) - std::log2(sizes[j]));
                dropped = static_cast<i64>(std::min(wanted, 62.0));
                if (turns) dropped = std::clamp<i64>(dropped, kPeriodBits - bits, kPeriodBits - 3);
            }
            shift.push_back(dropped);
            scale.push_back(used ? std::ldexp(sizes[j], static_cast<int>(dropped)) / size : 1);
            units.push_back(used ? relative[j] * size : 0);
        }
    }

    // The least whole number that is not below log2 of x.
    static int whole_log2(double x) {
        int exponent;
        return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
    }
};

// The lattice of points that are given by their coordinates in another one.
class WholeCells {
  public:
    explicit WholeCells(const TreeLattice& lattice)
        : ones_(lattice.d(), 1),
          zeros_(lattice.d(), 0),
          extent_(lattice.d(), i64{1} << code_bits(lattice.d())) {
        for (size_t j = 0; j < lattice.d(); ++j)
            periods_.push_back(lattice.cells_per_period[j] >> lattice.shift[j]);
    }
    Lattice view() const {
        return {static_cast<int>(ones_.size()),
                ones_.data(),
                periods_.data(),
                zeros_.data(),
                extent_.data(),
                zeros_.data()};
    }

  private:
    std::vector<double> ones_;
    std::vector<i64> zeros_, extent_, periods_;
};

}  // namespace mspp
