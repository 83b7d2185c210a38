// The model of the robust tracker: the shares of colour cells in the object, in its surroundings (the ring)
// and in its rivals, places nearby that look like it. They give each cell a weight.
//
// Cells are first counted, in integers; the counts are then mixed into one of the three.
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

    explicit ColourModel(size_t n_cells, double share_floor)
        : object_(n_cells),
          ring_(n_cells),
          rival_(n_cells),
          weights_(n_cells + 1),
          counts_(n_cells + 1),
          floor_(static_cast<float>(share_floor)) {}

    // The id of samples outside the frame; its weight is 0, and it is never counted.
    uint16_t none() const { return static_cast<uint16_t>(object_.size()); }
    // Of the cells, and of none().
    const std::vector<i32>& weights() const { return weights_; }

    void clear_counts() {
        std::fill(counts_.begin(), counts_.end(), 0);
        total_ = 0;
    }
    void count(uint16_t id, u32 weight) {
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
    // Learns cells that only the object has faster, by up to `distinct_rate` more: the model follows changes
    // of light, and colours of the surroundings or of a rival do not enter it.
    void learn_object(double rate, double distinct_rate) {
        if (total_ == 0) return;
        const float one = 1.0f / static_cast<float>(total_);
        float sum = 0;
        for (size_t k = 0; k < object_.size(); ++k) {
            const float share = static_cast<float>(counts_[k]) * one;
            const float distinct = std::max(contrast(share, std::max(ring_[k], rival_[k])), 0.0f);
            object_[k] += (static_cast<float>(rate) + static_cast<float>(distinct_rate) * distinct) *
                          (share - object_[k]);
            sum += object_[k];
        }
        for (float& share : object_) share /= sum;
    }

    // Sets the weights: from 1 for cells that only the object has to -1 for those of surroundings and rivals.
    void update_weights() {
        const float half = has_rival_ ? 0.5f : 0.0f;
        for (size_t k = 0; k < object_.size(); ++k) {
            const float o = object_[k];
            const float weight = (1 - half) * contrast(o, ring_[k]) + half * contrast(o, rival_[k]);
            weights_[k] = floor_of(weight * kUnit + 0.5f);
        }
    }

    // How much more the counts resemble the object than the surroundings do, from 0 to 1.
    double likeness() const {
        const float one = 1.0f / static_cast<float>(std::max<u64>(total_, 1));
        const double here = affinity([&](size_t k) { return one * static_cast<float>(counts_[k]); });
        const double around = affinity([&](size_t k) { return ring_[k]; });
        return std::clamp((here - around) / std::max(1 - around, 1e-3), 0.0, 1.0);
    }

  private:
    // std::floor, without the call that it is on processors before SSE4.1.
    static i32 floor_of(float x) {
        const i32 towards_0 = static_cast<i32>(x);
        return towards_0 - (static_cast<float>(towards_0) > x);
    }
    // From -1 to 1; near 0 if both shares are below the floor.
    float contrast(float share, float other) const { return (share - other) / (share + other + floor_); }

    void mix(Shares& shares, double rate) const {
        if (total_ == 0) return;
        const float keep = static_cast<float>(1 - rate);
        const float add = static_cast<float>(rate / static_cast<double>(total_));
        for (size_t k = 0; k < shares.size(); ++k)
            shares[k] = keep * shares[k] + add * static_cast<float>(counts_[k]);
    }
    // Bhattacharyya's coefficient of the object and other shares: 0 if no cell is in both, 1 if they are
    // equal.
    template <class Fn>
    double affinity(Fn&& share) const {
        i32 sum = 0;  // in units of 2^-24
        for (size_t k = 0; k < object_.size(); ++k)
            sum += static_cast<i32>(std::sqrt(object_[k] * share(k)) * 0x1p24f);
        return sum * 0x1p-24;
    }

    Shares object_, ring_, rival_;
    bool has_rival_ = false;
    std::vector<i32> weights_;
    std::vector<u32> counts_;
    u64 total_ = 0;
    float floor_;
};

}  // namespace mspp
