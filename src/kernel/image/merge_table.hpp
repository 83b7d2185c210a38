// The learned cost of a merge: a table of symmetric trees that scores the border between two regions.
//
// A score is the log odds that a person draws both regions as one, in steps of 2^-16: a sum of integers, so
// it does not depend on the order of adding. A tree only compares features with thresholds. Features are
// binned once, and eight borders are scored together, as bytes of a word.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernel/base/numbers.hpp"

namespace mspp {

inline constexpr int kMergeFeatures = 38;
inline constexpr int kTreeDepth = 5, kTreeLeaves = 1 << kTreeDepth;
inline constexpr double kScoreSteps = 65536;  // per unit of log odds

// The features of up to 16 borders.
struct FeatureBatch {
    static constexpr int kSize = 16;
    float of[kMergeFeatures][kSize]{};
    void set(int lane, int feature, double value) { of[feature][lane] = static_cast<float>(value); }
};

class MergeTable {
  public:
    // IN features and thresholds (trees, 5), values (trees, 32), bias: in steps. A leaf is the number whose
    // k-th bit is `feature k > threshold k`.
    MergeTable(i64 trees, const uint8_t* features, const float* thresholds, const int16_t* values, i32 bias)
        : bias_(bias) {
        for (i64 i = 0; i < trees * kTreeDepth; ++i) {
            if (features[i] >= kMergeFeatures) throw std::invalid_argument("a tree has an unknown feature");
            borders_[features[i]].push_back(thresholds[i]);
        }
        for (auto& borders : borders_) {
            std::sort(borders.begin(), borders.end());
            borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
            if (borders.size() > 127) throw std::invalid_argument("a feature has over 127 thresholds");
        }
        trees_.resize(static_cast<size_t>(trees));
        for (i64 t = 0; t < trees; ++t) {
            for (int k = 0; k < kTreeDepth; ++k) {
                const uint8_t feature = features[t * kTreeDepth + k];
                const auto& borders = borders_[feature];
                const auto place =
                    std::lower_bound(borders.begin(), borders.end(), thresholds[t * kTreeDepth + k]);
                trees_[t].feature[k] = feature;
                trees_[t].carry[k] = static_cast<uint8_t>(127 - (place - borders.begin()));
            }
            std::copy_n(values + t * kTreeLeaves, kTreeLeaves, trees_[t].value);
        }
    }

    // OUT scores of the first `count` lanes, in steps.
    void score(const FeatureBatch& batch, int count, i32 scores[FeatureBatch::kSize]) const {
        for (int first = 0; first < count; first += 8)
            if (count - first > 4)
                score_lanes<8>(batch, first, scores + first);
            else
                score_lanes<4>(batch, first, scores + first);
    }

  private:
    struct Tree {
        uint8_t feature[kTreeDepth];
        uint8_t carry[kTreeDepth];  // added to a bin, it sets the highest bit if the threshold is passed
        int16_t value[kTreeLeaves];
    };

    // OUT scores of N lanes, whose bins are the bytes of a word.
    template <int N>
    void score_lanes(const FeatureBatch& batch, int first, i32* scores) const {
        constexpr u64 ones = 0x0101010101010101;
        u64 bins[kMergeFeatures];
        for (int f = 0; f < kMergeFeatures; ++f) bins[f] = find_bins<N>(batch.of[f] + first, borders_[f]);
        i32 sums[N];  // in registers, unlike `scores`
        std::fill_n(sums, N, bias_);
        for (const Tree& tree : trees_) {
            u64 leaves = 0;
            for (int k = 0; k < kTreeDepth; ++k) {
                const u64 passed = (bins[tree.feature[k]] + ones * tree.carry[k]) & (ones << 7);
                leaves |= passed >> (7 - k);
            }
            for (int i = 0; i < N; ++i) sums[i] += tree.value[leaves >> (8 * i) & 0xff];
        }
        std::copy_n(sums, N, scores);
    }

    // Returns the number of borders below each of N values, at most 127, as bytes.
    template <int N>
    static u64 find_bins(const float* values, const std::vector<float>& borders) {
        i32 below[N] = {};
        for (const float border : borders)
            for (int i = 0; i < N; ++i) below[i] += values[i] > border;
        u64 bins = 0;
        for (int i = 0; i < N; ++i) bins |= static_cast<u64>(below[i]) << (8 * i);
        return bins;
    }

    i32 bias_;
    std::vector<float> borders_[kMergeFeatures];  // the thresholds of each feature, ascending
    std::vector<Tree> trees_;
};

}  // namespace mspp
