// The tree of significant clusters: every split is made at the lightest window at which it is significant.
//
// Windows begin with a mass of sqrt(n) / 4 rows and grow. Each part found is analysed alone with the next
// mass, so shapes, which light windows see, come before overlapping blobs, which need heavy ones.
//
// If that divides the data, a second pass looks at every part again. Its windows begin with sqrt(m) / 4 rows
// of the part's own m, so that small clusters of large data are found. And its valleys may be less rare:
// after R splits, R false ones are as much as one was before (Benjamini and Hochberg 1995), so the pairs of
// windows are divided by R. Windows lighter than those of the first pass, whose noise has heavier tails, keep
// all pairs.
//
// A later stage repeats the first pass on the parts of the stage before, less strictly, if these are too few.
#pragma once

#include <numeric>

#include "kernel/tree/level.hpp"

namespace mspp {

struct Tree {
    std::vector<i64> labels;  // (n,), in the order of the caller's rows
    // (n,), log2 radius of the lightest windows, in units of 2^-16; 0 if there are too few points
    std::vector<i64> radii;
    std::vector<Split> splits;  // `joins` and `top` are rows of the caller
    i64 n_clusters = 1;
    i64 mass = 0;    // of the lightest windows
    i64 levels = 0;  // the most masses that were tried on one part and those around it
};

// What the caller decides.
struct Growth {
    double rows = 0;                       // effective number of rows of all points; 0: their weight
    std::vector<double> strictness = {1};  // of each stage, falling
    i64 enough = 0;                        // clusters: with fewer, the next stage follows
};

namespace detail {

class TreeGrower {
  public:
    TreeGrower(const Cloud& cloud, const Growth& growth, const CriticalValues& critical,
               const NearLoops& loops, int n_threads)
        : cloud_(cloud),
          growth_(growth),
          critical_(critical),
          loops_(loops),
          n_threads_(n_threads),
          masses_{growth.rows > 0 ? static_cast<double>(cloud.weight) / growth.rows : 1.0} {}

    Tree run() {
        const size_t n = static_cast<size_t>(cloud_.size());
        tree_.labels.resize(n);
        tree_.radii.assign(n, 0);
        Part all{Array<u32>(n), {}, 0, cloud_.weight, 0.0, 0, {}, 0, {}};
        std::iota(all.points.begin(), all.points.end(), 0u);
        tree_.mass = std::min(first_mass(all), cloud_.weight);
        whole_.push_back(std::move(all));
        divide_all([&](const Part&) { return tree_.mass; });
        n_found_ = static_cast<i64>(tree_.splits.size());
        if (n_found_ > 0) divide_all([&](const Part& part) { return lightest_mass(part); });
        for (stage_ = 1; stage_ < growth_.strictness.size() && tree_.n_clusters < growth_.enough; ++stage_)
            divide_all([&](const Part&) { return tree_.mass; });
        for (const Part& part : whole_) {
            tree_.levels = std::max(tree_.levels, part.levels);
            for (const u32 i : part.points) tree_.labels[cloud_.rows[i]] = part.cluster;
        }
        return std::move(tree_);
    }

  private:
    // Divides the parts until every one stays whole. IN mass_of: the mass of the first windows of a part.
    template <class MassOf>
    void divide_all(MassOf&& mass_of) {
        for (Part& part : whole_) part.mass = mass_of(part);
        std::vector<Part> parts = std::move(whole_);
        whole_.clear();
        while (!parts.empty()) {
            std::vector<Division> divisions = divide(parts);
            std::vector<Part> found;
            for (size_t k = 0; k < parts.size(); ++k) {
                if (divisions[k].parts.empty()) {
                    parts[k].leaves = {};
                    whole_.push_back(std::move(parts[k]));
                    continue;
                }
                number(divisions[k]);
                for (Part& part : divisions[k].parts) found.push_back(std::move(part));
            }
            parts = std::move(found);
        }
    }

    // Large parts use all threads, one after the other; small ones have a thread each, the largest first.
    std::vector<Division> divide(std::vector<Part>& parts) {
        std::vector<Division> divisions(parts.size());
        std::vector<size_t> small;
        for (size_t k = 0; k < parts.size(); ++k) {
            if (parts[k].weight > cloud_.weight / (4 * n_threads_))
                divisions[k] = divide(parts[k], n_threads_);
            else
                small.push_back(k);
        }
        std::stable_sort(small.begin(), small.end(),
                         [&](size_t a, size_t b) { return parts[a].weight > parts[b].weight; });
        std::atomic<size_t> next{0};
        parallel(team_size(static_cast<i64>(small.size()), 1, n_threads_), [&](int) {
            for (size_t k; (k = next.fetch_add(1)) < small.size();)
                divisions[small[k]] = divide(parts[small[k]], 1);
        });
        return divisions;
    }

    // Tests a part with heavier and heavier windows until it divides.
    Division divide(Part& part, int n_threads) {
        for (std::vector<i64> masses; !(masses = next_masses(part)).empty();) {
            if (part.leaves.size() == 0)
                part.leaves = leaves_of_points(cloud_, part.points, reach_, tree_.mass);
            part.leaves = join_leaves(part.leaves, leaf_mass(part, masses[0]));
            Division division = divide(part, masses, n_threads);
            if (!division.parts.empty()) return division;
            part.mass = next(part, masses.back());
        }
        return {};
    }

    // Tests a part with windows of some masses, around the same leaves.
    Division divide(Part& part, const std::vector<i64>& masses, int n_threads) {
        if (part.leaves.size() < 3) return {};
        const Surroundings all(part.leaves, cloud_.period, masses, loops_, n_threads);
        for (i64 i = 0; i < part.leaves.size(); ++i)
            part.leaves.guess[i] = std::sqrt(all.windows().back().reach[i]);
        part.leaves.guess_mass = masses.back();
        if (tree_.splits.empty() && masses[0] == tree_.mass) store_radii(part, all.windows()[0]);
        for (const Windows& windows : all.windows()) {
            ++part.levels;
            const Rules rules = rules_of(windows.mass);
            Level level(cloud_, part, all, windows, rules, n_threads);
            Division division = level.run();
            part.tested.push_back({windows.mass, level.best()});
            for (Part& child : division.parts) child.mass = next(child, windows.mass);
            if (!division.parts.empty()) return division;
        }
        return {};
    }

    i64 next(const Part& part, i64 mass) const {
        return Masses::next(mass, static_cast<double>(part.weight) / masses_.row);
    }
    i64 before(const Part& part, i64 mass) const {
        return Masses::before(mass, static_cast<double>(part.weight) / masses_.row);
    }

    Rules rules_of(i64 mass) const {
        double region = static_cast<double>(cloud_.weight);
        if (stage_ == 0 && n_found_ > 0 && mass >= tree_.mass)
            region = std::max(region / static_cast<double>(n_found_), 1.5 * static_cast<double>(mass));
        const double dip = mass <= tree_.mass ? Rules::kDip : Rules::kWideDip;
        return {cloud_.d, region, masses_.row, growth_.strictness[stage_], critical_, dip};
    }

    // Whether the first pass has seen these points through windows of this mass, and every peak was so weak
    // that it stays so now that fewer pairs of windows count.
    bool is_hopeless(const Part& part, i64 mass) const {
        if (stage_ > 0) return false;
        const double all = static_cast<double>(cloud_.weight), one = static_cast<double>(mass);
        const Rules first{cloud_.d, all, masses_.row, growth_.strictness[0], critical_};
        const double looser = first.extreme(one, one) / rules_of(mass).extreme(one, one);
        for (const auto& [tested, best] : part.tested)
            if (tested == mass && looser * best < growth_.strictness[0]) return true;
        return false;
    }

    static bool is_heavy_enough(const Part& part, i64 mass) {
        return part.weight >= Masses::kWindowsToSplit * mass;
    }

    // The mass of the leaves around which windows of a mass are placed. Two masses share their leaves, so
    // that one list of neighbours serves both; the lightest of all data are alone, as most splits are made
    // there.
    i64 leaf_mass(const Part& part, i64 mass) const {
        i64 place = 0;
        for (i64 each = tree_.mass; each < mass; each = next(part, each)) ++place;
        for (i64 each = tree_.mass; each > mass; each = before(part, each)) ++place;
        const bool is_second = mass > tree_.mass ? place % 2 == 0 : place % 2 == 1;
        const i64 leaf = masses_.leaf(is_second && place > 0 ? before(part, mass) : mass, cloud_.d);
        return std::min(leaf, Masses::heaviest_leaf(part.weight, cloud_.d));
    }

    // The next masses around the same leaves, at most four.
    std::vector<i64> next_masses(const Part& part) const {
        std::vector<i64> masses;
        for (i64 mass = part.mass; masses.size() < 4 && is_heavy_enough(part, mass);
             mass = next(part, mass)) {
            if (!masses.empty() && leaf_mass(part, mass) != leaf_mass(part, masses[0])) break;
            if (!is_hopeless(part, mass)) masses.push_back(mass);
            if (tree_.splits.empty() && mass == tree_.mass) break;
        }
        return masses;
    }

    // The mass of the first windows of a part: few of its points may be too heavy.
    i64 first_mass(const Part& part) const {
        i64 mass = masses_.first(part.weight);
        auto is_heavy = [&](u32 i) { return masses_.is_heavy(cloud_.weights[i], mass); };
        const i64 most = static_cast<i64>(part.points.size()) / 4;
        while (std::count_if(part.points.begin(), part.points.end(), is_heavy) > most)
            mass = next(part, mass);
        return mass;
    }

    // The lightest mass for the own weight of a part, among those that lead up to the first mass of all data.
    // A large part keeps the latter, because windows of its own would hardly be lighter.
    i64 lightest_mass(const Part& part) const {
        i64 mass = tree_.mass;
        if (Masses::kSmallPart * part.weight > cloud_.weight) return mass;
        const i64 least = first_mass(part);
        while (before(part, mass) >= least && before(part, mass) < mass) mass = before(part, mass);
        return mass;
    }

    void number(Division& division) {
        const double shift = log2_of(cloud_.scale);
        for (size_t k = 0; k < division.splits.size(); ++k) {
            Split& split = division.splits[k];
            split.cluster = division.parts[k + 1].cluster = tree_.n_clusters++;
            split.stage = static_cast<i64>(stage_);
            split.joins = cloud_.rows[split.joins];
            split.top = cloud_.rows[split.top];
            split.peak -= shift;
            split.saddle -= shift;
            tree_.splits.push_back(split);
        }
    }

    void store_radii(const Part& all, const Windows& windows) {
        const i64 shift = log2_units(cloud_.scale);
        reach_.resize(static_cast<size_t>(cloud_.size()));
        for (i64 k = 0; k < all.leaves.size(); ++k)
            for (u32 i = all.leaves.first[k]; i < all.leaves.first[k + 1]; ++i) {
                tree_.radii[cloud_.rows[i]] = windows.radius[k] - shift;
                reach_[i] = std::sqrt(windows.reach[k]);
            }
    }

    const Cloud& cloud_;
    const Growth& growth_;
    const CriticalValues& critical_;
    const NearLoops& loops_;
    int n_threads_;
    Masses masses_;
    size_t stage_ = 0;
    i64 n_found_ = 0;  // splits of the first pass, once it has ended
    Tree tree_;
    std::vector<Part> whole_;  // parts that do not divide
    Array<float> reach_;       // of the lightest windows around each point: a guess for those of its part
};

}  // namespace detail

// Grows the tree of weighted points. IN as sort_along_curve.
inline Tree grow_tree(const double* points, const i64* weights, i64 n, int d, const double* period,
                      const Growth& growth, const CriticalValues& critical, int n_threads,
                      const NearLoops& loops = near_loops()) {
    const Cloud cloud = sort_along_curve(points, weights, n, d, period, n_threads);
    return detail::TreeGrower(cloud, growth, critical, loops, n_threads).run();
}

}  // namespace mspp
