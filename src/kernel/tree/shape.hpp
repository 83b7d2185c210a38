// Shapes: whether the surroundings of a peak are a line, which noise cuts at one window, or more.
#pragma once

#include "kernel/base/mix_bits.hpp"
#include "kernel/tree/peaks.hpp"

namespace mspp {

// The sums of a window from which its covariance follows. More than kAxes features are added up, with signs,
// to that many: a line stays a line, and the time grows with d instead of d^2.
class Moments {
  public:
    Moments(const Leaves& leaves, const std::vector<i32>& period)
        : leaves_(leaves),
          period_(period),
          d_(std::min(leaves.d, kAxes)),
          offset_(size_t(d_)),
          first_(size_t(d_)),
          second_(size_t(d_ * d_)) {}

    void clear() {
        mass_ = 0;
        std::fill(first_.begin(), first_.end(), 0.0);
        std::fill(second_.begin(), second_.end(), 0.0);
    }

    // Adds a leaf at its place relative to a centre.
    void add(i64 centre, u32 leaf) {
        std::fill(offset_.begin(), offset_.end(), 0.0);
        for (int j = 0; j < leaves_.d; ++j) {
            const bool negative = j >= kAxes && mix_bits(static_cast<u64>(j)) >> 63;
            const double offset = offset_of(leaves_.at(leaf, j), leaves_.at(centre, j), period_[j]);
            offset_[j % kAxes] += negative ? -offset : offset;
        }
        const double weight = static_cast<double>(leaves_.weights[leaf]);
        mass_ += leaves_.weights[leaf];
        for (int j = 0; j < d_; ++j) {
            first_[j] += weight * offset_[j];
            for (int i = 0; i <= j; ++i) second_[j * d_ + i] += weight * offset_[j] * offset_[i];
        }
    }

    // (tr C)^2 / tr C^2 of the covariance C: 1 for a line, d for a ball.
    double shape() const {
        const double mass = static_cast<double>(mass_);
        double trace = 0, squares = 0;
        for (int j = 0; j < d_; ++j)
            for (int i = 0; i <= j; ++i) {
                const double covariance = second_[j * d_ + i] / mass - first_[i] / mass * (first_[j] / mass);
                if (i == j) trace += covariance;
                squares += (i == j ? 1 : 2) * covariance * covariance;
            }
        return squares > 0 ? trace * trace / squares : 1;
    }

  private:
    static constexpr int kAxes = 16;
    static double offset_of(i32 a, i32 b, i32 period) {
        const i32 offset = a - b;
        if (period == 0 || 2 * i64{std::abs(offset)} <= period) return offset;
        return offset > 0 ? offset - period : offset + period;
    }
    const Leaves& leaves_;
    const std::vector<i32>& period_;
    int d_;
    i64 mass_ = 0;
    std::vector<double> offset_, first_, second_;
};

// The dimension of the surroundings of some peaks: within their windows, and by the shape of windows of 4 K
// and of up to 32 K around their leaves. A tube that is several windows thick fills the former, but noise
// cuts it almost like a line. The latter hold at most a sixth of the part, which has other clusters beyond.
class PeakShapes {
  public:
    PeakShapes(const Links& links, const Peaks& peaks, const std::vector<u32>& wanted, i64 weight,
               int n_threads)
        : links_(links),
          leaves_(links.all().leaves()),
          peaks_(peaks),
          mass_(links.windows().mass),
          needed_(peaks.size(), 0),
          sums_(peaks.size()) {
        for (const u32 b : wanted) needed_[b] = 1;
        for (u32 b = 0; b < peaks.size(); ++b)
            if (!needed_[b] && !peaks.alive(b)) needed_[b] = needed_[peaks.parent(b)];
        add_leaves(weight, n_threads);
        for (u32 b = peaks.size(); b-- > 0;)
            if (!peaks.alive(b)) sums_[peaks.parent(b)] += sums_[b];
    }

    // The dimension around a wanted peak.
    double operator[](u32 b) const {
        const Inverse& sum = sums_[b];
        const double weight = static_cast<double>(peaks_.weight(b));
        return std::clamp(weight / std::max({sum.near, sum.medium, sum.wide, 1e-6}), 1.0, double(leaves_.d));
    }

  private:
    static constexpr i64 kMedium = 4, kWide = 32, kShare = 6;
    static constexpr i64 kLeavesInWindow = 32;
    struct Inverse {  // of the dimension, times weight
        double near = 0, medium = 0, wide = 0;
        void operator+=(const Inverse& other) {
            near += other.near, medium += other.medium, wide += other.wide;
        }
    };

    bool is_needed(u32 i) const { return needed_[peaks_.host(i)]; }

    void add_leaves(i64 weight, int n_threads) {
        for (u32 i = 0; i < links_.size(); ++i)
            if (is_needed(i))
                sums_[peaks_.host(i)].near += static_cast<double>(leaves_.weights[i]) * near_slope(i);
        const i64 medium = std::min(kMedium * mass_, weight), wide = std::min(kWide * mass_, weight / kShare);
        add_shapes(medium, &Inverse::medium, n_threads);
        if (wide > medium) add_shapes(wide, &Inverse::wide, n_threads);
    }

    // Adds the shapes of windows of a mass to the sums.
    void add_shapes(i64 mass, double Inverse::* sum, int n_threads) {
        const Leaves coarse = join_leaves(leaves_, std::max<i64>(1, mass / kLeavesInWindow));
        // A window is placed around one coarse leaf of each group of an eighth of a window.
        std::vector<u32> groups =
            group_along_curve(coarse.steps, mass / 8, [&](u32 k) { return coarse.weights[k]; });
        groups.push_back(static_cast<u32>(coarse.size()));
        std::vector<u32> of(links_.size());  // the coarse leaf whose window serves each leaf
        std::vector<char> wanted(static_cast<size_t>(coarse.size()), 0);
        for (u32 i = 0, g = 0; i < of.size(); ++i) {
            while (coarse.first[groups[g + 1]] <= leaves_.first[i]) ++g;
            of[i] = (groups[g] + groups[g + 1]) / 2;
            wanted[of[i]] |= is_needed(i);
        }
        const Boxes& boxes = links_.all().boxes();
        const Surroundings all(coarse, boxes.period(), {mass}, boxes.loops(), n_threads, wanted);
        const std::vector<double> inverse = inverse_shapes(all, wanted, n_threads);
        for (u32 i = 0; i < of.size(); ++i)
            if (is_needed(i))
                sums_[peaks_.host(i)].*sum += static_cast<double>(leaves_.weights[i]) * inverse[of[i]];
    }

    static std::vector<double> inverse_shapes(const Surroundings& all, const std::vector<char>& wanted,
                                              int n_threads) {
        const i64 n = static_cast<i64>(wanted.size());
        std::vector<double> result(wanted.size());
        const int team = team_size(n, 1 << 12, n_threads);
        parallel(team, [&](int t) {
            Moments moments(all.leaves(), all.boxes().period());
            Poller poll;
            const Range range = part(n, t, team);
            for (i64 k = range.begin; k < range.end; ++k) {
                if (!wanted[k]) continue;
                moments.clear();
                for (const u32 leaf : all.lists()[k]) {
                    poll(8);
                    moments.add(k, leaf);
                }
                result[k] = 1 / moments.shape();
            }
        });
        return result;
    }

    // Growth of log radius by log mass from K / 2 to K, without the centre's own mass at distance 0.
    double near_slope(u32 i) const {
        const Windows& windows = links_.windows();
        const double mass = static_cast<double>(mass_), half = static_cast<double>(mass_ / 2);
        const double own = static_cast<double>(leaves_.weights[i]);
        const double outer = std::max(mass - own, 1.0), inner = std::max(half - own, 0.5);
        const double growth = static_cast<double>(windows.radius[i] - windows.half[i]) * kLogUnit;
        return (growth + 0.5 * (log2_of(mass / outer) - log2_of(half / inner))) /
               log2_of(std::max(outer / inner, 1.01));
    }

    const Links& links_;
    const Leaves& leaves_;
    const Peaks& peaks_;
    i64 mass_;
    std::vector<char> needed_;  // of each peak: it is wanted or joined one that is
    std::vector<Inverse> sums_;
};

}  // namespace mspp
