// A tree of boxes over leaves that are neighbours on the curve: finds the leaves near a block of them.
#pragma once

#include <bit>

#include "kernel/tree/leaves.hpp"

namespace mspp {

// Every eight leaves are a group, every eight groups a node, every eight nodes a node of the next layer. The
// boxes of a node's eight children lie side by side, so that one vector loop tests them all. A box is a
// middle and half a width per axis, in float and rounded up: a search finds too much rather than too little.
class Boxes {
  public:
    static constexpr i64 kWidth = kLanes;

    Boxes(const Leaves& leaves, const std::vector<i32>& period, const NearLoops& loops)
        : leaves_(leaves),
          period_(period),
          loops_(loops),
          d_(leaves.d),
          wraps_(std::any_of(period.begin(), period.end(), [](i32 p) { return p > 0; })),
          origin_(period.size(), INT32_MAX) {
        for (i64 i = 0; i < leaves.size(); ++i)
            for (int j = 0; j < d_; ++j) origin_[j] = std::min(origin_[j], leaves.at(i, j));
        std::vector<Side> sides = sides_of_groups();
        layers_.push_back(make_layer(sides));
        while (layers_.back().size() > layer_floats()) {
            sides = join(sides);
            layers_.push_back(make_layer(sides));
        }
        tree_ = {d_,
                 static_cast<int>(layers_.size()),
                 {},
                 leaves_.positions.data(),
                 wraps_ ? period_.data() : nullptr};
        for (size_t l = 0; l < layers_.size(); ++l) tree_.layer[l] = layers_[l].data();
    }
    Boxes(const Boxes&) = delete;

    const Leaves& leaves() const { return leaves_; }
    const std::vector<i32>& period() const { return period_; }
    const NearLoops& loops() const { return loops_; }
    const BoxTree& tree() const { return tree_; }
    float squared_distance(i64 a, i64 b) const { return mspp::squared_distance(leaves_, period_, a, b); }
    // The leaves of a group.
    Range range(i64 group) const { return {group * kWidth, std::min(leaves_.size(), (group + 1) * kWidth)}; }

    // For each child of each node, layer after layer, the value that all its leaves have in common, or
    // kMixed.
    static constexpr u32 kMixed = UINT32_MAX;
    using Common = std::vector<std::vector<u32>>;
    template <class Values>
    Common common(const Values& values) const {
        Common result;
        auto join = [&](const auto& below) {
            std::vector<u32> above;
            for (size_t k = 0; k < below.size(); k += kWidth) {
                const size_t end = std::min<size_t>(k + kWidth, below.size());
                u32 value = below[k];
                for (size_t i = k + 1; i < end; ++i) value = below[i] == value ? value : kMixed;
                above.push_back(value);
            }
            result.push_back(std::move(above));
        };
        join(values);
        while (result.size() < layers_.size()) join(result.back());
        return result;
    }

    // The box around a range of leaves, or around one: what a search begins from.
    class Query {
      public:
        Query(const Boxes& boxes, Range block) { place(boxes, block); }
        Query() = default;
        void place(const Boxes& boxes, Range block) {
            values_.resize(2 * boxes.period_.size());
            for (int j = 0; j < boxes.d_; ++j) {
                Side side = boxes.side_of(block.begin, j);
                for (i64 i = block.begin + 1; i < block.end; ++i) side.add(boxes.side_of(i, j));
                values_[j] = middle(side);
                values_[boxes.d_ + j] = boxes.half_width(side, j);
            }
        }
        const float* data() const { return values_.data(); }

      private:
        std::vector<float> values_;  // middles along all axes, then half the widths
    };

    // A squared distance, and more: for the rounding of the sum of d squares.
    float limit(float r2) const { return r2 * (1 + 1e-6f * static_cast<float>(d_ + 4)); }

    // Calls hit(group) for every group whose box is at most sqrt(r2) from that of the query, and maybe a
    // little more, in rising order, unless skip(layer, box). Reads r2 anew at every box.
    template <class Hit, class Skip>
    void visit(const Query& query, const float& r2, Hit&& hit, Skip&& skip) const {
        poll();
        visit_node(layers_.size() - 1, 0, query.data(), r2, hit, skip);
    }
    template <class Hit>
    void visit(const Query& query, const float& r2, Hit&& hit) const {
        visit(query, r2, hit, [](size_t, i64) { return false; });
    }

    // Whether a group that is not all of one value is at most sqrt(r2) from a range of leaves.
    bool is_near(Range range, float r2, u32 value, const Common& common) const {
        bool found = false;
        visit(
            Query(*this, range), r2, [&](i64) { found = true; },
            [&](size_t layer, i64 box) { return found || common[layer][box] == value; });
        return found;
    }

  private:
    struct Side {  // of a box, along one axis, from the origin
        double low, high;
        void add(Side other) { low = std::min(low, other.low), high = std::max(high, other.high); }
    };
    using Layer = Array<float>;  // of each node and axis, the middles of all children, then half the widths
    size_t layer_floats() const { return static_cast<size_t>(2 * kWidth * d_); }  // of one node

    static float middle(Side side) { return static_cast<float>((side.low + side.high) / 2); }
    // Half the width of a side, and more: for the rounding of middles and of their differences.
    float half_width(Side side, int j) const {
        const double largest = std::max(side.high, static_cast<double>(period_[j]));
        return static_cast<float>((side.high - side.low) * (0.5 + 0x1p-22) + 0x1p-21 * largest);
    }
    Side side_of(i64 leaf, int j) const {
        const double x = static_cast<double>(leaves_.at(leaf, j)) - origin_[j];
        return {x, x};
    }

    std::vector<Side> sides_of_groups() const {
        std::vector<Side> sides;
        sides.reserve(static_cast<size_t>(leaves_.groups() * d_));
        each_of({0, leaves_.groups()}, kWidth * d_, [&](i64 g) {
            for (int j = 0; j < d_; ++j) {
                const i32* x = leaves_.group(g) + j * kWidth;
                const auto [low, high] = std::minmax_element(x, x + kWidth);
                const double origin = origin_[j];
                sides.push_back({*low - origin, *high - origin});
            }
        });
        return sides;
    }

    // The sides of the boxes around every eight boxes.
    std::vector<Side> join(const std::vector<Side>& sides) const {
        const i64 d = d_, boxes = static_cast<i64>(sides.size()) / d;
        std::vector<Side> joined(static_cast<size_t>((boxes + kWidth - 1) / kWidth * d));
        for (i64 box = 0; box < boxes; ++box)
            for (i64 j = 0; j < d; ++j) {
                Side& side = joined[box / kWidth * d + j];
                box % kWidth == 0 ? void(side = sides[box * d + j]) : side.add(sides[box * d + j]);
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
                place[kWidth] = half_width(sides[box * d + j], static_cast<int>(j));
            }
        return layer;
    }

    template <class Hit, class Skip>
    void visit_node(size_t l, i64 node, const float* query, const float& r2, Hit&& hit, Skip&& skip) const {
        float gaps[kWidth];
        unsigned near = loops_.near_children(&layers_[l][static_cast<size_t>(node) * layer_floats()], query,
                                             tree_.period, d_, limit(r2), gaps);
        for (; near != 0; near &= near - 1) {
            const int c = std::countr_zero(near);
            const i64 box = node * kWidth + c;
            if (!(gaps[c] <= limit(r2)) || skip(l, box)) continue;
            if (l == 0)
                hit(box);
            else
                visit_node(l - 1, box, query, r2, hit, skip);
        }
    }

    const Leaves& leaves_;
    const std::vector<i32>& period_;
    const NearLoops& loops_;
    int d_;
    bool wraps_;                 // an axis has a period
    std::vector<i32> origin_;    // the low corner: a small part far from 0 keeps all bits of a float
    std::vector<Layer> layers_;  // that of the groups first
    BoxTree tree_;               // the same for the loops
};

}  // namespace mspp
