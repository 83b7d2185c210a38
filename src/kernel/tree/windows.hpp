// Windows of constant mass: how far the nearest mass K reaches around each centre.
//
// The radius of a window is the root of the mean squared distance to the nearest mass K ("distance to a
// measure", Chazal, Cohen-Steiner and Merigot 2011). The noise of its logarithm does not depend on the
// density.
#pragma once

#include "kernel/cells/row_hash.hpp"
#include "kernel/tree/candidates.hpp"
#include "kernel/tree/logarithm.hpp"

namespace mspp {

struct Windows {
    std::vector<double> square;  // mean squared distance to mass K
    std::vector<double> reach;   // squared distance to the last of that mass
    std::vector<i64> radius;     // log2 of the root mean square, in units of 2^-16
    std::vector<i64> half;       // the same for mass K / 2
    std::vector<double> shape;   // 1 for a line, d for a ball; empty unless wanted
    std::vector<Nearby> near;    // of each block of centres; empty unless the centres are the leaves
};

namespace detail {

// The windows of a range of centres: the centres of a block share the search for leaves.
class WindowFinder {
  public:
    static constexpr i64 kChunk = 16;  // blocks; a chunk's guesses do not depend on other chunks

    WindowFinder(const Boxes& centres, const Boxes& leaves, const std::vector<double>& period, i64 mass,
                 const std::vector<double>& guess, bool shapes, double ahead, Windows& out)
        : centres_(centres.leaves()),
          leaves_(leaves.leaves()),
          blocks_(centres.blocks()),
          period_(period),
          mass_(mass),
          guess_(guess),
          shapes_(shapes),
          ahead_(ahead),
          out_(out),
          candidates_(leaves, period) {}

    void run(i64 chunk) {
        const i64 begin = chunk * kChunk, end = std::min(static_cast<i64>(blocks_.size()), begin + kChunk);
        last_ = distance(blocks_[begin].begin, blocks_[begin].end - 1);
        for (i64 k = begin; k < end; ++k) {
            const Range block = blocks_[k];
            const double guess = largest(block, guess_);
            double radius = kSlack * (guess > 0 ? guess : last_);
            forgotten_.r2 = -1;
            nearby_ = out_.near.empty() ? &forgotten_ : &out_.near[k];
            for (Range rest = block; !find(block, rest, radius);) radius *= missing_growth();
            last_ = std::sqrt(std::max(1.0, largest(block, out_.reach)));
        }
    }

  private:
    static constexpr int kBins = 16, kShapeAxes = 16;
    static constexpr double kSlack = 1.05;  // of a guess: a search that fails costs more than one too wide
    struct Ball {
        double reach, sum;  // squared radius, and sum of the squared distances in it
    };
    struct Bin {
        int index;
        i64 before;  // mass in the bins before
        double sum;  // of the squared distances there
    };

    // Finds the windows of the rest of a block. False if the radius is too small for one: the rest is then
    // from that one on.
    bool find(Range block, Range& rest, double radius) {
        if (nearby_->r2 < radius * radius)
            candidates_.find_nearby(centres_, block, ahead_ * radius * radius, *nearby_);
        for (double enough = radius; rest.begin < rest.end; ++rest.begin) {
            const i64 i = rest.begin;
            const double likely = kSlack * (guess_[i] > 0 ? guess_[i] : last_);
            const auto near = nearby_->of(i - block.begin);
            const bool found = likely > 0 && likely < enough && fill_bins(near, likely * likely);
            if (!found && !fill_bins(near, enough * enough)) return false;
            store(i);
            last_ = std::sqrt(out_.reach[i]);
            if (i + 1 < rest.end) enough = std::min(radius, last_ + distance(i, i + 1));
        }
        return true;
    }

    // How much the radius must grow to reach the mass, if the density is even.
    double missing_growth() const {
        const double missing = static_cast<double>(mass_) / static_cast<double>(std::max<i64>(1, found_));
        return std::clamp(kSlack * exp2_units(log2_units(missing) / centres_.d), 1.2, 2.0);
    }

    void store(i64 i) {
        const i64 half = std::max<i64>(1, mass_ / 2);
        const Bin inner_bin = bin_of(half, {0, 0, 0.0}), bin = bin_of(mass_, inner_bin);
        const Ball ball = ball_of(mass_, bin), inner = ball_of(half, inner_bin);
        out_.reach[i] = ball.reach;
        out_.square[i] = std::max(ball.sum / static_cast<double>(mass_), 1.0);
        out_.radius[i] = log2_units(out_.square[i]) / 2;
        out_.half[i] = log2_units(std::max(inner.sum / static_cast<double>(half), 1.0)) / 2;
        if (shapes_) out_.shape[i] = shape_of(centres_.position(i), ball.reach);
    }

    // No window reaches farther than its neighbour's and the distance between them; rounded up.
    double distance(i64 a, i64 b) const {
        return std::sqrt(squared_distance(centres_, period_, a, b)) * (1 + 1e-9) + 1e-6;
    }

    // Sorts the leaves within the radius into bins by squared distance. False if they have too little mass.
    bool fill_bins(std::span<const Nearby::Near> near, double r2) {
        limit_ = static_cast<float>(r2);
        const float scale = kBins / limit_;
        take_near(near);
        std::fill(bin_mass_, bin_mass_ + kBins, 0);
        std::fill(bin_sum_, bin_sum_ + kBins, 0.0);
        i64 found = 0;
        for (size_t k = 0; k < count_; ++k) {
            const int bin = std::min(kBins - 1, static_cast<int>(distance_[k] * scale));
            const i64 weight = weight_of(k);
            bins_[k] = bin;
            bin_mass_[bin] += weight;
            bin_sum_[bin] += static_cast<double>(weight) * static_cast<double>(distance_[k]);
            found += weight;
        }
        found_ = found;
        return found_ >= mass_;
    }

    // Copies the leaves within the radius; without a branch, as many of them are too far.
    void take_near(std::span<const Nearby::Near> near) {
        const float limit = limit_;
        const size_t n = near.size();
        if (near_.size() < n) near_.resize(n), bins_.resize(n), distance_.resize(n), last_bin_.resize(n);
        u32* leaf = near_.data();
        float* distance = distance_.data();
        size_t count = 0;
        for (size_t k = 0; k < n; ++k) {
            leaf[count] = near[k].leaf;
            distance[count] = near[k].squared;
            count += near[k].squared <= limit;
        }
        count_ = count;
    }

    // The bin in which a mass is reached, from an earlier one on.
    Bin bin_of(i64 mass, Bin bin) const {
        for (; bin.before + bin_mass_[bin.index] < mass; ++bin.index) {
            bin.before += bin_mass_[bin.index];
            bin.sum += bin_sum_[bin.index];
        }
        return bin;
    }

    Ball ball_of(i64 mass, Bin bin) {
        size_t count = 0;
        for (size_t k = 0; k < count_; ++k) {
            last_bin_[count] = static_cast<u32>(k);
            count += bins_[k] == bin.index;
        }
        sorted_.clear();
        for (size_t k = 0; k < count; ++k)
            sorted_.push_back({distance_[last_bin_[k]], weight_of(last_bin_[k])});
        std::sort(sorted_.begin(), sorted_.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second < b.second;
        });
        size_t last = 0;  // the leaf that reaches the mass, which is in this bin
        for (; bin.before + sorted_[last].second < mass; ++last) {
            bin.before += sorted_[last].second;
            bin.sum += static_cast<double>(sorted_[last].second) * sorted_[last].first;
        }
        const double squared = sorted_[last].first;
        return {squared, bin.sum + static_cast<double>(mass - bin.before) * squared};
    }

    // (tr C)^2 / tr C^2 of the covariance C of the leaves in the window. More than kShapeAxes features are
    // added up, with signs, to that many: a line stays a line, and the time grows with d instead of d^2.
    double shape_of(const double* x, double reach) {
        const int d = std::min(leaves_.d, kShapeAxes);
        double mass = 0;
        first_.assign(static_cast<size_t>(d), 0.0);
        second_.assign(static_cast<size_t>(d * d), 0.0);
        offset_.resize(static_cast<size_t>(d));
        for (size_t k = 0; k < count_; ++k) {
            if (static_cast<double>(distance_[k]) > reach) continue;
            const double weight = static_cast<double>(weight_of(k));
            mass += weight;
            fold_offset(near_[k], x);
            for (int j = 0; j < d; ++j) {
                first_[j] += weight * offset_[j];
                for (int i = 0; i <= j; ++i) second_[j * d + i] += weight * offset_[j] * offset_[i];
            }
        }
        double trace = 0, squares = 0;
        for (int j = 0; j < d; ++j)
            for (int i = 0; i <= j; ++i) {
                const double covariance = second_[j * d + i] / mass - first_[i] / mass * (first_[j] / mass);
                if (i == j) trace += covariance;
                squares += (i == j ? 1 : 2) * covariance * covariance;
            }
        return squares > 0 ? trace * trace / squares : 1;
    }

    void fold_offset(u32 leaf, const double* x) {
        std::fill(offset_.begin(), offset_.end(), 0.0);
        for (int j = 0; j < leaves_.d; ++j) {
            const double offset = candidates_.offset(leaf, j, x);
            const bool negative = j >= kShapeAxes && mix_bits(static_cast<u64>(j)) >> 63;
            offset_[j % kShapeAxes] += negative ? -offset : offset;
        }
    }

    i64 weight_of(size_t k) const { return leaves_.weights[near_[k]]; }

    const Leaves &centres_, &leaves_;
    const std::vector<Range>& blocks_;
    const std::vector<double>& period_;
    i64 mass_;
    const std::vector<double>& guess_;
    bool shapes_;
    double ahead_;
    Windows& out_;
    Candidates candidates_;
    std::vector<double> first_, second_, offset_;
    Nearby* nearby_ = nullptr;                    // of the block
    Nearby forgotten_;                            // those of a block that are not kept
    float limit_ = 0;                             // squared radius
    size_t count_ = 0;                            // of the leaves within the radius:
    std::vector<u32> near_;                       // which they are,
    std::vector<float> distance_;                 // their squared distances,
    std::vector<int> bins_;                       // and their bins
    std::vector<u32> last_bin_;                   // those of the bin in which the mass is reached,
    std::vector<std::pair<double, i64>> sorted_;  // by squared distance, and their weights
    double last_ = 0;                             // reach of the last window
    i64 found_ = 0;                               // mass
    i64 bin_mass_[kBins];
    double bin_sum_[kBins];
};

}  // namespace detail

// The windows of mass K around the centres, among the leaves. IN mass: at most that of all leaves; guess: how
// far each window might reach, 0 if unknown: it decides the time, and the last bits of sums; near: what an
// earlier call with the same leaves has found, if the centres are the leaves; ahead: how much farther,
// squared, to look now because a later call will.
inline Windows make_windows(const Boxes& centres, const Boxes& leaves, const std::vector<double>& period,
                            i64 mass, const std::vector<double>& guess, bool shapes, int n_threads,
                            std::vector<Nearby> near = {}, double ahead = 1) {
    const size_t n = static_cast<size_t>(centres.leaves().size());
    Windows out{std::vector<double>(n),
                std::vector<double>(n),
                std::vector<i64>(n),
                std::vector<i64>(n),
                std::vector<double>(shapes ? n : 0),
                std::move(near)};
    if (&centres == &leaves) out.near.resize(centres.blocks().size());
    const i64 chunk = detail::WindowFinder::kChunk;
    const i64 chunks = (static_cast<i64>(centres.blocks().size()) + chunk - 1) / chunk;
    const int team = team_size(chunks, 4, n_threads);
    parallel(team, [&](int t) {
        detail::WindowFinder finder(centres, leaves, period, mass, guess, shapes, ahead, out);
        const Range range = part(chunks, t, team);
        for (i64 k = range.begin; k < range.end; ++k) finder.run(k);
    });
    return out;
}

}  // namespace mspp
