// Features and their lattice, as meanshiftpp.core.tree.marginals and lattice: without periods and weights,
// and with codes of one word, which hold up to three features.
#pragma once

#include <utility>

#include "kernel/leaves/leaves.hpp"
#include "kernel/leaves/marginal.hpp"

namespace mspp {

inline int exponent_of(double x) {
    int exponent;
    std::frexp(x, &exponent);
    return exponent;
}

// The values of one feature; `Marginal` of marginals.py.
class Feature {
  public:
    explicit Feature(Marginal marginal) : marginal_(std::move(marginal)), spread_(find_spread()) {}

    double low() const { return marginal_.low; }
    double high() const { return marginal_.high; }
    double largest() const { return std::max(std::fabs(low()), std::fabs(high())); }
    double cell_size() const { return std::ldexp(1.0, marginal_.level); }
    size_t size() const { return marginal_.entries.size(); }
    i64 cell(size_t k) const { return marginal_.entries[k].cell; }
    double count(size_t k) const { return static_cast<double>(marginal_.entries[k].weight); }
    bool varies() const { return spread_ > std::max(std::ldexp(largest(), kConstant), kLeastSpread); }
    double spread() const { return varies() ? spread_ : 0; }

    int fine_level() const {
        const double span = high() - low();
        return std::max({marginal_.level - kFiner, span > 0 ? exponent_of(span) - 1 - kRangeBits : -1000,
                         largest() > 0 ? exponent_of(largest()) - 1 - kValueBits : -1000, -1000});
    }

    // The ends of the values within so many times the width of the middle 98 %.
    std::pair<double, double> limits(double times) const {
        const double first = static_cast<double>(cell(quantile(kTail))) * cell_size();
        const double last = static_cast<double>(cell(quantile(1 - kTail)) + 1) * cell_size();
        const double width = times * (last - first);
        return {std::max(low(), first - width), std::min(high(), last + width)};
    }

    // The distance between neighbouring values of a rounded feature, 0 otherwise.
    double step(double n_distinct) const {
        const bool exact = marginal_.level <= fine_level() + 1 || size() < Marginal::kMost / 2;
        if (!exact || size() < 3 || static_cast<double>(size()) > n_distinct / 2) return 0;
        std::vector<i64> gaps;
        for (size_t k = 1; k < size(); ++k) gaps.push_back(cell(k) - cell(k - 1));
        std::sort(gaps.begin(), gaps.end());
        const size_t middle = gaps.size() / 2;
        const double two = static_cast<double>(gaps[middle] + gaps[gaps.size() % 2 ? middle : middle - 1]);
        return two / 2 * cell_size();
    }

  private:
    static constexpr double kTail = 0.01, kLeastSpread = 0x1p-950;
    static constexpr int kFiner = 14, kRangeBits = 40, kValueBits = 50, kConstant = -44;

    double total() const {
        double sum = 0;
        for (size_t k = 0; k < size(); ++k) sum += count(k);
        return sum;
    }

    size_t quantile(double share) const {
        const double least = share * total();
        double sum = 0;
        for (size_t k = 0; k < size(); ++k)
            if ((sum += count(k)) >= least) return k;
        return size() - 1;
    }

    double find_spread() const {
        const double first = static_cast<double>(cell(0)), n = total();
        const auto [low, high] = limits(1.0);
        const double least = std::floor(low / cell_size()) - first,
                     most = std::floor(high / cell_size()) - first;
        auto moments = [&](double mean, int power) {
            double sum = 0;
            for (size_t k = 0; k < size(); ++k) {
                const double offset =
                    std::min(std::max(static_cast<double>(cell(k) - cell(0)), least), most) - mean;
                sum += count(k) / n * (power == 1 ? offset : offset * offset);
            }
            return sum;
        };
        return std::sqrt(moments(moments(0, 1), 2)) * cell_size();
    }

    Marginal marginal_;
    double spread_;
};

using Units = std::vector<double>;

// The units in which to look at features: all alike, and each by its spread; none if all are constant.
inline std::vector<Units> unit_choices(const std::vector<Feature>& features) {
    double largest = 0;
    for (const Feature& each : features) largest = std::max(largest, each.spread());
    if (largest == 0) return {};
    Units alike, own;
    for (const Feature& each : features) {
        const double ratio = std::max(each.spread() / largest, 0x1p-60);
        const int exponent = 2 * static_cast<int>(std::rint(std::log(ratio) / std::log(4.0)));
        own.push_back(each.spread() > 0 ? std::ldexp(1.0, exponent) : 0);
        alike.push_back(each.spread() > 0);
    }
    return own == alike ? std::vector<Units>{alike} : std::vector<Units>{alike, own};
}

// `Lattice` of lattice.py, which owns its arrays.
struct TreeLattice {
    std::vector<double> cell_size, scale, units;
    std::vector<i64> low, extent, shift, no_periods;

    static constexpr int kMaxAxes = 3;
    static int bits(size_t d) { return std::min(Lattice::kMaxBits, 64 / static_cast<int>(d)); }

    // IN units, 0 to leave a feature out; margins: room beyond the limits.
    TreeLattice(const std::vector<Feature>& features, const Units& relative,
                const std::vector<double>& margins)
        : cell_size(features.size()),
          scale(features.size(), 1),
          units(features.size(), 0),
          low(features.size(), -2),
          extent(features.size(), 4),
          shift(features.size(), 2),
          no_periods(features.size(), 0) {
        const size_t d = features.size();
        std::vector<double> sizes(d, 0);
        double size = 0;
        for (size_t j = 0; j < d; ++j) {
            const Feature& feature = features[j];
            cell_size[j] = std::ldexp(1.0, std::clamp(exponent_of(feature.largest()), -1000, 1023));
            if (relative[j] == 0) continue;
            cell_size[j] = std::ldexp(1.0, feature.fine_level());
            const auto [from, to] = feature.limits(std::ldexp(1.0, std::max(bits(d) - kLeastBits, 0)));
            const double first = std::floor((from - margins[j]) / cell_size[j]);
            const double last = std::floor((to + margins[j]) / cell_size[j]);
            low[j] = static_cast<i64>(first);
            extent[j] = static_cast<i64>(last - first) + 1;
            sizes[j] = cell_size[j] / relative[j];
            size = std::max(size, sizes[j]);
        }
        double longest = 1;  // in coordinates
        for (size_t j = 0; j < d; ++j)
            longest = std::max(longest, static_cast<double>(extent[j]) * sizes[j] / size);
        int exponent;
        const bool is_power = std::frexp(longest, &exponent) == 0.5;
        size = std::ldexp(size, std::max(0, exponent - is_power - bits(d)));
        for (size_t j = 0; j < d; ++j) {
            if (relative[j] == 0) continue;
            shift[j] = std::min(std::ilogb(size / sizes[j]), 62);
            scale[j] = std::ldexp(sizes[j], static_cast<int>(shift[j])) / size;
            units[j] = relative[j] * size;
        }
    }

    // The lattice of a tree that measures no feature.
    static TreeLattice one_cell(size_t d) {
        TreeLattice lattice;
        lattice.cell_size = lattice.scale = std::vector<double>(d, 1);
        lattice.units = std::vector<double>(d, 0);
        lattice.low = lattice.shift = lattice.no_periods = std::vector<i64>(d, 0);
        lattice.extent = std::vector<i64>(d, 1);
        return lattice;
    }

    bool is_used(size_t j) const { return units[j] > 0; }
    Lattice view() const {
        return {static_cast<int>(low.size()),
                cell_size.data(),
                no_periods.data(),
                low.data(),
                extent.data(),
                shift.data()};
    }
    double value(double position, size_t j) const {
        const double cells = std::ldexp(position / scale[j], static_cast<int>(shift[j]));
        return (cells + static_cast<double>(low[j])) * cell_size[j];
    }
    // The coordinate of a value; beyond the extent for one outside.
    i64 coordinate(double x, size_t j) const {
        const double cell = std::floor(x / cell_size[j]) - static_cast<double>(low[j]);
        return static_cast<i64>(std::clamp(cell, -0x1p60, 0x1p60)) >> shift[j];
    }
    // The position in the tree of all points with a coordinate.
    double position(i64 coordinate, size_t j) const {
        const double cell = static_cast<double>((coordinate << shift[j]) + low[j]) + 0.5;
        return (cell - static_cast<double>(low[j])) * std::ldexp(scale[j], -static_cast<int>(shift[j]));
    }

  private:
    TreeLattice() = default;
    static constexpr int kLeastBits = 15;
};

}  // namespace mspp
