// The tree of significant clusters: every split is made at the lightest window at which it is significant.
//
// Windows begin with a mass of sqrt(n) / 4 and grow by half. Each part found is analysed alone with the next
// mass, so shapes, which light windows see, come before overlapping blobs, which need heavy ones.
#pragma once

#include "kernel/tree/level.hpp"

namespace mspp {

struct Tree {
    std::vector<i64> labels;  // (n,), in the order of the caller's rows
    std::vector<i64>
        radii;  // (n,), log2 radius of the lightest windows, in units of 2^-16; 0 if there are too few points
    std::vector<Split> splits;  // `joins` is a row of the caller
    i64 n_clusters = 1;
    i64 mass = 0;  // of the lightest windows
};

namespace detail {

inline constexpr i64 kLeastMass = 8, kWindowsToSplit = 4;

inline i64 first_mass(i64 weight) {
    return std::max(kLeastMass, static_cast<i64>(std::sqrt(static_cast<double>(weight))) / 4);
}

class TreeGrower {
  public:
    TreeGrower(const Cloud& cloud, const Rules& rules, int n_threads)
        : cloud_(cloud), rules_(rules), n_threads_(n_threads) {}

    Tree run() {
        const size_t n = static_cast<size_t>(cloud_.size());
        tree_.labels.resize(n);
        tree_.radii.assign(n, 0);
        reaches_.assign(n, 0.0);
        tree_.mass = std::min(first_mass(cloud_.weight), cloud_.weight);
        std::vector<u32> all(n);
        std::iota(all.begin(), all.end(), 0u);
        parts_.push_back({Stretch(cloud_, std::move(all)), 0, cloud_.weight, 0.0});
        for (i64 mass = tree_.mass; grow(mass);) mass = Level::next_mass(mass);
        for (const Part& part : parts_)
            for (u32 i : part.stretch.points) tree_.labels[cloud_.rows[i]] = part.cluster;
        return std::move(tree_);
    }

  private:
    // Divides all parts with windows of a mass. False if every part is too small for that.
    bool grow(i64 mass) {
        std::vector<size_t> large;
        for (size_t k = 0; k < parts_.size(); ++k)
            if (parts_[k].weight >= kWindowsToSplit * mass) large.push_back(k);
        std::vector<Division> divisions(parts_.size());
        const i64 count = static_cast<i64>(large.size());
        const int team = team_size(count, 1, n_threads_);
        parallel(team, [&](int t) {
            const Range range = part(count, t, team);
            for (i64 k = range.begin; k < range.end; ++k) {
                Level level(cloud_, parts_[large[k]], mass, rules_, reaches_, team > 1 ? 1 : n_threads_);
                divisions[large[k]] = level.run();
                if (mass == tree_.mass) store_radii(level);
            }
        });
        replace_parts(divisions);
        return count > 0;
    }

    void replace_parts(std::vector<Division>& divisions) {
        std::vector<Part> parts;
        for (size_t k = 0; k < parts_.size(); ++k) {
            if (divisions[k].parts.empty()) {
                parts.push_back(std::move(parts_[k]));
                continue;
            }
            for (size_t s = 0; s < divisions[k].splits.size(); ++s) {
                Split& split = divisions[k].splits[s];
                split.cluster = divisions[k].parts[s + 1].cluster = tree_.n_clusters++;
                split.joins = cloud_.rows[split.joins];
                split.peak -= log2_of(cloud_.scale);
                split.saddle -= log2_of(cloud_.scale);
                tree_.splits.push_back(split);
            }
            for (Part& part : divisions[k].parts) parts.push_back(std::move(part));
        }
        parts_ = std::move(parts);
    }

    // Of the first level, whose only part is all of the data.
    void store_radii(const Level& level) {
        const Leaves& centres = level.centres();
        if (level.windows().radius.empty()) return;
        for (i64 k = 0; k < centres.size(); ++k)
            for (u32 i = centres.first[k]; i < centres.first[k + 1]; ++i)
                tree_.radii[cloud_.rows[i]] = level.windows().radius[k] - log2_units(cloud_.scale);
    }

    const Cloud& cloud_;
    const Rules& rules_;
    int n_threads_;
    Tree tree_;
    std::vector<double> reaches_;  // of each point, a guess for its next window
    std::vector<Part> parts_;
};

}  // namespace detail

// Grows the tree of weighted points. IN as sort_along_curve.
inline Tree grow_tree(const double* points, const i64* weights, i64 n, int d, const double* period,
                      double strictness, const CriticalValues& critical, int n_threads) {
    const Cloud cloud = sort_along_curve(points, weights, n, d, period);
    const Rules rules{d, static_cast<double>(cloud.weight), strictness, critical};
    return detail::TreeGrower(cloud, rules, n_threads).run();
}

}  // namespace mspp
