// One level of the tree: the significant clusters of one part, seen through windows of one mass.
//
// 1. Short links only. Their saddles are too low, so a peak that is not significant here never is: most
//    levels end here.
// 2. Long links and bridges; the peaks and saddles that count, and the shapes around them.
// 3. The least significant peak joins its neighbour, until all that are left are significant.
#pragma once

#include <optional>

#include "kernel/tree/bridges.hpp"
#include "kernel/tree/front.hpp"
#include "kernel/tree/part.hpp"
#include "kernel/tree/rules.hpp"
#include "kernel/tree/shape.hpp"

namespace mspp {

class Level {
  public:
    // IN all: of the part's leaves; windows: one of those in all.
    Level(const Cloud& cloud, const Part& part, const Surroundings& all, const Windows& windows,
          const Rules& rules, int n_threads)
        : cloud_(cloud),
          part_(part),
          leaves_(all.leaves()),
          windows_(windows),
          rules_(rules),
          n_threads_(n_threads),
          mass_(static_cast<double>(windows.mass)),
          links_(all, windows, shift(), n_threads) {}

    // The clusters that the part divides into, not numbered yet; none if it stays whole.
    Division run() {
        if (!find_saddles()) return {};
        find_candidates();
        drop_insignificant();
        return candidates_.empty() ? Division{} : divide();
    }

    // No peak has a higher score; known after the run.
    double best() const { return *std::max_element(strength_.begin(), strength_.end()); }

  private:
    struct Candidate {
        u32 peak;
        double shape;  // dimension of its surroundings
        double score;
        i64 front;  // 0 if it does not matter, -1 if it is unknown
    };

    i64 shift() const {
        double growth = 0;
        for (i64 i = 0; i < leaves_.size(); ++i)
            growth += static_cast<double>(leaves_.weights[i]) * (windows_.radius[i] - windows_.half[i]);
        return Rules::link_shift(rules_.dimension(growth / static_cast<double>(part_.weight)));
    }

    // False if no peak could be significant; else `peaks_` has the saddles that count.
    bool find_saddles() {
        const Peaks first(links_, {});
        std::vector<char> lenient(first.size());
        strength_.resize(first.size());
        for (u32 b = 0; b < first.size(); ++b) {
            strength_[b] = first.alive(b) ? 0 : lenient_score(first, b);
            lenient[b] = first.alive(b) || strength_[b] >= rules_.strictness;
        }
        if (std::count(lenient.begin(), lenient.end(), 1) < 2) return false;
        std::vector<Link> links = links_.long_links(first.owners(lenient));
        add_bridges(links_, first, links, n_threads_);
        links_.sort(links);
        peaks_.emplace(links_, links);
        for (u32 b = 1; b < first.size(); ++b)
            if (first.alive(b)) strength_[b] = lenient_score(*peaks_, b);
        return true;
    }

    i32 radius(u32 b) const { return windows_.radius[links_.tops()[b]]; }
    double dimension(const Peaks& peaks, u32 b) const { return rules_.dimension(peaks.growth(b)); }
    double depth(const Peaks& peaks, u32 b, double dimension) const {
        return dimension * static_cast<double>(peaks.saddle(b) - radius(b)) * kLogUnit;
    }
    double critical(const Peaks& peaks, u32 b, double factor) const {
        return rules_.critical_value(factor, rules_.extreme(static_cast<double>(peaks.smaller(b)), mass_));
    }
    // The score of a peak whose surroundings have a dimension, with a factor of the extreme.
    double score(const Peaks& peaks, u32 b, double shape, double factor) const {
        const double dim = dimension(peaks, b), deep = depth(peaks, b, dim),
                     by_depth = deep / rules_.least_depth(part_.height, shape);
        if (by_depth < rules_.strictness) return by_depth;  // most peaks
        return std::min(rules_.z(deep, dim, mass_) / critical(peaks, b, factor), by_depth);
    }

    double lenient_score(const Peaks& peaks, u32 b) const {
        return score(peaks, b, cloud_.d, rules_.lenient_factor());
    }
    // Whether a peak rises above the saddle at which the part left its parent. What is below leads up to the
    // part from the parent, whose own peaks were seen there; the part's edge cuts it to pieces.
    bool is_inside(u32 b) const {
        return static_cast<double>(radius(b)) * kLogUnit < part_.border.radius_of(mass_);
    }

    // Finds the peaks that a long front could make significant.
    void find_candidates() {
        std::vector<u32> found;
        for (u32 b = 1; b < peaks_->size(); ++b)
            if (peaks_->smaller(b) >= windows_.mass && is_inside(b) &&
                lenient_score(*peaks_, b) >= rules_.strictness)
                found.push_back(b);
        if (found.empty()) return;
        std::optional<PeakShapes> shapes;
        if (cloud_.d > 1) shapes.emplace(links_, *peaks_, found, part_.weight, n_threads_);
        for (const u32 b : found) {
            const double shape = shapes ? (*shapes)[b] : 1.0,
                         strength = score(*peaks_, b, shape, rules_.factor(shape));
            candidates_.push_back({b, shape, strength, strength >= rules_.strictness ? 0 : -1});
        }
    }

    void drop_insignificant() {
        std::vector<u32> weak;
        std::vector<char> kept = kept_peaks();
        for (const Candidate& candidate : candidates_)
            if (candidate.front < 0) weak.push_back(candidate.peak);
        if (weak.empty()) return;
        Fronts fronts(links_, *peaks_, kept, weak);
        while (!candidates_.empty()) {
            for (Candidate& candidate : candidates_) {
                if (candidate.front >= 0) continue;
                candidate.front = fronts.length(candidate.peak);
                candidate.score = score(*peaks_, candidate.peak, candidate.shape, factor(candidate));
            }
            const auto worst =
                std::min_element(candidates_.begin(), candidates_.end(), [&](auto& a, auto& b) {
                    if (a.score != b.score) return a.score < b.score;
                    return peaks_->saddle(a.peak) > peaks_->saddle(b.peak);
                });
            if (worst->score >= rules_.strictness) return;
            const u32 absorber = fronts.join(worst->peak);
            candidates_.erase(worst);
            for (Candidate& candidate : candidates_)
                if (candidate.peak == absorber && candidate.front > 0) candidate.front = -1;
        }
    }

    double factor(const Candidate& candidate) const {
        const double factor = rules_.factor(candidate.shape);
        if (candidate.front == 0) return factor;
        return Rules::factor_of_front(factor, static_cast<double>(candidate.front));
    }

    std::vector<char> kept_peaks() const {
        std::vector<char> kept(peaks_->size(), 0);
        kept[0] = 1;  // the densest: bridges have connected it to all others
        for (const Candidate& candidate : candidates_) kept[candidate.peak] = 1;
        return kept;
    }

    Division divide() {
        std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
            const i32 s = peaks_->saddle(a.peak), t = peaks_->saddle(b.peak);
            return s != t ? s < t : a.peak < b.peak;
        });
        Division division;
        const double deepest = peaks_->saddle(candidates_.front().peak) - radius(0);
        std::vector<double> heights{dimension(*peaks_, 0) * deepest * kLogUnit};
        for (const Candidate& candidate : candidates_) {
            division.splits.push_back(split(candidate));
            heights.push_back(division.splits.back().depth);
        }
        division.parts = parts(heights);
        for (size_t k = 0; k < division.splits.size(); ++k) {
            const Split& split = division.splits[k];
            division.parts[k + 1].border = {split.saddle, mass_, split.dimension};
        }
        return division;
    }

    Split split(const Candidate& candidate) const {
        const u32 b = candidate.peak;
        const double dim = dimension(*peaks_, b), deep = depth(*peaks_, b, dim);
        return {.cluster = -1,
                .parent = part_.cluster,
                .stage = 0,
                .mass = windows_.mass,
                .front = candidate.front,
                .joins = part_.points[leaves_.first[peaks_->attached(b)]],
                .top = part_.points[leaves_.first[links_.tops()[b]]],
                .depth = deep,
                .z = rules_.z(deep, dim, mass_),
                .critical = critical(*peaks_, b, factor(candidate)),
                .score = candidate.score,
                .weight = static_cast<double>(peaks_->weight(b)),
                .peak = static_cast<double>(radius(b)) * kLogUnit,
                .saddle = static_cast<double>(peaks_->saddle(b)) * kLogUnit,
                .dimension = dim};
    }

    // The parts of the densest peak and of all candidates, with the leaves of each.
    std::vector<Part> parts(const std::vector<double>& heights) const {
        std::vector<u32> number(peaks_->size(), 0);
        for (u32 k = 0; k < candidates_.size(); ++k) number[candidates_[k].peak] = k + 1;
        const Array<u32> owner = peaks_->owners(kept_peaks());
        std::vector<std::vector<u32>> members(heights.size());
        for (u32 i = 0; i < owner.size(); ++i) members[number[owner[i]]].push_back(i);
        std::vector<double> best(heights.size(), 0.0);  // of the peaks inside
        for (u32 b = 0; b < peaks_->size(); ++b) {
            const u32 own = owner[links_.tops()[b]];
            if (b != own) best[number[own]] = std::max(best[number[own]], strength_[b]);
        }
        std::vector<Part> result;
        for (size_t k = 0; k < heights.size(); ++k) {
            result.push_back(part(members[k], heights[k]));
            result[k].tested.push_back({windows_.mass, best[k]});
        }
        return result;
    }

    Part part(const std::vector<u32>& members, double height) const {
        const double highest = std::max(part_.height, height);
        Part result{{}, {}, part_.cluster, 0, highest, 0, part_.tested, part_.levels, part_.border};
        Leaves& leaves = result.leaves;
        leaves.d = cloud_.d;
        leaves.guess_mass = leaves_.guess_mass;
        leaves.resize(static_cast<i64>(members.size()));
        leaves.first[0] = 0;
        for (size_t k = 0; k < members.size(); ++k) {
            const u32 i = members[k], begin = leaves_.first[i], end = leaves_.first[i + 1];
            leaves.steps[k] = k == 0 ? 0 : step(result.points.back(), part_.points[begin]);
            result.points.insert(result.points.end(), part_.points.begin() + begin,
                                 part_.points.begin() + end);
            for (int j = 0; j < cloud_.d; ++j) leaves.at(static_cast<i64>(k), j) = leaves_.at(i, j);
            leaves.weights[k] = leaves_.weights[i];
            leaves.guess[k] = leaves_.guess[i];
            leaves.first[k + 1] = static_cast<u32>(result.points.size());
            result.weight += leaves_.weights[i];
        }
        leaves.pad();
        return result;
    }
    i32 step(u32 a, u32 b) const {
        return first_difference(cloud_.position(a), cloud_.position(b), cloud_.d).order(cloud_.d);
    }

    const Cloud& cloud_;
    const Part& part_;
    const Leaves& leaves_;
    const Windows& windows_;
    const Rules& rules_;
    int n_threads_;
    double mass_;
    Links links_;
    std::optional<Peaks> peaks_;
    std::vector<double> strength_;  // of each peak: its score is not higher
    std::vector<Candidate> candidates_;
};

}  // namespace mspp
