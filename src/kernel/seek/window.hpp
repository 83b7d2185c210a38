// Window sums: for every query cell, count and positions added up over the (2r+1)^d target cells around it,
// r being the reach.
//
// Sums are integers modulo 2^64, so a part can be added once, shared by many windows and taken off again: the
// result has the same bits whichever way it was come by.
#pragma once

#include <cmath>

#include "kernel/cells/cells.hpp"

namespace mspp {

// How to sum: along the rows of the walk, or by planes.
enum class WindowSums { automatic, rows, planes };

// Cells with what is in them: per cell N, A_1 .. A_d.
template <int D>
struct Filled {
    const Keys<D>& keys;
    const u64* lanes;
};

// N, A_1 .. A_d of one window; in registers where d is known.
template <int D>
struct Total : std::array<u64, D + 1> {
    explicit Total(int) {}
};
template <>
struct Total<0> : std::vector<u64> {
    explicit Total(int width) : std::vector<u64>(static_cast<size_t>(width)) {}
};

// Along the rows of the walk: the neighbouring rows are summed into one, and its running sum gives the window
// of each cell as a difference. Calls sink(i, total) for each query cell i of a row.
template <int D, class Sink>
class RowSums {
  public:
    RowSums(const Keys<D>& query, Filled<D> target, int reach, Sink& sink)
        : query_(query), target_(target), reach_(reach), width_(query.axes() + 1), sink_(sink) {}

    void operator()(u32 first, u32 last, const std::vector<Span>& rows) {
        rest_.assign(rows.begin(), rows.end());
        while (first < last) {
            u32 end = first + 1;
            while (end < last && query_.last(end) - query_.last(end - 1) <= kRunGap + 2 * reach_) ++end;
            run(first, end);
            first = end;
        }
    }

  private:
    static constexpr i64 kRunGap = 6;  // cells of a row further apart than windows and this: summed apart

    int width() const { return D > 0 ? D + 1 : width_; }

    void run(u32 first, u32 end) {
        const i64 low = query_.last(first) - reach_, high = query_.last(end - 1) + reach_;
        const int width = this->width();
        const bool running = reach_ > 1;  // three are as quickly added
        sum_rows(low, running ? low - 1 : low, high);
        if (running)  // the first stays 0
            for (size_t k = static_cast<size_t>(width); k < sums_.size(); ++k) sums_[k] += sums_[k - width];
        Total<D> total(width);
        for (u32 i = first; i < end; ++i) {
            const u64* from = &sums_[(query_.last(i) - reach_ - low) * width];
            if (running) {
                const u64* upto = from + (2 * reach_ + 1) * width;
                for (int j = 0; j < width; ++j) total[j] = upto[j] - from[j];
            } else {
                for (int j = 0; j < width; ++j) total[j] = from[j] + from[width + j] + from[2 * width + j];
            }
            sink_(i, total.data());
        }
    }

    // The neighbouring rows summed into one, from cell `start` on.
    void sum_rows(i64 low, i64 start, i64 high) {
        sums_.assign(static_cast<size_t>((high - start + 1) * width()), 0);
        for (Span& span : rest_) {
            span.begin = skip(span, low);
            add(span, start, high);
        }
    }

    void add(Span span, i64 low, i64 high) {
        const int width = this->width();
        const u64* __restrict lanes = target_.lanes;
        u64* __restrict to = sums_.data();
        for (i64 k = span.begin; k < span.end; ++k) {
            const i64 at = target_.keys.last(k);
            if (at > high) break;
            for (int j = 0; j < width; ++j) to[(at - low) * width + j] += lanes[k * width + j];
        }
    }

    u32 skip(Span span, i64 low) const {
        u32 k = span.begin, step = 1;
        while (k + step < span.end && target_.keys.last(k + step) < low) {  // far: gallop
            k += step;
            step *= 2;
        }
        while (k < span.end && target_.keys.last(k) < low) ++k;
        return k;
    }

    const Keys<D>& query_;
    Filled<D> target_;
    const i64 reach_;
    const int width_;
    std::vector<u64> sums_;
    std::vector<Span> rest_;
    Sink& sink_;
};

// The box of the last two axes that target cells are in: what a plane has to hold.
struct PlaneBox {
    i64 y_low = INT64_MAX, y_high = INT64_MIN, z_low = INT64_MAX, z_high = INT64_MIN;
    i64 height() const { return y_high - y_low + 1; }
    i64 depth() const { return z_high - z_low + 1; }
    // How many planes there may be at once, each thread having one: they are memory as well.
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

// What a step costs, in nanoseconds of some machine, from the number of cells, rows and nodes above rows.
struct PlaneCost {
    double cells, rows_, nodes;
    static double window(int axes, i64 reach) { return std::pow(2.0 * static_cast<double>(reach) + 1, axes); }

    double rows(int d, i64 reach) const { return 3 * cells * std::min(window(d - 1, reach), rows_); }

    double planes(const PlaneBox& box, int d, i64 reach) const {
        const double height = static_cast<double>(box.height()), depth = static_cast<double>(box.depth());
        if (box.most_planes(static_cast<i64>(cells)) == 0) return INFINITY;
        const double side = window(1, reach);
        const double slid = rows_ * std::min(side, 2 * height * nodes / rows_) * depth;
        const double apart = (rows_ * side + cells) * side;
        return height * depth + 4 * cells * std::min(window(d - 3, reach), nodes) +
               0.6 * std::min(slid, apart);
    }
};

// By planes, for three axes or more: everything within reach in all axes but the last two is summed into a
// dense plane, which slides along the last axis but two, taking cells in on one side and off on the other. A
// line slides over the plane in the same way, and the running sum along the line gives the windows.
template <int D, class Sink>
class PlaneSums {
  public:
    PlaneSums(const Trie& query_trie, const Keys<D>& query, const Trie& target_trie, Filled<D> target,
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

    // The walk's subtrees: query nodes that differ in the last axis but two, and target nodes beside them.
    void operator()(u32 first, u32 last, const std::vector<Span>& near) {
        inside_.clear();
        for (const Span& span : near) inside_.push_back({span.begin, span.begin, span.end});
        for (u32 q = first; q < last; ++q) {
            for (Inside& in : inside_) slide(in, nodes_.value[q]);
            sum_rows({nodes_.first_child[q], nodes_.first_child[q + 1]});
        }
        for (Inside& in : inside_)
            while (in.begin < in.end) scatter<-1>(in.begin++);
    }

  private:
    struct Inside {
        u32 begin, end, last;  // [begin, end) are in the plane, [end, last) are still to come
    };
    int width() const { return D > 0 ? D + 1 : width_; }

    void slide(Inside& in, i64 v) {
        while (in.begin < in.end && target_nodes_.value[in.begin] < v - reach_) scatter<-1>(in.begin++);
        if (in.begin == in.end) {
            while (in.end < in.last && target_nodes_.value[in.end] < v - reach_) ++in.end;
            in.begin = in.end;
        }
        while (in.end < in.last && target_nodes_.value[in.end] <= v + reach_) scatter<1>(in.end++);
    }

    // Adds the cells below a target node to the plane, or takes them off.
    template <int Sign>
    void scatter(u32 node) {
        const int width = this->width();
        const u64* __restrict lanes = target_.lanes;
        for (u32 row = target_nodes_.first_child[node]; row < target_nodes_.first_child[node + 1]; ++row) {
            const i64 start = (target_rows_.value[row] - box_.y_low) * box_.depth() - box_.z_low;
            for (i64 k = target_rows_.first_child[row]; k < target_rows_.first_child[row + 1]; ++k) {
                u64* __restrict to = &plane_[(start + target_.keys.last(k)) * width];
                for (int j = 0; j < width; ++j) to[j] += Sign * lanes[k * width + j];
            }
        }
    }

    // The windows of all the query cells below a node: one line slides over all its rows, or, where rows are
    // short and far between, each has a short line of its own.
    void sum_rows(Span rows) {
        const i64 side = 2 * reach_ + 1;
        i64 slides = 0, apart = 0, before = rows_.value[rows.begin] - side;
        i64 low = box_.z_high, high = box_.z_low;
        for (u32 row = rows.begin; row < rows.end; ++row) {
            const i64 first = query_.last(rows_.first_child[row]);
            const i64 last = query_.last(rows_.first_child[row + 1] - 1);
            low = std::min(low, first - reach_);
            high = std::max(high, last + reach_);
            apart += side * (last - first + side);
            slides += std::min(2 * (rows_.value[row] - before), side);
            before = rows_.value[row];
        }
        if (slides * (high - low + 1) <= apart) return slide_line(rows, low, high);
        for (u32 row = rows.begin; row < rows.end; ++row)
            slide_line({row, row + 1}, query_.last(rows_.first_child[row]) - reach_,
                       query_.last(rows_.first_child[row + 1] - 1) + reach_);
    }

    void slide_line(Span rows, i64 low, i64 high) {
        z_low_ = std::max(low, box_.z_low);
        z_high_ = std::min(high, box_.z_high);
        line_.assign(static_cast<size_t>((z_high_ - z_low_ + 1) * width()), 0);
        i64 begin = 0, end = 0;  // of the plane's lines that are summed now
        for (u32 row = rows.begin; row < rows.end; ++row) {
            const i64 y = rows_.value[row] - box_.y_low;
            const i64 from = std::max<i64>(y - reach_, 0), to = std::min(y + reach_ + 1, box_.height());
            if (from >= end) {
                std::fill(line_.begin(), line_.end(), 0);
                begin = end = from;
            }
            while (end < to) add_line<1>(end++);
            while (begin < from) add_line<-1>(begin++);
            windows({rows_.first_child[row], rows_.first_child[row + 1]});
        }
    }

    template <int Sign>
    void add_line(i64 y) {
        const u64* __restrict from = &plane_[(y * box_.depth() + z_low_ - box_.z_low) * width()];
        u64* __restrict to = line_.data();
        const i64 n = (z_high_ - z_low_ + 1) * width();
        for (i64 k = 0; k < n; ++k) to[k] += Sign * from[k];
    }

    void windows(Span cells) {
        const u32 first = std::max(cells.begin, static_cast<u32>(cells_.begin));
        const u32 last = std::min(cells.end, static_cast<u32>(cells_.end));
        if (first >= last) return;
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
    Filled<D> target_;
    const PlaneBox& box_;
    const Range cells_;  // of these the windows are asked for
    const i64 reach_;
    const int width_;
    i64 z_low_ = 0, z_high_ = 0;  // of the line
    std::vector<u64> plane_, line_, sums_;
    std::vector<Inside> inside_;
    Sink& sink_;
};

}  // namespace mspp
