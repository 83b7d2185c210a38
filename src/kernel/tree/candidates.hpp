// The leaves near a block of centres, and their distances from each of the centres.
#pragma once

#include <span>

#include "kernel/tree/boxes.hpp"

namespace mspp {

// The leaves near a block of centres, with their squared distances from each centre.
struct Nearby {
    struct Near {
        u32 leaf;
        float squared;
    };
    double r2 = -1;            // how far, squared; -1 if unknown
    std::vector<Near> leaves;  // in rising order, centre after centre
    std::vector<u32> end;      // where those of each centre end

    // The leaves near the k-th centre of the block.
    std::span<const Near> of(i64 k) const {
        const u32 begin = k == 0 ? 0 : end[k - 1];
        return {leaves.data() + begin, leaves.data() + end[k]};
    }
};

class Candidates {
  public:
    Candidates(const Boxes& boxes, const std::vector<double>& period)
        : boxes_(boxes),
          leaves_(boxes.leaves()),
          period_(period),
          corners_(2 * period.size()),
          centre_(period.size()),
          wraps_(std::any_of(period.begin(), period.end(), [](double p) { return p > 0; })) {}

    // Finds the leaves at most sqrt(r2) from each centre of a block.
    void find_nearby(const Leaves& centres, Range block, double r2, Nearby& out) {
        enclose(centres, block);
        collect(r2);
        n_found_ = 0;
        out.end.clear();
        for (i64 i = block.begin; i < block.end; ++i) {
            measure(centres.position(i));
            take_near(static_cast<float>(r2));
            out.end.push_back(static_cast<u32>(n_found_));
        }
        out.leaves.assign(found_.begin(), found_.begin() + static_cast<i64>(n_found_));
        out.r2 = r2;
    }

    // The position of a leaf relative to x, a centre of the last block, along one axis.
    double offset(u32 leaf, int j, const double* x) const {
        return wrapped(position(leaf, j) - (x[j] - corners_[j]), period_[j]);
    }

  private:
    static constexpr size_t kWidth = Lanes::kWidth;  // candidates whose coordinates lie side by side

    // Places the box around a block of centres; positions are relative to its low corner.
    void enclose(const Leaves& centres, Range block) {
        double *low = corners_.data(), *high = low + leaves_.d;
        for (int j = 0; j < leaves_.d; ++j) {
            low[j] = high[j] = centres.position(block.begin)[j];
            for (i64 i = block.begin + 1; i < block.end; ++i) {
                low[j] = std::min(low[j], centres.position(i)[j]);
                high[j] = std::max(high[j], centres.position(i)[j]);
            }
        }
    }

    // Collects all leaves at most sqrt(r2) from any centre of the block, and more.
    void collect(double r2) {
        boxes_.find_leaves(corners_.data(), corners_.data() + leaves_.d, r2, ids_);
        const size_t padded = (size() + kWidth - 1) / kWidth * kWidth;
        if (squared_.size() < padded) {
            squared_.resize(padded);
            positions_.resize(padded * period_.size());
        }
        place();
    }

    size_t size() const { return ids_.size(); }

    // Computes the squared distances of all candidates from x.
    void measure(const double* x) {
        poll_(static_cast<i64>(size()) * leaves_.d);
        for (int j = 0; j < leaves_.d; ++j) centre_[j] = static_cast<float>(x[j] - corners_[j]);
        const float* p = positions_.data();
        const size_t step = centre_.size() * kWidth;
        for (size_t k = 0, n = size(); k < n; k += kWidth, p += step)
            (wraps_ ? squared_around(p) : squared_from(p)).store(&squared_[k]);
    }

    // Places the positions of the candidates, eight side by side.
    void place() {
        const size_t d = period_.size();
        const double* low = corners_.data();
        for (size_t k = 0, n = size(); k < n; ++k) {
            const double* x = leaves_.position(ids_[k]);
            float* at = &positions_[k / kWidth * d * kWidth + k % kWidth];
            if (wraps_)
                for (size_t j = 0; j < d; ++j) at[j * kWidth] = position(ids_[k], static_cast<int>(j));
            else
                for (size_t j = 0; j < d; ++j) at[j * kWidth] = static_cast<float>(x[j] - low[j]);
        }
    }

    // The squared distances of eight candidates from the centre.
    Lanes squared_from(const float* p) const {
        Lanes sum = Lanes::all(0);
        for (const float centre : centre_) {
            const Lanes gap = Lanes::load(p) - Lanes::all(centre);
            sum = sum + gap * gap;
            p += kWidth;
        }
        return sum;
    }
    // The same if an axis has a period.
    Lanes squared_around(const float* p) const {
        Lanes sum = Lanes::all(0);
        for (size_t j = 0; j < centre_.size(); ++j, p += kWidth) {
            Lanes gap = Lanes::load(p) - Lanes::all(centre_[j]);
            if (period_[j] > 0) gap = around(gap, static_cast<float>(period_[j]));
            sum = sum + gap * gap;
        }
        return sum;
    }
    static Lanes around(const Lanes& gap, float period) {
        float gaps[kWidth];
        gap.store(gaps);
        for (float& each : gaps) each = static_cast<float>(wrapped(each, period));
        return Lanes::load(gaps);
    }

    // The position of a leaf relative to the low corner; a float has enough bits for it.
    float position(u32 leaf, int j) const {
        return static_cast<float>(wrapped(leaves_.position(leaf)[j] - corners_[j], period_[j]));
    }

    // Appends the candidates within the radius to those found; without a branch, as most of them are too far.
    void take_near(float limit) {
        if (found_.size() < n_found_ + size()) found_.resize(2 * (n_found_ + size()));
        Nearby::Near* out = found_.data() + n_found_;
        const u32* id = ids_.data();
        const float* squared = squared_.data();
        for (size_t k = 0, n = size(); k < n; ++k) {
            out->leaf = id[k];
            out->squared = squared[k];
            out += squared[k] <= limit;
        }
        n_found_ = static_cast<size_t>(out - found_.data());
    }

    const Boxes& boxes_;
    const Leaves& leaves_;
    Poller poll_;
    const std::vector<double>& period_;
    std::vector<double> corners_;  // low, then high
    std::vector<float> centre_;    // relative to the low corner
    bool wraps_;                   // an axis has a period
    std::vector<u32> ids_;
    std::vector<float> positions_;  // of each kWidth candidates and axis, kWidth values
    std::vector<float> squared_;
    std::vector<Nearby::Near> found_;  // near the centres of a block so far, and space for more
    size_t n_found_ = 0;
};

}  // namespace mspp
