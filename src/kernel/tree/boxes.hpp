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

// The shorter way round a circle, of a distance up to the period.
inline float around(float distance, float period) { return period / 2 - std::abs(period / 2 - distance); }

// 4 * v * v, or 0 if v is negative; without a comparison, which keeps compilers from using vectors.
inline float four_squares_if_positive(float v) { return (v + std::abs(v)) * (v + std::abs(v)); }

// Every eight leaves are a group, every eight groups a node, every eight nodes a node of the next layer. The
// boxes of a node's eight children lie side by side, so that one vector loop tests them all. A box is a
// middle and half a width per axis, in float and rounded up: a search finds too much rather than too little.
class Boxes {
  public:
    static constexpr i64 kWidth = 8;
    static constexpr i64 kBlock = 8;  // the most leaves in a block

    Boxes(const Leaves& leaves, const std::vector<double>& period) : leaves_(leaves), d_(leaves.d) {
        for (double p : period) period_.push_back(static_cast<float>(p));
        make_blocks();
        pack_positions();
        std::vector<Side> sides = sides_of_groups();
        layers_.push_back(make_layer(sides));
        while (layers_.back().size() > layer_floats()) {
            sides = join(sides);
            layers_.push_back(make_layer(sides));
        }
    }

    const Leaves& leaves() const { return leaves_; }
    // Ranges of leaves that are close to each other, in rising order.
    const std::vector<Range>& blocks() const { return blocks_; }
    // The leaves of a group along one axis; those past the last leaf are infinitely far away.
    const double* positions(i64 group, int j) const { return &positions_[(group * d_ + j) * kWidth]; }

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
        std::vector<float> query(2 * static_cast<size_t>(d_));
        poll();
        for (int j = 0; j < d_; ++j) {
            query[j] = middle({low[j], high[j]});
            query[d_ + j] = half_width({low[j], high[j]});
        }
        const double slack = 1 + 1e-6 * (d_ + 4);  // for the rounding of the sum of d squares
        visit_node(
            layers_.size() - 1, 0, query.data(), [&] { return static_cast<float>(4 * r2 * slack); }, hit,
            skip);
    }

    template <class Hit>
    void visit(const double* low, const double* high, double r2, Hit&& hit) const {
        visit(low, high, r2, hit, [](size_t, i64) { return false; });
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

    void pack_positions() {
        const i64 groups = (leaves_.size() + kWidth - 1) / kWidth;
        positions_.assign(static_cast<size_t>(groups * d_ * kWidth), std::numeric_limits<double>::infinity());
        for (i64 i = 0; i < leaves_.size(); ++i)
            for (int j = 0; j < d_; ++j)
                positions_[(i / kWidth * d_ + j) * kWidth + i % kWidth] = leaves_.position(i)[j];
    }

    // The sides of the boxes of all groups, d for each.
    std::vector<Side> sides_of_groups() const {
        std::vector<Side> sides;
        for (i64 begin = 0; begin < leaves_.size(); begin += kWidth)
            for (int j = 0; j < d_; ++j) {
                const double* x = positions(begin / kWidth, j);
                const auto [low, high] = std::minmax_element(x, x + range(begin / kWidth).size());
                sides.push_back({*low, *high});
            }
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

    // Places without a box are infinitely far away.
    Layer make_layer(const std::vector<Side>& sides) const {
        const i64 d = d_, boxes = static_cast<i64>(sides.size()) / d;
        Layer layer(static_cast<size_t>((boxes + kWidth - 1) / kWidth) * layer_floats(),
                    std::numeric_limits<float>::infinity());
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

    // Four times the squared distances of the boxes of eight children from the query.
    void squared_gaps(const float* boxes, const float* query, float* out) const {
        std::fill(out, out + kWidth, 0.0f);
        for (int j = 0; j < d_; ++j, boxes += 2 * kWidth)
            add_squared_gaps(boxes, query[j], query[d_ + j], period_[j], out);
    }
    static void add_squared_gaps(const float* boxes, float middle, float half, float period, float* out) {
        float gap[kWidth];
        for (int c = 0; c < kWidth; ++c) gap[c] = std::abs(boxes[c] - middle);
        if (period > 0)
            for (int c = 0; c < kWidth; ++c) gap[c] = around(gap[c], period);
        for (int c = 0; c < kWidth; ++c)
            out[c] += four_squares_if_positive(gap[c] - boxes[kWidth + c] - half);
    }

    const Leaves& leaves_;
    int d_;
    std::vector<float> period_;
    std::vector<Range> blocks_;
    std::vector<double> positions_;  // of each group and axis, kWidth values
    std::vector<Layer> layers_;      // that of the groups first
};

// The leaves near a block of centres, one array per axis, for loops over all of them.
class Candidates {
  public:
    Candidates(const Boxes& boxes, const std::vector<double>& period)
        : boxes_(boxes),
          period_(period),
          d_(boxes.leaves().d),
          positions_(static_cast<size_t>(d_)),
          corners_(2 * positions_.size()),
          half_(positions_.size()),
          group_(positions_.size() * Boxes::kWidth) {}

    // Places the box around a block of centres; positions are relative to its low corner.
    void enclose(const Leaves& centres, Range block) {
        double *low = corners_.data(), *high = low + d_;
        for (int j = 0; j < d_; ++j) {
            low[j] = high[j] = centres.position(block.begin)[j];
            for (i64 i = block.begin + 1; i < block.end; ++i) {
                low[j] = std::min(low[j], centres.position(i)[j]);
                high[j] = std::max(high[j], centres.position(i)[j]);
            }
            half_[j] = static_cast<float>((high[j] - low[j]) * (0.5 + 0x1p-21));
        }
    }

    // Collects all leaves at most sqrt(r2) from any centre of the block, and more.
    void collect(double r2) {
        count_ = 0;
        const float limit = static_cast<float>(4 * r2 * (1 + 1e-6 * (d_ + 4)));
        boxes_.visit(corners_.data(), corners_.data() + d_, r2, [&](i64 group) { add(group, limit); });
        if (squared_.size() < count_) squared_.resize(2 * count_);
    }

    size_t size() const { return count_; }
    u32 id(size_t k) const { return ids_[k]; }
    // The position of a candidate relative to x, along one axis.
    double offset(size_t k, int j, const double* x) const {
        return wrapped(positions_[j][k] - (x[j] - corners_[j]), period_[j]);
    }

    // Computes the squared distances of all candidates from x.
    void measure(const double* x) {
        const size_t n = size();
        poll_(static_cast<i64>(n) * d_);
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
    }
    const float* squared() const { return squared_.data(); }

  private:
    static constexpr i64 kWidth = Boxes::kWidth;

    // Appends the leaves of a group that are at most sqrt(limit / 4) from the box of the centres.
    void add(i64 group, float limit) {
        if (ids_.size() < count_ + kWidth) {
            ids_.resize(2 * (count_ + kWidth));
            for (auto& axis : positions_) axis.resize(ids_.size());
        }
        float fours[kWidth] = {};
        for (int j = 0; j < d_; ++j) {
            float* offsets = &group_[j * kWidth];
            take_offsets(group, j, offsets);
            add_squared_gaps(offsets, j, fours);
        }
        size_t count[kWidth + 1] = {count_};
        for (int c = 0; c < kWidth; ++c) {
            count[c + 1] = count[c] + (fours[c] <= limit);
            ids_[count[c]] = static_cast<u32>(group * kWidth + c);
        }
        for (int j = 0; j < d_; ++j) {
            float* axis = positions_[j].data();
            for (int c = 0; c < kWidth; ++c) axis[count[c]] = group_[j * kWidth + c];
        }
        count_ = count[kWidth];
    }

    // The positions of a group along one axis, relative to the low corner.
    void take_offsets(i64 group, int j, float* out) const {
        const double *x = boxes_.positions(group, j), low = corners_[j], period = period_[j];
        if (period > 0)
            for (int c = 0; c < kWidth; ++c) out[c] = static_cast<float>(wrapped(x[c] - low, period));
        else
            for (int c = 0; c < kWidth; ++c) out[c] = static_cast<float>(x[c] - low);
    }

    // Adds four times the squared gaps between eight positions and the box of the centres, along one axis.
    void add_squared_gaps(const float* offsets, int j, float* fours) const {
        const float half = half_[j], period = static_cast<float>(period_[j]);
        float gap[kWidth];
        for (int c = 0; c < kWidth; ++c) gap[c] = std::abs(offsets[c] - half);
        if (period > 0)
            for (int c = 0; c < kWidth; ++c) gap[c] = around(gap[c], period);
        for (int c = 0; c < kWidth; ++c) fours[c] += four_squares_if_positive(gap[c] - half);
    }

    const Boxes& boxes_;
    Poller poll_;
    const std::vector<double>& period_;
    int d_;
    size_t count_ = 0;
    std::vector<std::vector<float>> positions_;  // relative to the block: enough bits, and half the memory
    std::vector<double> corners_;
    std::vector<float> half_;   // widths of the box of the centres, rounded up
    std::vector<float> group_;  // of one group, kWidth values per axis
    std::vector<float> squared_;
    std::vector<u32> ids_;
};

}  // namespace mspp
