// Extents: a bump does not own the flat background around it.
//
// A tree divides all data among its peaks, so a small dense cluster in a wide one would also get the part of
// the wide one that leads up to it: its skirt, the rows below its saddle. A Gaussian of the same depth has a
// light skirt. A cluster whose skirt is far heavier is a bump, if the background that it would keep outweighs
// by far what rises above it. The skirts of bumps join the cluster that they lie on, or form one of their
// own.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernel/base/threads.hpp"

namespace mspp {

// A saddle between two clusters.
struct Saddle {
    i64 cluster, other;       // the cluster that ends there, and the one across
    double level;             // log2 radius of the lightest windows at its density
    double dimension, depth;  // in which mass grows with the radius; log2 below the lower peak
    bool is_seen = true;      // by the lightest windows of all data, whose radii are those of the leaves
};

namespace detail {

// How heavy the skirt of a Gaussian is, relative to its mass in excess of the saddle. IN depth: of the saddle
// below the peak, log2; dimension.
inline double gaussian_skirt(double depth, double dimension) {
    const double x = std::max(depth * 0.6931471805599453, 1e-4), a = dimension / 2;
    const double slab = std::exp(a * std::log(x) - x - std::lgamma(a + 1));  // mass below the saddle's level
    double series = 1, term = 1;  // of the incomplete gamma function: the mass within the saddle's radius
    for (int n = 1; n < 10000 && term > 1e-17 * series; ++n) series += term *= x / (a + n);
    return std::max(0.0, 1 - slab * series) / std::max(slab * (series - 1), 1e-300);
}

class ExtentFinder {
  public:
    ExtentFinder(const i64* labels, const double* sizes, const double* radii, i64 n, i64 n_clusters,
                 std::vector<Saddle> saddles)
        : labels_(labels), sizes_(sizes), radii_(radii), n_(n), saddles_(std::move(saddles)) {
        std::stable_sort(saddles_.begin(), saddles_.end(),
                         [](const Saddle& a, const Saddle& b) { return a.level < b.level; });
        own_.assign(static_cast<size_t>(n_clusters), nullptr);
        mass_.assign(own_.size(), 0.0);
        excess_ = skirt_ = mass_;
    }

    // The cluster of each leaf; a background of its own has a number from n_clusters on.
    std::vector<i64> run() {
        find_own_saddles();
        weigh();
        find_candidates();
        group_skirts();
        return labels();
    }

  private:
    static constexpr double kGaussians = 2;     // a skirt is heavy from so many times a Gaussian's
    static constexpr double kSkirt = 0.5;       // and from this share of the excess
    static constexpr double kOutweighs = 15;    // how much heavier a background is than what rises above it
    static constexpr double kBackground = 0.5;  // a cluster with this share of its group is the background
    // A bump keeps what is so much denser than its saddle, log2 1.5, or what is in the upper half of a lower
    // one: it never loses all rows.
    static constexpr double kKept = 0.5849625007211562;
    double kept(i64 b) const { return std::min(kKept, depth_[b] / 2); }

    // The saddle at which a cluster ends; the densest one of a cluster that does not.
    void find_own_saddles() {
        depth_.assign(own_.size(), 0.0);
        for (const Saddle& saddle : saddles_) {
            own_[saddle.cluster] = &saddle;
            depth_[saddle.cluster] = saddle.depth;
        }
        std::vector<double> least(own_.size(), HUGE_VAL);
        for (i64 i = 0; i < n_; ++i) least[labels_[i]] = std::min(least[labels_[i]], radii_[i]);
        for (const Saddle& saddle : saddles_)
            if (!own_[saddle.other]) {
                own_[saddle.other] = &saddle;
                depth_[saddle.other] = std::max(0.0, saddle.dimension * (saddle.level - least[saddle.other]));
            }
    }

    // How much denser a leaf is than the saddle of its cluster, log2.
    double height(i64 i) const {
        const Saddle* own = own_[labels_[i]];
        return own ? std::clamp(own->dimension * (own->level - radii_[i]), -60.0, 60.0) : 60.0;
    }

    void weigh() {
        each_of({0, n_}, [&](i64 i) {
            const i64 b = labels_[i];
            mass_[b] += sizes_[i];
            if (const double above = height(i); above > 0)
                excess_[b] += sizes_[i] * (1 - std::exp2(-above));
            else
                skirt_[b] += sizes_[i];
        });
    }

    // A cluster that lighter windows divided from another keeps all its leaves: around them, the lightest
    // windows of all data reach beyond it.
    void find_candidates() {
        candidate_.assign(own_.size(), 0);
        for (size_t b = 0; b < own_.size(); ++b)
            candidate_[b] =
                own_[b] && skirt_[b] > kSkirt * excess_[b] &&
                skirt_[b] > kGaussians * excess_[b] * gaussian_skirt(depth_[b], own_[b]->dimension);
        for (const Saddle& saddle : saddles_)
            if (!saddle.is_seen) candidate_[saddle.cluster] = candidate_[saddle.other] = 0;
    }

    // Joins the skirts of candidates that meet, densest saddle first, with at most one other cluster. A
    // candidate that is most of its group is the background itself.
    void group_skirts() {
        for (bool changed = true; changed;) {
            group_.resize(own_.size());
            std::iota(group_.begin(), group_.end(), i64{0});
            for (const Saddle& saddle : saddles_) {
                i64 a = find(saddle.other), b = find(saddle.cluster);
                if (a == b || (!candidate_[a] && !candidate_[b])) continue;
                if (!candidate_[b]) std::swap(a, b);
                group_[b] = a;
            }
            std::vector<double> total(own_.size(), 0.0);
            for (size_t b = 0; b < own_.size(); ++b) total[find(static_cast<i64>(b))] += mass_[b];
            changed = false;
            for (size_t b = 0; b < own_.size(); ++b)
                if (candidate_[b] && mass_[b] > kBackground * total[find(static_cast<i64>(b))]) {
                    candidate_[b] = 0;
                    changed = true;
                }
        }
    }

    i64 find(i64 b) const {
        while (group_[b] != b) b = group_[b];
        return b;
    }

    std::vector<i64> labels() const {
        const i64 k = static_cast<i64>(own_.size());
        std::vector<double> rest(own_.size(), 0.0), excess(own_.size(), 0.0);
        for (i64 b = 0; b < k; ++b) {
            rest[find(b)] += candidate_[b] ? skirt_[b] : mass_[b];
            excess[find(b)] += candidate_[b] ? excess_[b] : 0;
        }
        std::vector<i64> result(labels_, labels_ + n_);
        for (i64 i = 0; i < n_; ++i) {
            const i64 b = labels_[i], group = find(b);
            if (candidate_[b] && rest[group] > kOutweighs * excess[group] && height(i) < kept(b))
                result[i] = candidate_[group] ? k + group : group;
        }
        return result;
    }

    const i64* labels_;
    const double *sizes_, *radii_;
    i64 n_;
    std::vector<Saddle> saddles_;     // densest first
    std::vector<const Saddle*> own_;  // of each cluster; null if there is only one
    std::vector<double> depth_, mass_, excess_, skirt_;
    std::vector<char> candidate_;
    std::vector<i64> group_;
};

}  // namespace detail

// The cluster of each leaf without the skirts of bumps. IN labels from 0 to n_clusters - 1, sizes and log2
// radii of the n leaves.
inline std::vector<i64> find_extents(const i64* labels, const double* sizes, const double* radii, i64 n,
                                     i64 n_clusters, std::vector<Saddle> saddles) {
    return detail::ExtentFinder(labels, sizes, radii, n, n_clusters, std::move(saddles)).run();
}

}  // namespace mspp
