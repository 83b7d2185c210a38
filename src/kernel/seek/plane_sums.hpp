// Window sums by planes, for three axes or more.
//
// All cells within reach in all axes but the last two are summed into a dense plane, which slides along the
// last axis but two: cells are added on one side and subtracted on the other. A line slides over the plane in
// the same way, and the running sums along the line give the windows.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernel/seek/window.hpp"

namespace mspp {

// The box of the target cells in the last two axes, y and z: the extent of a plane.
struct PlaneBox {
    i64 y_low = INT64_MAX, y_high = INT64_MIN, z_low = INT64_MAX, z_high = INT64_MIN;
    i64 height() const { return y_high - y_low + 1; }
    i64 depth() const { return z_high - z_low + 1; }
    // The number of planes, one per thread, whose memory stays in proportion to the cells.
    int most_planes(i64 cells) const {
        const double slots = static_cast<double>(height()) * static_cast<double>(depth());
        return static_cast<int>(std::min((4.0 * static_cast<double>(cells) + 0x1p16) / slots, 0x1p16));
    }

    template <int D>
    PlaneBox(const Trie& trie, const Keys<D>& keys) {
        const Trie::Level& rows = trie.levels().back();
        for (size_t k = 0; k < rows.value.size(); ++k) {
            y_low = std::min(y_low, rows.value[k]);
            y_high = std::max(y_high, rows.value[k]);
            z_low = std::min(z_low, keys.last(rows.first_child[k]));
            z_high = std::max(z_high, keys.last(rows.first_child[k + 1] - 1));
        }
    }
};

// The cost of a step by either method, in nanoseconds of the machine it was fitted on, from the number of
// cells, of rows and of nodes above rows.
struct StepCost {
    double n_cells, n_rows, n_nodes;
    static double window(int axes, i64 reach) { return std::pow(2.0 * static_cast<double>(reach) + 1, axes); }

    double by_rows(int d, i64 reach) const { return 3 * n_cells * std::min(window(d - 1, reach), n_rows); }

    double by_planes(const PlaneBox& box, int d, i64 reach) const {
        const double height = static_cast<double>(box.height()), depth = static_cast<double>(box.depth());
        if (box.most_planes(static_cast<i64>(n_cells)) == 0) return INFINITY;
        const double side = window(1, reach);
        const double one_line = n_rows * std::min(side, 2 * height * n_nodes / n_rows) * depth;
        const double line_per_row = (n_rows * side + n_cells) * side;
        const double width = std::max(1.0, (d + 1) / 8.0);  // of the moments that a plane adds
        return height * depth + 4 * width * n_cells * std::min(window(d - 3, reach), n_nodes) +
               0.6 * std::min(one_line, line_per_row);
    }
};

// A row function for a Walk that stops two levels above the cells. Calls sink(i, total) for each query cell.
template <int D, class Sink>
class PlaneSums {
  public:
    PlaneSums(const Trie& query_trie, const Keys<D>& query, const Trie& target_trie, WeightedCells<D> target,
              const PlaneBox& box, Range cells, int reach, Sink& sink)
        : nodes_(query_trie.levels()[query_trie.levels().size() - 2]),
          rows_(query_trie.levels().back()),
          target_nodes_(target_trie.levels()[target_trie.levels().size() - 2]),
          target_rows_(target_trie.levels().back()),
          query_(query),
          target_(target),
          box_(box),
          cells_(cells),
          reach_(reach),
          width_(query.axes() + 1),
          plane_(static_cast<size_t>(box.height() * box.depth() * width_), 0),
          sink_(sink) {}

    // IN query nodes that differ in the last axis but two, and the spans of target nodes near them.
    void operator()(u32 first, u32 last, const std::vector<Span>& near) {
        slices_.clear();
        for (const Span& span : near) slices_.push_back({span.begin, span.begin, span.end, span.wrap});
        for (u32 q = first; q < last; ++q) {
            for (Slices& slices : slices_) slide(slices, nodes_.value[q]);
            sum_rows({nodes_.first_child[q], nodes_.first_child[q + 1]});
        }
        for (Slices& slices : slices_)
            while (slices.begin < slices.end) scatter<-1>(slices.begin++, slices.wrap);
    }

  private:
    // Target nodes: [begin, end) are in the plane, [end, last) are still to come.
    struct Slices {
        u32 begin, end, last;
        const Wrap* wrap;
    };
    int width() const { return D > 0 ? D + 1 : width_; }

    void slide(Slices& slices, i64 v) {
        const auto& value = target_nodes_.value;
        while (slices.begin < slices.end && value[slices.begin] < v - reach_)
            scatter<-1>(slices.begin++, slices.wrap);
        if (slices.begin == slices.end) {
            while (slices.end < slices.last && value[slices.end] < v - reach_) ++slices.end;
            slices.begin = slices.end;
        }
        while (slices.end < slices.last && value[slices.end] <= v + reach_)
            scatter<1>(slices.end++, slices.wrap);
    }

    // Adds the cells below a target node to the plane, or subtracts them.
    template <int Sign>
    void scatter(u32 node, const Wrap* wrap) {
        const int width = this->width();
        const u64* __restrict moments = target_.moments;
        const u32 end = target_nodes_.first_child[node + 1];
        for (u32 row = target_nodes_.first_child[node]; row < end; ++row) {
            const i64 start = (target_rows_.value[row] - box_.y_low) * box_.depth() - box_.z_low;
            const i64 last = target_rows_.first_child[row + 1];
            for (i64 k = target_rows_.first_child[row]; k < last; ++k) {
                u64* __restrict to = &plane_[(start + target_.keys.last(k)) * width];
                for (int j = 0; j < width; ++j) to[j] += Sign * moments[k * width + j];
            }
            for (i64 k = target_rows_.first_child[row]; wrap && k < last; ++k)
                target_.template add_wraps<Sign>(k, width, wrap,
                                                 &plane_[(start + target_.keys.last(k)) * width]);
        }
        poll_(end - target_nodes_.first_child[node]);
    }

    // Sums the windows of all query cells below a node: by one line that slides over all rows, or, if rows
    // are short and far apart, by a short line for each row.
    void sum_rows(Span rows) {
        const i64 side = 2 * reach_ + 1;
        i64 slides = 0, line_per_row = 0, before = rows_.value[rows.begin] - side;
        i64 low = box_.z_high, high = box_.z_low;
        for (u32 row = rows.begin; row < rows.end; ++row) {
            const i64 first = query_.last(rows_.first_child[row]);
            const i64 last = query_.last(rows_.first_child[row + 1] - 1);
            low = std::min(low, first - reach_);
            high = std::max(high, last + reach_);
            line_per_row += side * (last - first + side);
            slides += std::min(2 * (rows_.value[row] - before), side);
            before = rows_.value[row];
        }
        if (slides * (high - low + 1) <= line_per_row) return slide_line(rows, low, high);
        for (u32 row = rows.begin; row < rows.end; ++row)
            slide_line({row, row + 1}, query_.last(rows_.first_child[row]) - reach_,
                       query_.last(rows_.first_child[row + 1] - 1) + reach_);
    }

    void slide_line(Span rows, i64 low, i64 high) {
        z_low_ = std::max(low, box_.z_low);
        z_high_ = std::min(high, box_.z_high);
        line_.resize(static_cast<size_t>((z_high_ - z_low_ + 1) * width()));
        i64 begin = 0, end = 0;  // the plane's lines that are in the sum now
        for (u32 row = rows.begin; row < rows.end; ++row) {
            const i64 y = rows_.value[row] - box_.y_low;
            const i64 from = std::max<i64>(y - reach_, 0), to = std::min(y + reach_ + 1, box_.height());
            if (from >= end) {
                begin = from;
                end = begin_line(from, to);
            }
            while (end < to) add_line<1>(end++);
            while (begin < from) add_line<-1>(begin++);
            sum_windows({rows_.first_child[row], rows_.first_child[row + 1]});
        }
    }

    // Sets the line to the sum of the first of the plane's lines [from, to). Returns the first one that is
    // not in it: windows of three cells are summed in one pass.
    i64 begin_line(i64 from, i64 to) {
        if (to - from != 3) {
            std::fill(line_.begin(), line_.end(), 0);
            return from;
        }
        const i64 stride = box_.depth() * width(), n = static_cast<i64>(line_.size());
        const u64* __restrict line = line_of_plane(from);
        u64* __restrict sum = line_.data();
        for (i64 k = 0; k < n; ++k) sum[k] = line[k] + line[k + stride] + line[k + 2 * stride];
        poll_(n);
        return to;
    }

    const u64* line_of_plane(i64 y) const {
        return &plane_[(y * box_.depth() + z_low_ - box_.z_low) * width()];
    }

    template <int Sign>
    void add_line(i64 y) {
        const u64* __restrict from = line_of_plane(y);
        u64* __restrict to = line_.data();
        const i64 n = (z_high_ - z_low_ + 1) * width();
        for (i64 k = 0; k < n; ++k) to[k] += Sign * from[k];
        poll_(n);
    }

    void sum_windows(Span cells) {
        const u32 first = std::max(cells.begin, static_cast<u32>(cells_.begin));
        const u32 last = std::min(cells.end, static_cast<u32>(cells_.end));
        if (first >= last) return;
        poll_(i64{last - first} * width());
        const int width = this->width();
        const i64 low = std::max(query_.last(first) - reach_, z_low_);
        const i64 high = std::min(query_.last(last - 1) + reach_, z_high_);
        sums_.resize(static_cast<size_t>((high - low + 2) * width));
        std::fill_n(sums_.begin(), width, 0);
        const u64* line = &line_[(low - z_low_) * width];
        for (i64 k = 0; k < (high - low + 1) * width; ++k) sums_[k + width] = sums_[k] + line[k];
        Total<D> total(width);
        for (u32 i = first; i < last; ++i) {
            const i64 z = query_.last(i);
            const u64* before = &sums_[(std::max(z - reach_, low) - low) * width];
            const u64* upto = &sums_[(std::min(z + reach_, high) + 1 - low) * width];
            for (int j = 0; j < width; ++j) total[j] = upto[j] - before[j];
            sink_(i, total.data());
        }
    }

    const Trie::Level &nodes_, &rows_, &target_nodes_, &target_rows_;
    const Keys<D>& query_;
    WeightedCells<D> target_;
    const PlaneBox& box_;
    const Range cells_;  // the query cells whose windows are summed
    const i64 reach_;
    const int width_;
    i64 z_low_ = 0, z_high_ = 0;  // of the line
    Poller poll_;
    std::vector<u64> plane_, line_, sums_;
    std::vector<Slices> slices_;
    Sink& sink_;
};

}  // namespace mspp
