// What the robust tracker knows: shares of cells in the object, in its surroundings and in its rivals, places
// nearby that look like it; and from these a weight for each cell.
//
// Cells are counted first, in integers, and what was counted then becomes part of a model.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernel/base/numbers.hpp"

namespace mspp {

class ColourModel {
  public:
    using Shares = std::vector<float>;
    static constexpr float kUnit = 4096;  // the weight 1, as an integer

    explicit ColourModel(size_t n_cells, double floor)
        : object_(n_cells),
          ring_(n_cells),
          rival_(n_cells),
          weights_(n_cells + 1),
          counts_(n_cells + 1),
          floor_(static_cast<float>(floor)) {}

    // The id of what is outside the frame: weighs 0 and is never counted.
    uint16_t none() const { return static_cast<uint16_t>(object_.size()); }
    const std::vector<i32>& weights() const { return weights_; }

    void clear() {
        std::fill(counts_.begin(), counts_.end(), 0);
        total_ = 0;
    }
    void add(uint16_t id, u32 weight) {
        if (id == none()) return;
        counts_[id] += weight;
        total_ += weight;
    }
    void start_object() { mix(object_, 1); }
    void learn_ring(double rate) { mix(ring_, rate); }
    void learn_rival(double rate) {
        if (total_ == 0) return;
        mix(rival_, has_rival_ ? rate : 1);
        has_rival_ = true;
    }
    // Cells that are the object's by this count alone are learned faster: so it follows the light, and what
    // the surroundings or a rival have too does not leak in.
    void learn_object(double rate, double fresh) {
        if (total_ == 0) return;
        const float one = 1.0f / static_cast<float>(total_);
        float sum = 0;
        for (size_t k = 0; k < object_.size(); ++k) {
            const float n = static_cast<float>(counts_[k]) * one;
            const float r = std::max(against(n, std::max(ring_[k], rival_[k])), 0.0f);
            object_[k] += (static_cast<float>(rate) + static_cast<float>(fresh) * r) * (n - object_[k]);
            sum += object_[k];
        }
        for (float& share : object_) share /= sum;
    }

    // Weights from 1, only the object's, to -1, only the surroundings' and rivals'.
    void weigh() {
        const float half = has_rival_ ? 0.5f : 0.0f;
        for (size_t k = 0; k < object_.size(); ++k) {
            const float o = object_[k];
            const float r = (1 - half) * against(o, ring_[k]) + half * against(o, rival_[k]);
            weights_[k] = static_cast<i32>(std::floor(r * kUnit + 0.5f));
        }
    }

    // How much more what was counted is like the object than the surroundings are, from 0 to 1.
    double likeness() const {
        const float one = 1.0f / static_cast<float>(std::max<u64>(total_, 1));
        const double here = affinity([&](size_t k) { return one * static_cast<float>(counts_[k]); });
        const double around = affinity([&](size_t k) { return ring_[k]; });
        return std::clamp((here - around) / std::max(1 - around, 1e-3), 0.0, 1.0);
    }

  private:
    // Shares below the floor do not weigh much.
    float against(float mine, float other) const { return (mine - other) / (mine + other + floor_); }

    void mix(Shares& shares, double rate) const {
        if (total_ == 0) return;
        const float keep = static_cast<float>(1 - rate);
        const float take = static_cast<float>(rate / static_cast<double>(total_));
        for (size_t k = 0; k < shares.size(); ++k)
            shares[k] = keep * shares[k] + take * static_cast<float>(counts_[k]);
    }
    // Bhattacharyya's, of the object and other shares: from 0, no cell in common, to 1, the same.
    template <class Fn>
    double affinity(Fn&& share) const {
        i32 sum = 0;  // in whole parts of 2^24
        for (size_t k = 0; k < object_.size(); ++k)
            sum += static_cast<i32>(std::sqrt(object_[k] * share(k)) * 0x1p24f);
        return sum * 0x1p-24;
    }

    Shares object_, ring_, rival_;
    bool has_rival_ = false;
    std::vector<i32> weights_;  // of the cells, and of none
    std::vector<u32> counts_;
    u64 total_ = 0;
    float floor_;
};

}  // namespace mspp
