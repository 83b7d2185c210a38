// Window sums: for every query cell, count and positions added up over the (2r+1)^d target cells around it,
// r being the reach.
//
// Sums are integers modulo 2^64, so a part can be added once, shared by many windows and taken off again: the
// result has the same bits whichever way it was come by.
#pragma once

#include "kernel/cells.hpp"

namespace mspp {

// Cells with what is in them: per cell N, A_1 .. A_d.
template <int D>
struct Filled {
    const Keys<D>& keys;
    const u64* lanes;
};

// Along the rows of the walk: the neighbouring rows are summed into one, and its running sum gives the window
// of each cell as a difference. Calls sink(i, total) for each query cell i of a row.
template <int D, class Sink>
class RowSums {
  public:
    RowSums(const Keys<D>& query, Filled<D> target, int reach, Sink& sink)
        : query_(query),
          target_(target),
          reach_(reach),
          width_(query.axes() + 1),
          total_(static_cast<size_t>(width_)),
          sink_(sink) {}

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
        sums_.assign(static_cast<size_t>((high - low + 2) * width), 0);  // the first stays 0
        for (Span& span : rest_) {
            span.begin = skip(span, low);
            add(span, low - 1, high);
        }
        for (i64 k = width; k < (high - low + 2) * width; ++k) sums_[k] += sums_[k - width];
        for (u32 i = first; i < end; ++i) {
            const u64* before = &sums_[(query_.last(i) - reach_ - low) * width];
            for (int j = 0; j < width; ++j) total_[j] = before[(2 * reach_ + 1) * width + j] - before[j];
            sink_(i, total_.data());
        }
    }

    void add(Span span, i64 low, i64 high) {
        const int width = this->width();
        const u64* MSPP_RESTRICT lanes = target_.lanes;
        u64* MSPP_RESTRICT to = sums_.data();
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
    std::vector<u64> sums_, total_;
    std::vector<Span> rest_;
    Sink& sink_;
};

}  // namespace mspp
