// A tree of boxes over leaves that are neighbours on the curve: finds the leaves near a block of centres.
#pragma once

#include <bit>
#include <cmath>

#include "kernel/base/threads.hpp"
#include "kernel/tree/cloud.hpp"

namespace mspp {

// The shortest of a difference of coordinates, on a circle if there is a period.
inline double wrapped(double difference, double period) {
    return period > 0 ? difference - period * std::nearbyint(difference / period) : difference;
}

class Boxes {
  public:
    static constexpr i64 kBlock = 8;  // the most leaves in a box without parts

    Boxes(const Leaves& leaves, const std::vector<double>& period)
        : leaves_(leaves), d_(leaves.d), period_(period.data()) {
        build(0, leaves.size());
    }

    const Leaves& leaves() const { return leaves_; }
    // The ranges of leaves in the boxes without parts, in rising order.
    const std::vector<Range>& blocks() const { return blocks_; }

    // For each box, the value that all its leaves have in common, or kMixed.
    static constexpr u32 kMixed = UINT32_MAX;
    std::vector<u32> common(const std::vector<u32>& values) const {
        std::vector<u32> result(nodes_.size());
        for (i64 k = static_cast<i64>(nodes_.size()) - 1; k >= 0; --k) {
            if (nodes_[k].block < 0) {
                result[k] = result[k + 1] == result[nodes_[k].second] ? result[k + 1] : kMixed;
                continue;
            }
            const Range block = blocks_[nodes_[k].block];
            const auto first = values.begin() + block.begin, last = values.begin() + block.end;
            result[k] = std::all_of(first, last, [&](u32 v) { return v == *first; }) ? *first : kMixed;
        }
        return result;
    }

    // Calls hit(range) for every block whose box is at most sqrt(r2) from the box [low, high], in rising
    // order, unless skip(box). Reads r2 anew at every box.
    template <class Hit, class Skip>
    void visit(const double* low, const double* high, const double& r2, Hit&& hit, Skip&& skip) const {
        i64 open[64 * 2];
        int count = 0;
        open[count++] = 0;
        while (count > 0) {
            const i64 k = open[--count];
            if (skip(k) || !(squared_gap(k, low, high) <= r2)) continue;
            if (nodes_[k].block >= 0) {
                hit(blocks_[nodes_[k].block]);
            } else {
                open[count++] = nodes_[k].second;
                open[count++] = k + 1;
            }
        }
    }

    template <class Hit>
    void visit(const double* low, const double* high, double r2, Hit&& hit) const {
        visit(low, high, r2, hit, [](i64) { return false; });
    }

  private:
    struct Node {
        i64 second;  // the second part; the first is the next node
        i64 block;   // -1 if there are parts
    };

    // Appends the node of a range of leaves: divided at the highest bit in which their codes differ.
    i64 build(i64 begin, i64 end) {
        const i64 k = static_cast<i64>(nodes_.size());
        nodes_.push_back({-1, -1});
        corners_.resize(corners_.size() + 2 * static_cast<size_t>(d_));
        const u64 differ = leaves_.codes[begin] ^ leaves_.codes[end - 1];
        if (end - begin <= kBlock || differ == 0) {
            nodes_[k].block = static_cast<i64>(blocks_.size());
            blocks_.push_back({begin, end});
            enclose(k, begin, end);
            return k;
        }
        const u64 bit = std::bit_floor(differ);
        const auto codes = leaves_.codes.begin();
        const i64 middle =
            std::partition_point(codes + begin, codes + end, [&](u64 c) { return !(c & bit); }) - codes;
        build(begin, middle);
        nodes_[k].second = build(middle, end);
        join_corners(k, k + 1, nodes_[k].second);
        return k;
    }

    double* corners(i64 k) { return &corners_[static_cast<size_t>(2 * k * d_)]; }
    const double* corners(i64 k) const { return &corners_[static_cast<size_t>(2 * k * d_)]; }

    void enclose(i64 k, i64 begin, i64 end) {
        double *low = corners(k), *high = low + d_;
        for (int j = 0; j < d_; ++j) {
            low[j] = high[j] = leaves_.position(begin)[j];
            for (i64 i = begin + 1; i < end; ++i) {
                low[j] = std::min(low[j], leaves_.position(i)[j]);
                high[j] = std::max(high[j], leaves_.position(i)[j]);
            }
        }
    }
    void join_corners(i64 k, i64 a, i64 b) {
        for (int j = 0; j < d_; ++j) {
            corners(k)[j] = std::min(corners(a)[j], corners(b)[j]);
            corners(k)[d_ + j] = std::max(corners(a)[d_ + j], corners(b)[d_ + j]);
        }
    }

    double squared_gap(i64 k, const double* low, const double* high) const {
        const double *lows = corners(k), *highs = lows + d_;
        double sum = 0;
        for (int j = 0; j < d_; ++j) {
            double gap = std::max(lows[j] - high[j], low[j] - highs[j]);
            if (period_[j] > 0)  // the other way round the circle
                gap = std::min(gap, period_[j] - (std::max(highs[j], high[j]) - std::min(lows[j], low[j])));
            gap = std::max(gap, 0.0);
            sum += gap * gap;
        }
        return sum;
    }

    const Leaves& leaves_;
    int d_;
    const double* period_;
    std::vector<Node> nodes_;
    std::vector<double> corners_;  // low and high of each node
    std::vector<Range> blocks_;
};

// The leaves near a block of centres, one array per axis, for loops over all of them.
class Candidates {
  public:
    Candidates(const Boxes& boxes, const std::vector<double>& period)
        : boxes_(boxes),
          period_(period),
          d_(boxes.leaves().d),
          positions_(static_cast<size_t>(d_)),
          corners_(2 * positions_.size()) {}

    // Places the box around a block of centres; positions are relative to its low corner.
    void enclose(const Leaves& centres, Range block) {
        double *low = corners_.data(), *high = low + d_;
        for (int j = 0; j < d_; ++j) {
            low[j] = high[j] = centres.position(block.begin)[j];
            for (i64 i = block.begin + 1; i < block.end; ++i) {
                low[j] = std::min(low[j], centres.position(i)[j]);
                high[j] = std::max(high[j], centres.position(i)[j]);
            }
        }
    }

    // Collects all leaves at most sqrt(r2) from any centre of the block, and more.
    void collect(double r2) {
        const double *low = corners_.data(), *high = low + d_;
        ids_.clear();
        boxes_.visit(low, high, r2, [&](Range found) {
            for (i64 k = found.begin; k < found.end; ++k) ids_.push_back(static_cast<u32>(k));
        });
        const Leaves& leaves = boxes_.leaves();
        squared_.resize(ids_.size());
        for (int j = 0; j < d_; ++j) {
            positions_[j].resize(ids_.size());
            for (size_t k = 0; k < ids_.size(); ++k) {
                const double offset = leaves.position(ids_[k])[j] - low[j];
                positions_[j][k] = static_cast<float>(wrapped(offset, period_[j]));
            }
        }
    }

    size_t size() const { return ids_.size(); }
    u32 id(size_t k) const { return ids_[k]; }
    // The position of a candidate relative to x, along one axis.
    double offset(size_t k, int j, const double* x) const {
        return wrapped(positions_[j][k] - (x[j] - corners_[j]), period_[j]);
    }

    // The squared distances of all candidates from x.
    const float* squared_distances(const double* x) {
        const size_t n = size();
        float* out = squared_.data();
        for (int j = 0; j < d_; ++j) {
            const float *p = positions_[j].data(), v = static_cast<float>(x[j] - corners_[j]);
            const float period = static_cast<float>(period_[j]);
            auto add = [&](size_t k, float gap) { out[k] = j == 0 ? gap * gap : out[k] + gap * gap; };
            if (period > 0)
                for (size_t k = 0; k < n; ++k) add(k, static_cast<float>(wrapped(p[k] - v, period)));
            else if (j == 0)
                for (size_t k = 0; k < n; ++k) out[k] = (p[k] - v) * (p[k] - v);
            else
                for (size_t k = 0; k < n; ++k) out[k] += (p[k] - v) * (p[k] - v);
        }
        return out;
    }

  private:
    const Boxes& boxes_;
    const std::vector<double>& period_;
    int d_;
    std::vector<std::vector<float>> positions_;  // relative to the block: enough bits, and half the memory
    std::vector<double> corners_;
    std::vector<float> squared_;
    std::vector<u32> ids_;
};

}  // namespace mspp
