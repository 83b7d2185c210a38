// Window sums along the rows of the walk: the neighbouring rows are added into one, and the window of each
// cell is a difference of that row's running sums.
#pragma once

#include "kernel/seek/window.hpp"

namespace mspp {

// A row function for Walk. Calls sink(i, total) for each query cell i of a row.
template <int D, class Sink>
class RowSums {
  public:
    RowSums(const Keys<D>& query, WeightedCells<D> target, int reach, Sink& sink)
        : query_(query), target_(target), reach_(reach), width_(query.axes() + 1), sink_(sink) {}

    void operator()(u32 first, u32 last, const std::vector<Span>& rows) {
        rest_.assign(rows.begin(), rows.end());
        while (first < last) {
            u32 end = first + 1;
            while (end < last && end - first < kLongestRun &&
                   query_.last(end) - query_.last(end - 1) <= kRunGap + 2 * reach_)
                ++end;
            poll_(i64{end - first} * width() * static_cast<i64>(rows.size()));
            run(first, end);
            first = end;
        }
    }

  private:
    static constexpr i64 kRunGap = 6;  // windows of a row that are further apart than this are summed apart,
    static constexpr u32 kLongestRun = 1 << 12;  // and no more than this many at a time

    int width() const { return D > 0 ? D + 1 : width_; }

    void run(u32 first, u32 end) {
        const i64 low = query_.last(first) - reach_, high = query_.last(end - 1) + reach_;
        const int width = this->width();
        const bool running = reach_ > 1;  // three cells are added directly just as quickly
        sum_rows(low, running ? low - 1 : low, high);
        if (running)  // the first entry stays 0
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

    // Adds the neighbouring rows into one that begins at cell `start`.
    void sum_rows(i64 low, i64 start, i64 high) {
        sums_.assign(static_cast<size_t>((high - start + 1) * width()), 0);
        for (Span& span : rest_) {
            span.begin = skip(span, low);
            add(span, start, high);
            if (span.wrap) add_wraps(span, start, high);
        }
    }

    void add(Span span, i64 low, i64 high) {
        const int width = this->width();
        const u64* __restrict moments = target_.moments;
        u64* __restrict to = sums_.data();
        for (i64 k = span.begin; k < span.end; ++k) {
            const i64 at = target_.keys.last(k);
            if (at > high) break;
            for (int j = 0; j < width; ++j) to[(at - low) * width + j] += moments[k * width + j];
        }
    }
    void add_wraps(Span span, i64 low, i64 high) {
        for (i64 k = span.begin; k < span.end && target_.keys.last(k) <= high; ++k)
            target_.template add_wraps<1>(k, width(), span.wrap,
                                          &sums_[(target_.keys.last(k) - low) * width()]);
    }

    // The first cell of the span that is not below `low`; by growing steps, because it may be far away.
    u32 skip(Span span, i64 low) const {
        u32 k = span.begin, step = 1;
        while (k + step < span.end && target_.keys.last(k + step) < low) {
            k += step;
            step *= 2;
        }
        while (k < span.end && target_.keys.last(k) < low) ++k;
        return k;
    }

    const Keys<D>& query_;
    WeightedCells<D> target_;
    const i64 reach_;
    const int width_;
    Poller poll_;
    std::vector<u64> sums_;
    std::vector<Span> rest_;  // of each neighbouring row: the part not yet passed
    Sink& sink_;
};

}  // namespace mspp
