// Algorithm 3 of the paper: a window follows the pixels whose colour cells are in a set B.
//
// A channel has 256 values and so at most 256 cells, however small these are: cells are numbered along each
// channel, and B is one bit for each triple of numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernel/base/cell_rule.hpp"
#include "kernel/image/area_table.hpp"
#include "kernel/track/frame.hpp"

namespace mspp {

class CellFollower {
  public:
    CellFollower(const std::array<double, 3>& sides, bool adapt, double tol, int max_iter)
        : adapt_(adapt), tol_(tol), max_iter_(max_iter) {
        for (int c = 0; c < 3; ++c) {
            for (int v = 0; v < 256; ++v) {
                const i64 cell = static_cast<i64>(cell_of(quotient_of(v, sides[c])));
                if (cells_[c].empty() || cells_[c].back() != cell) cells_[c].push_back(cell);
                number_[c][v] = static_cast<u32>(cells_[c].size() - 1);
            }
        }
        stride_ = {cells_[1].size() * cells_[2].size(), cells_[2].size(), 1};
        in_b_.assign(cells_[0].size() * stride_[0], false);
        listed_ = in_b_;
    }

    // IN selected: one byte per pixel of the window, row by row, not 0 for the union of clusters C; or null:
    // all pixels.
    void init(const Frame& frame, const Rect& window, const uint8_t* selected) {
        w_ = window.width(), h_ = window.height();
        x_ = static_cast<double>(window.left) + static_cast<double>(w_) / 2;
        y_ = static_cast<double>(window.top) + static_cast<double>(h_) / 2;
        replace_b({});
        std::vector<u32> b;
        each_pixel(frame, [&](i64 y, i64 x, const Numbers& n) {
            if (!selected || selected[(y - window.top) * w_ + x - window.left]) b.push_back(index_of(n));
        });
        replace_b(std::move(b));
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
        const i64 left = first_pixel(x_, w_), top = first_pixel(y_, h_);
        return {std::max<i64>(left, 0), std::max<i64>(top, 0), std::min(left + w_, width),
                std::min(top + h_, height)};
    }
    bool ok() const { return ok_; }
    double score() const { return first_share_ > 0 ? std::min(1.0, share_ / first_share_) : 0.0; }

    std::vector<std::array<i64, 3>> cells() const {
        std::vector<std::array<i64, 3>> out;
        for (u32 index : b_)
            out.push_back({cells_[0][index / stride_[0]], cells_[1][index / stride_[1] % cells_[1].size()],
                           cells_[2][index % cells_[2].size()]});
        return out;
    }
    // IN/OUT mask (height, width), zeros before: 1 at the pixels of R, those of the window with cells in B.
    void mask(const Frame& frame, uint8_t* out) const {
        each_pixel(frame,
                   [&](i64 y, i64 x, const Numbers& n) { out[y * frame.width + x] = in_b_[index_of(n)]; });
    }

  private:
    using Numbers = std::array<u32, 3>;  // of a cell, along each channel

    // Pixel x has its middle at x + 1/2. The window holds the pixels with middles in [centre - w/2,
    // centre + w/2), which are always w.
    static i64 first_pixel(double centre, i64 size) {
        return static_cast<i64>(std::ceil(centre - static_cast<double>(size) / 2 - 0.5));
    }
    u32 index_of(const Numbers& n) const {
        return static_cast<u32>(n[0] * stride_[0] + n[1] * stride_[1] + n[2]);
    }

    // Calls fn(y, x, numbers) for each pixel of the window.
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

    struct PixelSums {
        i64 n, x, y;
    };
    // The pixels of R and the sums of their coordinates; sets the share of R in the window.
    PixelSums count(const Frame& frame) {
        PixelSums r{0, 0, 0};
        each_pixel(frame, [&](i64 y, i64 x, const Numbers& n) {
            if (in_b_[index_of(n)]) ++r.n, r.x += x, r.y += y;
        });
        const Rect w = window(frame.height, frame.width);
        share_ = static_cast<double>(r.n) / static_cast<double>(w.area());
        return r;
    }

    // Moves the window to the mean of R until it moves less than the tolerance; false if R is empty.
    bool seek(const Frame& frame) {
        for (int t = 0; t < max_iter_; ++t) {
            const PixelSums r = count(frame);
            if (r.n == 0) return false;
            const double x = static_cast<double>(r.x) / static_cast<double>(r.n) + 0.5;
            const double y = static_cast<double>(r.y) / static_cast<double>(r.n) + 0.5;
            const double moved = std::sqrt((x - x_) * (x - x_) + (y - y_) * (y - y_));
            x_ = x, y_ = y;
            if (moved < tol_) break;
        }
        return true;
    }

    // B becomes the cells of the window's pixels that are in B or adjacent to it.
    void adapt(const Frame& frame) {
        std::vector<u32> b;
        each_pixel(frame, [&](i64, i64, const Numbers& n) {
            const u32 index = index_of(n);
            if (listed_[index] || !touches_b(n)) return;
            listed_[index] = true;
            b.push_back(index);
        });
        for (u32 index : b) listed_[index] = false;
        replace_b(std::move(b));
    }

    // Whether a cell is in B or adjacent to a cell of B.
    bool touches_b(const Numbers& n) const {
        if (in_b_[index_of(n)]) return true;
        std::array<std::pair<u32, u32>, 3> span;
        for (int c = 0; c < 3; ++c) {
            const auto& cell = cells_[c];
            const u32 k = n[c];
            span[c].first = k > 0 && cell[k - 1] == cell[k] - 1 ? k - 1 : k;
            span[c].second = k + 1 < cell.size() && cell[k + 1] == cell[k] + 1 ? k + 1 : k;
        }
        for (u32 i = span[0].first; i <= span[0].second; ++i)
            for (u32 j = span[1].first; j <= span[1].second; ++j)
                for (u32 k = span[2].first; k <= span[2].second; ++k)
                    if (in_b_[index_of({i, j, k})]) return true;
        return false;
    }

    void replace_b(std::vector<u32>&& b) {
        for (u32 index : b_) in_b_[index] = false;
        std::sort(b.begin(), b.end());
        b.erase(std::unique(b.begin(), b.end()), b.end());
        b_ = std::move(b);
        for (u32 index : b_) in_b_[index] = true;
    }

    bool adapt_;
    double tol_;
    int max_iter_;
    std::array<std::vector<i64>, 3> cells_;       // the cells of each channel, rising
    std::array<std::array<u32, 256>, 3> number_;  // the number of each value's cell
    std::array<size_t, 3> stride_;
    std::vector<u32> b_;               // the indices of the cells of B, sorted
    std::vector<bool> in_b_, listed_;  // per index; listed_ is used by adapt only
    double x_ = 0, y_ = 0;             // the window's centre
    i64 w_ = 1, h_ = 1;
    double share_ = 0, first_share_ = 0;  // of R in the window
    bool ok_ = false;
};

}  // namespace mspp
