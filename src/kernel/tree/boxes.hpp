// A tree of boxes over leaves that are neighbours on the curve: finds the leaves near a block of centres.
#pragma once

#include <bit>
#include <cmath>

#include "kernel/base/lanes.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/tree/cloud.hpp"

namespace mspp {

// The shortest of a difference of coordinates, on a circle if there is a period.
inline double wrapped(double difference, double period) {
    return period > 0 ? difference - period * std::nearbyint(difference / period) : difference;
}

// The squared distance of two leaves.
inline double squared_distance(const Leaves& leaves, const std::vector<double>& period, i64 a, i64 b) {
    double sum = 0;
    for (int j = 0; j < leaves.d; ++j) {
        const double gap = wrapped(leaves.position(a)[j] - leaves.position(b)[j], period[j]);
        sum += gap * gap;
    }
    return sum;
}

// The largest value of a block of leaves.
inline double largest(Range block, const std::vector<double>& values) {
    return *std::max_element(values.begin() + block.begin, values.begin() + block.end);
}

// Every eight leaves are a group, every eight groups a node, every eight nodes a node of the next layer. The
// boxes of a node's eight children lie side by side, so that one vector loop tests them all. A box is a
// middle and half a width per axis, in float and rounded up: a search finds too much rather than too little.
class Boxes {
  public:
    static constexpr i64 kWidth = Lanes::kWidth;
    static constexpr i64 kBlock = 8;  // the most leaves in a block

    Boxes(const Leaves& leaves, const std::vector<double>& period) : leaves_(leaves), d_(leaves.d) {
        for (double p : period) period_.push_back(static_cast<float>(p));
        make_blocks();
        std::vector<Side> sides = sides_of_leaves();
        leaf_layer_ = make_layer(sides);
        do {
            sides = join(sides);
            layers_.push_back(make_layer(sides));
        } while (layers_.back().size() > layer_floats());
    }

    const Leaves& leaves() const { return leaves_; }
    // Ranges of leaves that are close to each other, in rising order.
    const std::vector<Range>& blocks() const { return blocks_; }

    // For each child of each node, layer after layer, the value that all its leaves have in common, or
    // kMixed.
    static constexpr u32 kMixed = UINT32_MAX;
    using Common = std::vector<std::vector<u32>>;
    Common common(const std::vector<u32>& values) const {
        Common result;
        const std::vector<u32>* below = &values;
        for (size_t l = 0; l < layers_.size(); ++l) {
            std::vector<u32> above;
            for (size_t k = 0; k < below->size(); k += kWidth) {
                const size_t end = std::min<size_t>(k + kWidth, below->size());
                const auto first = below->begin() + static_cast<i64>(k),
                           last = below->begin() + static_cast<i64>(end);
                above.push_back(std::all_of(first, last, [&](u32 v) { return v == *first; }) ? *first
                                                                                             : kMixed);
            }
            result.push_back(std::move(above));
            below = &result.back();
        }
        return result;
    }

    // Calls hit(group) for every group whose box is at most sqrt(r2) from the box [low, high], and maybe a
    // little more, in rising order, unless skip(layer, box). Reads r2 anew at every box.
    template <class Hit, class Skip>
    void visit(const double* low, const double* high, const double& r2, Hit&& hit, Skip&& skip) const {
        const std::vector<float> query = query_of(low, high);
        visit_node(layers_.size() - 1, 0, query.data(), [&] { return limit(r2); }, hit, skip);
    }

    template <class Hit>
    void visit(const double* low, const double* high, double r2, Hit&& hit) const {
        visit(low, high, r2, hit, [](size_t, i64) { return false; });
    }

    // Finds the leaves at most sqrt(r2) from the box [low, high], and maybe a little more, in rising order.
    void find_leaves(const double* low, const double* high, double r2, std::vector<u32>& found) const {
        const std::vector<float> query = query_of(low, high);
        const float most = limit(r2);
        size_t count = 0;
        auto hit = [&](i64 group) {
            if (found.size() < count + kWidth) found.resize(2 * (count + kWidth));
            float gaps[kWidth];
            squared_gaps(&leaf_layer_[static_cast<size_t>(group) * layer_floats()], query.data(), gaps);
            u32* out = found.data();
            for (int c = 0; c < kWidth; ++c) {  // without a branch: most of them are too far
                out[count] = static_cast<u32>(group * kWidth + c);
                count += gaps[c] <= most;
            }
        };
        visit_node(
            layers_.size() - 1, 0, query.data(), [&] { return most; }, hit,
            [](size_t, i64) { return false; });
        found.resize(count);
    }

    // The leaves of a group.
    Range range(i64 group) const { return {group * kWidth, std::min(leaves_.size(), (group + 1) * kWidth)}; }

  private:
    struct Side {  // of a box, along one axis
        double low, high;
    };
    using Layer =
        std::vector<float>;  // of each node and axis, the middles of all children, then half the widths
    size_t layer_floats() const { return static_cast<size_t>(2 * kWidth * d_); }  // of one node

    static float middle(Side side) { return static_cast<float>((side.low + side.high) / 2); }
    // Half the width of a side, and more: for the rounding of middles and of their differences.
    static float half_width(Side side) {
        return static_cast<float>((side.high - side.low) * (0.5 + 0x1p-22) +
                                  0x1p-21 * std::max(std::abs(side.low), std::abs(side.high)));
    }

    // The middles of a box along all axes, then half its widths.
    std::vector<float> query_of(const double* low, const double* high) const {
        poll();
        std::vector<float> query(2 * static_cast<size_t>(d_));
        for (int j = 0; j < d_; ++j) {
            query[j] = middle({low[j], high[j]});
            query[d_ + j] = half_width({low[j], high[j]});
        }
        return query;
    }

    // A squared distance, and more: for the rounding of the sum of d squares.
    float limit(double r2) const { return static_cast<float>(r2 * (1 + 1e-6 * (d_ + 4))); }

    // Divides the leaves until no block has too many.
    void make_blocks() {
        std::vector<i64> before(leaves_.first.size());
        std::iota(before.begin(), before.end(), i64{0});
        const std::vector<i64> divided = divided_weights(leaves_.steps, before);
        i64 begin = 0;
        for (i64 i = 1; i <= leaves_.size(); ++i) {
            if (i < leaves_.size() && divided[i] <= kBlock) continue;
            blocks_.push_back({begin, i});
            begin = i;
        }
    }

    // The sides of the leaves, d for each: they have no width.
    std::vector<Side> sides_of_leaves() const {
        std::vector<Side> sides;
        sides.reserve(leaves_.positions.size());
        for (double x : leaves_.positions) sides.push_back({x, x});
        return sides;
    }

    // The sides of the boxes around every eight boxes.
    std::vector<Side> join(const std::vector<Side>& sides) const {
        const i64 d = d_, boxes = static_cast<i64>(sides.size()) / d;
        std::vector<Side> joined(static_cast<size_t>((boxes + kWidth - 1) / kWidth * d));
        for (i64 box = 0; box < boxes; ++box)
            for (i64 j = 0; j < d; ++j) {
                Side& side = joined[box / kWidth * d + j];
                const auto [low, high] = sides[box * d + j];
                side = box % kWidth == 0 ? Side{low, high}
                                         : Side{std::min(side.low, low), std::max(side.high, high)};
            }
        return joined;
    }

    // Places without a box are NaN, which is near nothing.
    Layer make_layer(const std::vector<Side>& sides) const {
        const i64 d = d_, boxes = static_cast<i64>(sides.size()) / d;
        Layer layer(static_cast<size_t>((boxes + kWidth - 1) / kWidth) * layer_floats(),
                    std::numeric_limits<float>::quiet_NaN());
        for (i64 box = 0; box < boxes; ++box)
            for (i64 j = 0; j < d; ++j) {
                float* place = &layer[(box / kWidth * d + j) * 2 * kWidth + box % kWidth];
                place[0] = middle(sides[box * d + j]);
                place[kWidth] = half_width(sides[box * d + j]);
            }
        return layer;
    }

    template <class Limit, class Hit, class Skip>
    void visit_node(size_t l, i64 node, const float* query, Limit&& limit, Hit&& hit, Skip&& skip) const {
        float gaps[kWidth];
        squared_gaps(&layers_[l][static_cast<size_t>(node) * layer_floats()], query, gaps);
        unsigned near = 0;
        const float now = limit();
        for (int c = 0; c < kWidth; ++c) near |= static_cast<unsigned>(gaps[c] <= now) << c;
        for (; near != 0; near &= near - 1) {
            const int c = std::countr_zero(near);
            const i64 box = node * kWidth + c;
            if (!(gaps[c] <= limit()) || skip(l, box)) continue;
            if (l == 0)
                hit(box);
            else
                visit_node(l - 1, box, query, limit, hit, skip);
        }
    }

    // The squared distances of the boxes of eight children from the query.
    void squared_gaps(const float* boxes, const float* query, float* out) const {
        Lanes sum = Lanes::all(0);
        for (int j = 0; j < d_; ++j, boxes += 2 * kWidth) {
            Lanes gap = magnitude(Lanes::load(boxes) - Lanes::all(query[j]));
            if (period_[j] > 0) {  // the shorter way round the circle
                const Lanes half = Lanes::all(period_[j] / 2);
                gap = half - magnitude(half - gap);
            }
            gap = larger(Lanes::all(0), gap - Lanes::load(boxes + kWidth) - Lanes::all(query[d_ + j]));
            sum = sum + gap * gap;
        }
        sum.store(out);
    }

    const Leaves& leaves_;
    int d_;
    std::vector<float> period_;
    std::vector<Range> blocks_;
    Layer leaf_layer_;           // of boxes around single leaves
    std::vector<Layer> layers_;  // that of the groups first
};

}  // namespace mspp
