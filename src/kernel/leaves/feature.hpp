// A feature: its marginal, and what the lattice of a tree needs of it.
//
// A marginal is the only thing that is known of all values, so the range of the values that are not outliers,
// their spread and the step of rounded ones all come from it.
#pragma once

#include <numbers>
#include <utility>

#include "kernel/leaves/marginal.hpp"

namespace mspp {

// The least e with |x| < 2^e; 0 for 0.
inline int exponent_of(double x) {
    int exponent;
    std::frexp(x, &exponent);
    return exponent;
}

class Feature {
  public:
    // IN period: 0 for none.
    Feature(Marginal marginal, double period) : marginal_(std::move(marginal)), period_(period) {
        if (size() == 0) return;
        middle_ = {static_cast<double>(cell(quantile(kTail))) * cell_size(),
                   static_cast<double>(cell(quantile(1 - kTail)) + 1) * cell_size()};
        spread_ = period > 0 ? circular_spread() : linear_spread();
    }

    static constexpr int kFinestLevel = -1000;
    static constexpr double kLeastSpread = 0x1p-950;  // below it, cells would be subnormal

    const Marginal& marginal() const { return marginal_; }
    double period() const { return period_; }
    double low() const { return marginal_.low; }
    double high() const { return marginal_.high; }
    double largest() const { return std::max(std::fabs(low()), std::fabs(high())); }
    size_t size() const { return marginal_.entries.size(); }
    i64 cell(size_t k) const { return marginal_.entries[k].cell; }
    double count(size_t k) const { return static_cast<double>(marginal_.entries[k].weight); }
    double cell_size() const {
        return period_ > 0 ? period_ / static_cast<double>(Marginal::kMost)
                           : std::ldexp(1.0, marginal_.level);
    }

    // The standard deviation. A value beyond the middle 98 % by more than their range counts as if it were at
    // that limit.
    double spread() const { return spread_; }

    // Whether the feature is not constant, apart from the rounding of its values.
    bool varies() const {
        if (spread_ == 0 || period_ > 0) return spread_ > 0;
        return spread_ > std::max(std::ldexp(largest(), kConstant), kLeastSpread);
    }

    // The level of the cells of a tree, for a feature without a period.
    int fine_level() const {
        auto below = [](double x, int bits) { return x > 0 ? exponent_of(x) - 1 - bits : kFinestLevel; };
        return std::max({marginal_.level - kFiner, below(high() - low(), kRangeBits),
                         below(largest(), kValueBits), kFinestLevel});
    }

    // The ends of the values within so many times the width of the middle 98 %.
    std::pair<double, double> limits(double times) const {
        const double width = times * (middle_.second - middle_.first);
        return {std::max(low(), middle_.first - width), std::min(high(), middle_.second + width)};
    }

    // To the precision of a cell.
    double median() const {
        if (size() == 0) return low();
        const double value = (static_cast<double>(cell(quantile(0.5))) + 0.5) * cell_size();
        return std::min(std::max(value, low()), high());
    }

    // The distance between neighbouring values of a rounded feature, 0 otherwise: a feature is rounded if it
    // has at most half as many values as there are distinct points.
    double step(double n_distinct) const {
        const bool exact = marginal_.level <= fine_level() + 1 || size() < Marginal::kMost / 2;
        if (period_ > 0 || !exact || size() < 3 || static_cast<double>(size()) > n_distinct / 2) return 0;
        std::vector<i64> gaps;
        for (size_t k = 1; k < size(); ++k) gaps.push_back(cell(k) - cell(k - 1));
        const auto middle = gaps.begin() + static_cast<i64>(gaps.size() / 2);
        std::nth_element(gaps.begin(), middle, gaps.end());
        const i64 below = gaps.size() % 2 ? *middle : *std::max_element(gaps.begin(), middle);
        return static_cast<double>(*middle + below) / 2 * cell_size();
    }

  private:
    static constexpr double kTail = 0.01;  // share of the values on either side that may be outliers
    static constexpr int kFiner = 14;      // bits by which cells of a tree are finer than those of a marginal
    static constexpr int kRangeBits = 40, kValueBits = 50;  // no cells are finer than these parts
    static constexpr int kConstant = -44;  // bits: a spread below this part of the values is their rounding

    double total() const {
        double sum = 0;
        for (const Marginal::Entry& each : marginal_.entries) sum += static_cast<double>(each.weight);
        return sum;
    }

    size_t quantile(double share) const {
        const double least = share * total();
        double sum = 0;
        for (size_t k = 0; k < size(); ++k)
            if ((sum += count(k)) >= least) return k;
        return size() - 1;
    }

    // The mean of fn over the values. IN fn: of the number of an entry.
    template <class Fn>
    double mean(Fn&& fn) const {
        const double n = total();
        double sum = 0;
        for (size_t k = 0; k < size(); ++k) sum += count(k) / n * fn(k);
        return sum;
    }

    double linear_spread() const {
        const auto [low, high] = limits(1.0);
        const double first = static_cast<double>(cell(0)), least = std::floor(low / cell_size()) - first,
                     most = std::floor(high / cell_size()) - first;
        auto offset = [&](size_t k) {
            return std::min(std::max(static_cast<double>(cell(k) - cell(0)), least), most);
        };
        const double middle = mean(offset);
        auto square = [&](size_t k) { return (offset(k) - middle) * (offset(k) - middle); };
        return std::sqrt(mean(square)) * cell_size();
    }

    // Around the circular mean.
    double circular_spread() const {
        if (size() == 1) return 0;
        constexpr double kTurn = 2 * std::numbers::pi;
        auto turns = [&](size_t k) {
            return (static_cast<double>(cell(k)) + 0.5) / static_cast<double>(Marginal::kMost);
        };
        const double x = mean([&](size_t k) { return std::cos(kTurn * turns(k)); });
        const double y = mean([&](size_t k) { return std::sin(kTurn * turns(k)); });
        const double middle = std::atan2(y, x) / kTurn;
        auto square = [&](size_t k) {
            const double offset = turns(k) - middle, wrapped = offset - std::rint(offset);
            return wrapped * wrapped;
        };
        return std::sqrt(mean(square)) * period_;
    }

    Marginal marginal_;
    double period_;
    std::pair<double, double> middle_{0, 0};
    double spread_ = 0;
};

using Features = std::vector<Feature>;

}  // namespace mspp
