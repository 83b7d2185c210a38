// Algorithm 3 of the paper: a window follows the pixels whose colour cells are in a set B.
//
// A channel has 256 values and so at most 256 cells, however small: cells are numbered along each channel and
// B is one bit for each triple of numbers.
#pragma once

#include <cmath>
#include <vector>

#include "kernel/track/frame.hpp"

namespace mspp {

class CellFollower {
  public:
    CellFollower(const std::array<double, 3>& sides, bool adapt, double tol, int max_iter)
        : adapt_(adapt), tol_(tol), max_iter_(max_iter) {
        for (int c = 0; c < 3; ++c) {
            for (int v = 0; v < 256; ++v) {
                const i64 cell = static_cast<i64>(std::floor(v / sides[c]));
                if (cells_[c].empty() || cells_[c].back() != cell) cells_[c].push_back(cell);
                number_[c][v] = static_cast<u32>(cells_[c].size() - 1);
            }
        }
        stride_ = {cells_[1].size() * cells_[2].size(), cells_[2].size(), 1};
        in_b_.assign(cells_[0].size() * stride_[0], false);
        seen_ = in_b_;
    }

    // `chosen`: one byte a pixel of the window, row by row; those not 0 are the union of clusters C.
    void init(const Frame& frame, const Rect& window, const uint8_t* chosen) {
        w_ = window.width(), h_ = window.height();
        x_ = static_cast<double>(window.left) + static_cast<double>(w_) / 2;
        y_ = static_cast<double>(window.top) + static_cast<double>(h_) / 2;
        replace({});
        std::vector<u32> b;
        each_pixel(frame, [&](i64 y, i64 x, const Numbers& n) {
            if (!chosen || chosen[(y - window.top) * w_ + x - window.left]) b.push_back(place(n));
        });
        replace(std::move(b));
        first_share_ = 0;
        count(frame);
        first_share_ = share_;
        ok_ = true;
    }

    void update(const Frame& frame) {
        ok_ = seek(frame);
        if (ok_ && adapt_) adapt(frame);
    }

    // The pixels of the window that are in the frame.
    Rect window(i64 height, i64 width) const {
        const Rect w = whole_window();
        return {std::max<i64>(w.left, 0), std::max<i64>(w.top, 0), std::min(w.right, width),
                std::min(w.bottom, height)};
    }
    bool ok() const { return ok_; }
    double score() const { return first_share_ > 0 ? std::min(1.0, share_ / first_share_) : 0.0; }

    std::vector<std::array<i64, 3>> cells() const {
        std::vector<std::array<i64, 3>> out;
        for (u32 at : b_)
            out.push_back({cells_[0][at / stride_[0]], cells_[1][at / stride_[1] % cells_[1].size()],
                           cells_[2][at % cells_[2].size()]});
        return out;
    }
    // OUT mask (height, width), zeros before: 1 at the pixels of R.
    void mask(const Frame& frame, uint8_t* out) const {
        each_pixel(frame,
                   [&](i64 y, i64 x, const Numbers& n) { out[y * frame.width + x] = in_b_[place(n)]; });
    }

  private:
    using Numbers = std::array<u32, 3>;

    // Pixels are at their middles, x + 1/2; those in [centre - w/2, centre + w/2) are the window's: always w
    // of them.
    static i64 first(double centre, i64 size) {
        return static_cast<i64>(std::ceil(centre - static_cast<double>(size) / 2 - 0.5));
    }
    Rect whole_window() const {
        const i64 left = first(x_, w_), top = first(y_, h_);
        return {left, top, left + w_, top + h_};
    }
    u32 place(const Numbers& n) const {
        return static_cast<u32>(n[0] * stride_[0] + n[1] * stride_[1] + n[2]);
    }

    template <class Fn>
    void each_pixel(const Frame& frame, Fn&& fn) const {
        const Rect w = window(frame.height, frame.width);
        for (i64 y = w.top; y < w.bottom; ++y) {
            const uint8_t* pixel = frame.at(y, w.left);
            for (i64 x = w.left; x < w.right; ++x, pixel += frame.column)
                fn(y, x,
                   Numbers{number_[0][pixel[0]], number_[1][pixel[frame.channel]],
                           number_[2][pixel[2 * frame.channel]]});
        }
    }

    struct Sums {
        i64 n, x, y;
    };
    // Pixels of R, and their coordinates.
    Sums count(const Frame& frame) {
        Sums r{0, 0, 0};
        each_pixel(frame, [&](i64 y, i64 x, const Numbers& n) {
            if (in_b_[place(n)]) ++r.n, r.x += x, r.y += y;
        });
        const Rect w = window(frame.height, frame.width);
        share_ = static_cast<double>(r.n) / static_cast<double>(w.area());
        return r;
    }

    bool seek(const Frame& frame) {
        for (int t = 0; t < max_iter_; ++t) {
            const Sums r = count(frame);
            if (r.n == 0) return false;
            const double x = static_cast<double>(r.x) / static_cast<double>(r.n) + 0.5;
            const double y = static_cast<double>(r.y) / static_cast<double>(r.n) + 0.5;
            const double moved = std::sqrt((x - x_) * (x - x_) + (y - y_) * (y - y_));
            x_ = x, y_ = y;
            if (moved < tol_) break;
        }
        return true;
    }

    void adapt(const Frame& frame) {
        std::vector<u32> b;
        each_pixel(frame, [&](i64, i64, const Numbers& n) {
            const u32 at = place(n);
            if (seen_[at] || !near(n)) return;
            seen_[at] = true;
            b.push_back(at);
        });
        for (u32 at : b) seen_[at] = false;
        replace(std::move(b));
    }

    // Whether a cell is in B or adjacent to one that is.
    bool near(const Numbers& n) const {
        if (in_b_[place(n)]) return true;
        std::array<std::pair<u32, u32>, 3> span;
        for (int c = 0; c < 3; ++c) {
            const auto& cell = cells_[c];
            const u32 k = n[c];
            span[c] = {k > 0 && cell[k - 1] == cell[k] - 1 ? k - 1 : k,
                       k + 1 < cell.size() && cell[k + 1] == cell[k] + 1 ? k + 1 : k};
        }
        for (u32 i = span[0].first; i <= span[0].second; ++i)
            for (u32 j = span[1].first; j <= span[1].second; ++j)
                for (u32 k = span[2].first; k <= span[2].second; ++k)
                    if (in_b_[place({i, j, k})]) return true;
        return false;
    }

    void replace(std::vector<u32>&& b) {
        for (u32 at : b_) in_b_[at] = false;
        std::sort(b.begin(), b.end());
        b.erase(std::unique(b.begin(), b.end()), b.end());
        b_ = std::move(b);
        for (u32 at : b_) in_b_[at] = true;
    }

    bool adapt_;
    double tol_;
    int max_iter_;
    std::array<std::vector<i64>, 3> cells_;       // the cells of each channel, rising
    std::array<std::array<u32, 256>, 3> number_;  // which of them a value is in
    std::array<size_t, 3> stride_;
    std::vector<bool> in_b_, seen_;  // seen_: while B is being replaced
    std::vector<u32> b_;
    double x_ = 0, y_ = 0;
    i64 w_ = 1, h_ = 1;
    double share_ = 0, first_share_ = 0;
    bool ok_ = false;
};

}  // namespace mspp
