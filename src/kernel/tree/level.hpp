// One level of the tree: the significant clusters of one part, seen through windows of one mass.
//
// 1. Leaves light enough that they blur a window less than noise does; windows of mass K around centres.
// 2. Short links only. Their saddles are too low, so a peak that is not significant here never is: most
//    levels end here.
// 3. Shapes, long links and bridges; the peaks and saddles that count.
// 4. The least significant peak joins its neighbour, until all that are left are significant.
#pragma once

#include <optional>

#include "kernel/tree/front.hpp"
#include "kernel/tree/rules.hpp"

namespace mspp {

// A part of the data: the points of one cluster so far.
struct Part {
    Stretch stretch;
    i64 cluster;
    i64 weight;
    double height;               // of its peak above the deepest valley around it, log2
    std::vector<Nearby> near{};  // of the last level, whose leaves had the mass
    i64 leaf_mass = 0;
};

// A cluster that left its parent.
struct Split {
    i64 cluster, parent;
    i64 mass;                   // of the windows
    i64 front;                  // windows along the border; 0 if it did not matter
    u32 joins;                  // a point across the saddle
    double depth, z, critical;  // of the valley: log2 of a ratio of densities, in standard errors, needed
    double score;               // the smaller of z / critical and depth / least depth
    double weight;              // of the cluster above the saddle
    double peak, saddle, dimension;  // log2 radius at both, and the dimension that turns them into densities
};

// The clusters of a part: the first keeps its number, the others left it by the splits.
struct Division {
    std::vector<Part> parts;
    std::vector<Split> splits;
};

class Level {
  public:
    static constexpr double kMassStep = 1.5;  // from one level to the next
    static i64 next_mass(i64 mass) { return mass + mass / 2; }
    static constexpr i64 kAhead = 8;  // the masses of later levels that a level looks for leaves for

    // INOUT part: the leaves near its centres; reaches: of each point of the cloud, how far windows of this
    // mass might reach, 0 if unknown; then the same for the next mass.
    Level(const Cloud& cloud, Part& part, i64 mass, const Rules& rules, std::vector<double>& reaches,
          int n_threads)
        : cloud_(cloud),
          part_(part),
          mass_(mass),
          rules_(rules),
          reaches_(reaches),
          n_threads_(n_threads),
          least_depth_(rules.least_depth(part.height)) {}

    // Leaves of more features are halved along few axes, so they must be lighter to be as compact.
    static constexpr int kManyFeatures = 5;

    // The mass of leaves, and of the groups of leaves around whose mean a window is placed. A group is
    // smaller than a ball of mass K / 2, in every dimension.
    static i64 leaf_mass(i64 mass, int d) {
        const i64 share = d <= kManyFeatures ? 2 : 8;
        return std::max<i64>(1, static_cast<i64>(std::sqrt(static_cast<double>(mass))) / share);
    }
    static i64 centre_mass(i64 mass, int d) {
        constexpr i64 divisor[kManyFeatures + 1] = {16, 16, 16, 34, 80, 168};
        return std::max(leaf_mass(mass, d), mass / divisor[std::min(d, kManyFeatures)]);
    }

    // The clusters that the part divides into, not numbered yet; none if it stays whole.
    Division run() { return find_candidates() && judge() ? divide() : Division{}; }

    const Leaves& centres() const { return centres_; }
    const Windows& windows() const { return windows_; }

  private:
    // Finds the windows around the centres. Levels that share their leaves look for those nearby once.
    void find_windows() {
        const i64 mass = leaf_mass(mass_, cloud_.d);
        if (part_.leaf_mass != mass) part_.near.clear();
        part_.leaf_mass = mass;
        windows_ = mass == centre_mass(mass_, cloud_.d)
                       ? make_windows(*boxes_, *boxes_, cloud_.period, mass_, guesses(centres_), false,
                                      n_threads_, std::move(part_.near), ahead())
                       : windows_of(mass_, *boxes_, false);
    }

    // How much farther, squared, the windows of later levels with the same leaves might reach. With few
    // features, leaves change too often for that.
    double ahead() const {
        const int d = cloud_.d;
        if (d <= kManyFeatures) return 1;
        i64 last = mass_;
        for (i64 next = mass_; next <= kAhead * mass_ && centre_mass(next, d) == centre_mass(mass_, d);
             next = next_mass(next))
            last = next;
        return exp2_units(2 * log2_units(static_cast<double>(last) / static_cast<double>(mass_)) / d);
    }

    Windows windows_of(i64 mass, const Boxes& centres, bool shapes) const {
        const Leaves leaves = make_leaves(cloud_, part_.stretch, leaf_mass(mass, cloud_.d));
        return make_windows(centres, Boxes(leaves, cloud_.period), cloud_.period, mass,
                            guesses(centres.leaves()), shapes, n_threads_);
    }

    std::vector<double> guesses(const Leaves& centres) const {
        std::vector<double> result;
        for (i64 k = 0; k < centres.size(); ++k)
            result.push_back(reaches_[part_.stretch.points[centres.first[k]]]);
        return result;
    }

    // Stores how far windows of `times` the mass might reach; the square of a guess must be a finite float.
    void guess_reaches(double times) const {
        const double factor = exp2_units(static_cast<i64>(growth_ * log2_of(times)));
        for (i64 k = 0; k < centres_.size(); ++k)
            for (u32 i = centres_.first[k]; i < centres_.first[k + 1]; ++i)
                reaches_[part_.stretch.points[i]] = std::min(factor * std::sqrt(windows_.reach[k]), 0x1p60);
    }

    // True if a peak could be significant; then `peaks_` has the saddles that count.
    bool find_candidates() {
        centres_ = make_leaves(cloud_, part_.stretch, centre_mass(mass_, cloud_.d));
        if (centres_.size() < 3) return false;
        boxes_.emplace(centres_, cloud_.period);
        find_windows();
        rank_centres();
        std::vector<Extent> extents(order_.size());
        for (u32 i = 0; i < order_.size(); ++i) {
            const double weight = static_cast<double>(centres_.weights[i]);
            extents[i].weight = weight;
            extents[i].growth = weight * static_cast<double>(windows_.radius[i] - windows_.half[i]);
            growth_ += extents[i].growth;
        }
        growth_ /= static_cast<double>(part_.weight);
        shift_ = Rules::link_shift(rules_.dimension(growth_));
        links_.emplace(*boxes_, cloud_.period, windows_, rank_, shift_, n_threads_);
        part_.near = std::move(windows_.near);
        Peaks peaks(extents, rank_);
        for (u32 i : order_)
            links_->each_short(i, [&](u32 dense) { peaks.link(i, dense, windows_.radius[i]); });
        const std::vector<char> lenient = lenient_peaks(peaks);
        const bool several = std::count(lenient.begin(), lenient.end(), 1) > 1;
        if (several) {
            add_shapes(extents);
            find_saddles(peaks, extents, lenient);
        }
        guess_reaches(kMassStep);
        return several;
    }

    void rank_centres() {
        order_.resize(static_cast<size_t>(centres_.size()));
        rank_.resize(order_.size());
        std::iota(order_.begin(), order_.end(), 0u);
        std::sort(order_.begin(), order_.end(), [&](u32 a, u32 b) {
            return windows_.radius[a] != windows_.radius[b] ? windows_.radius[a] < windows_.radius[b] : a < b;
        });
        for (u32 k = 0; k < order_.size(); ++k) rank_[order_[k]] = k;
    }

    double depth(const Peaks& peaks, u32 b, double dimension) const {
        return dimension * static_cast<double>(peaks.saddle(b) - windows_.radius[b]) * kLogUnit;
    }
    double extreme(const Peaks& peaks, u32 b) const {
        return rules_.extreme(std::min(peaks.extent(b).weight, peaks.other(b)), static_cast<double>(mass_));
    }
    double dimension(const Peaks& peaks, u32 b) const {
        return rules_.dimension(peaks.extent(b).growth / peaks.extent(b).weight);
    }
    // The score of a peak with a factor of the extreme.
    double score(const Peaks& peaks, u32 b, double factor) const {
        const double dim = dimension(peaks, b), deep = depth(peaks, b, dim);
        const double critical = rules_.critical_value(factor, extreme(peaks, b));
        return std::min(Rules::z(deep, dim, static_cast<double>(mass_)) / critical, deep / least_depth_);
    }

    std::vector<char> lenient_peaks(const Peaks& peaks) const {
        std::vector<char> lenient(peaks.size());
        for (u32 b = 0; b < peaks.size(); ++b)
            lenient[b] = peaks.alive(b) || score(peaks, b, Rules::kLongestFront) >= rules_.strictness;
        return lenient;
    }

    // Fills in the inverse dimensions: within the window, and by the shape of the windows of 4 K and 8 K.
    void add_shapes(std::vector<Extent>& extents) const {
        for (u32 i = 0; i < extents.size(); ++i) extents[i].near = extents[i].weight * near_slope(i);
        for (const i64 times : {4, 8}) {
            const i64 mass = std::min(times * mass_, part_.weight);
            guess_reaches(static_cast<double>(mass) / static_cast<double>(mass_));
            const Leaves centres =
                make_leaves(cloud_, part_.stretch, std::max(mass_ / 2, leaf_mass(mass, cloud_.d)));
            const Windows windows = windows_of(mass, Boxes(centres, cloud_.period), true);
            for (u32 i = 0; i < extents.size(); ++i) {
                const double inverse = extents[i].weight / windows.shape[centres.of(centres_.first[i])];
                (times == 4 ? extents[i].medium : extents[i].wide) = inverse;
            }
        }
    }

    // Growth of log radius by log mass from K / 2 to K, without the centre's own mass at distance 0.
    double near_slope(u32 i) const {
        const double mass = static_cast<double>(mass_), half = static_cast<double>(mass_ / 2);
        const double own = static_cast<double>(centres_.weights[i]);
        const double outer = std::max(mass - own, 1.0), inner = std::max(half - own, 0.5);
        const double growth = static_cast<double>(windows_.radius[i] - windows_.half[i]) * kLogUnit;
        return (growth + 0.5 * (log2_of(mass / outer) - log2_of(half / inner))) /
               log2_of(std::max(outer / inner, 1.01));
    }

    void find_saddles(const Peaks& first, const std::vector<Extent>& extents,
                      const std::vector<char>& lenient) {
        std::vector<Link> links = links_->long_links(first.basins(lenient));
        links_->add_bridges(first, links);
        links_->sort(links);
        peaks_.emplace(extents, rank_);
        size_t k = 0;
        for (u32 i : order_) {
            for (; k < links.size() && links[k].level < windows_.radius[i]; ++k) add(links[k]);
            links_->each_short(i, [&](u32 dense) { peaks_->link(i, dense, windows_.radius[i]); });
        }
        for (; k < links.size(); ++k) add(links[k]);
    }
    void add(const Link& link) { peaks_->link(link.sparse, link.dense, link.level); }

    // The dimension of the surroundings of a peak: 1 on a line. Windows wider than the peak measure
    // its neighbours too, so they do not count.
    double shape(u32 b) const {
        const Extent& extent = peaks_->extent(b);
        const double least = std::min(extent.weight, peaks_->other(b));
        const double wide = least >= 5 * static_cast<double>(mass_) ? extent.wide : extent.medium;
        return std::clamp(extent.weight / std::max({wide, extent.near, 1e-6}), 1.0, double(cloud_.d));
    }

    // True if at least one peak besides the highest is significant: `kept_`, `candidates_`.
    bool judge() {
        const u32 n = peaks_->size();
        kept_.assign(n, 0);
        for (u32 b = 0; b < n; ++b) {
            if (peaks_->alive(b)) {
                kept_[b] = 1;
                continue;
            }
            if (std::min(peaks_->extent(b).weight, peaks_->other(b)) < static_cast<double>(mass_)) continue;
            if (score(*peaks_, b, Rules::kLongestFront) < rules_.strictness) continue;
            kept_[b] = 1;
            candidates_.push_back({b, rules_.factor(shape(b)), 0, 0});
        }
        while (!candidates_.empty() && !all_significant()) {
        }
        return !candidates_.empty();
    }

    // Scores all candidates; drops the least significant one and returns false if there is one below the
    // limit.
    bool all_significant() {
        std::vector<u32> basin;
        for (Candidate& candidate : candidates_) {
            candidate.front = 0;
            candidate.score = score(*peaks_, candidate.peak, candidate.factor);
            if (candidate.score >= rules_.strictness) continue;
            if (basin.empty()) basin = peaks_->basins(kept_);
            candidate.front = front_length(candidate.peak, basin, centres_, windows_, *links_,
                                           peaks_->saddle(candidate.peak), shift_);
            candidate.score = score(*peaks_, candidate.peak, factor(candidate));
        }
        const auto worst = std::min_element(candidates_.begin(), candidates_.end(), [&](auto& a, auto& b) {
            if (a.score != b.score) return a.score < b.score;
            return peaks_->saddle(a.peak) > peaks_->saddle(b.peak);
        });
        if (worst->score >= rules_.strictness) return true;
        kept_[worst->peak] = 0;
        candidates_.erase(worst);
        return false;
    }

    struct Candidate {
        u32 peak;
        double factor;
        i64 front;
        double score;
    };
    static double factor(const Candidate& candidate) {
        return candidate.front > 0
                   ? Rules::factor_of_front(candidate.factor, static_cast<double>(candidate.front))
                   : candidate.factor;
    }

    Division divide() const {
        const std::vector<u32> basin = peaks_->basins(kept_);
        std::vector<Candidate> order = candidates_;
        std::sort(order.begin(), order.end(), [&](const Candidate& a, const Candidate& b) {
            const i64 s = peaks_->saddle(a.peak), t = peaks_->saddle(b.peak);
            return s != t ? s < t : a.peak < b.peak;
        });
        const u32 elder = order_[0];
        const i64 deepest = peaks_->saddle(order.front().peak) - windows_.radius[elder];
        const double height = dimension(*peaks_, elder) * static_cast<double>(deepest) * kLogUnit;
        Division division{{cluster(elder, height, basin)}, {}};
        for (const Candidate& candidate : order) {
            division.splits.push_back(split(candidate));
            division.parts.push_back(cluster(candidate.peak, division.splits.back().depth, basin));
        }
        return division;
    }

    Split split(const Candidate& candidate) const {
        const u32 b = candidate.peak;
        const double dim = dimension(*peaks_, b), deep = depth(*peaks_, b, dim);
        return {-1,
                part_.cluster,
                mass_,
                candidate.front,
                part_.stretch.points[centres_.first[peaks_->attached(b)]],
                deep,
                Rules::z(deep, dim, static_cast<double>(mass_)),
                rules_.critical_value(factor(candidate), extreme(*peaks_, b)),
                candidate.score,
                peaks_->extent(b).weight,
                static_cast<double>(windows_.radius[b]) * kLogUnit,
                static_cast<double>(peaks_->saddle(b)) * kLogUnit,
                dim};
    }

    Part cluster(u32 peak, double height, const std::vector<u32>& basin) const {
        std::vector<u32> points;
        i64 weight = 0;
        for (u32 i = 0; i < basin.size(); ++i) {
            if (basin[i] != peak) continue;
            const auto all = part_.stretch.points.begin();
            points.insert(points.end(), all + centres_.first[i], all + centres_.first[i + 1]);
            weight += centres_.weights[i];
        }
        return {Stretch(cloud_, std::move(points)), part_.cluster, weight, std::max(part_.height, height)};
    }

    const Cloud& cloud_;
    Part& part_;
    i64 mass_;
    const Rules& rules_;
    std::vector<double>& reaches_;
    int n_threads_;
    double least_depth_;
    Leaves centres_;
    Windows windows_;
    std::vector<u32> order_, rank_;  // densest first, and its inverse
    double growth_ = 0;              // mean growth of log2 radius from K / 2 to K, in units of 2^-16
    i64 shift_ = 0;
    std::optional<Boxes> boxes_;  // of the centres
    std::optional<Links> links_;
    std::optional<Peaks> peaks_;
    std::vector<char> kept_;
    std::vector<Candidate> candidates_;
};

}  // namespace mspp
