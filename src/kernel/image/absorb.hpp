// Absorbing small pieces: every piece of fewer than min_size pixels joins the touching piece whose mean
// colour is nearest, the smallest piece first.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernel/image/pieces.hpp"

namespace mspp {

class Absorber {
  public:
    // IN colours (N, 3); IN/OUT pieces (N,), numbered below `count`.
    Absorber(const float* colours, const Shape& shape, Array<u32>& pieces, u32 count)
        : shape_(shape), pieces_(pieces), stats_(count), sets_(count) {
        each_run(pieces, [&](u32 piece, i64 begin, i64 end) {
            std::array<double, 3> sum = stats_[piece].mean;
            for (i64 p = begin; p < end; ++p)
                for (int c = 0; c < 3; ++c) sum[c] += colours[3 * p + c];
            stats_[piece].mean = sum;
            stats_[piece].size += end - begin;
        });
        for (Stats& piece : stats_)
            for (double& mean : piece.mean) mean /= static_cast<double>(piece.size);
    }

    // Returns the number of pieces that are left; they are numbered in the order of their first pixels.
    u32 run(i64 min_size) {
        list_pixels(min_size);
        std::vector<std::vector<u32>> of_size(static_cast<size_t>(std::max<i64>(min_size, 1)));
        for (u32 piece = 0; piece < stats_.size(); ++piece)
            if (stats_[piece].size < min_size) of_size[stats_[piece].size].push_back(piece);
        for (i64 size = 1; size < min_size; ++size)
            for (size_t k = 0; k < of_size[size].size(); ++k) {
                const u32 piece = of_size[size][k];
                if (sets_.find(piece) != piece || stats_[piece].size != size) continue;
                const u32 joined = join_nearest(piece);
                if (stats_[joined].size > size && stats_[joined].size < min_size)
                    of_size[stats_[joined].size].push_back(joined);
            }
        return number_sets(sets_, pieces_, pieces_);
    }

  private:
    struct Stats {
        i64 size = 0;
        std::array<double, 3> mean{};
    };

    // Makes a copy of the pieces with an empty border, so that neighbours are at fixed steps, and lists the
    // pixels of all small pieces, one piece after the other. Joined pieces chain their lists.
    void list_pixels(i64 min_size) {
        const i64 deep = shape_.depth > 1 ? 1 : 0;
        const i64 row = shape_.width + 2, slice = row * (shape_.height + 2);
        steps_ = {-1, 1, -row, row};
        if (deep) steps_.insert(steps_.end(), {-slice, slice});
        padded_.assign(static_cast<size_t>(slice * (shape_.depth + 2 * deep)), kNoRegion);
        first_.assign(stats_.size() + 1, 0);
        for (size_t piece = 0; piece < stats_.size(); ++piece)
            first_[piece + 1] = first_[piece] + (stats_[piece].size < min_size ? stats_[piece].size : 0);
        pixels_.resize(static_cast<size_t>(first_.back()));
        std::vector<i64> end(first_.begin(), first_.end() - 1);
        const u32* piece = pieces_.data();
        for (i64 z = 0; z < shape_.depth; ++z)
            for (i64 y = 0; y < shape_.height; ++y) {
                i64 at = (z + deep) * slice + (y + 1) * row + 1;
                for (i64 x = 0; x < shape_.width; ++x, ++at, ++piece) {
                    padded_[at] = *piece;
                    if (*piece != kNoRegion && stats_[*piece].size < min_size) pixels_[end[*piece]++] = at;
                }
            }
        next_.assign(stats_.size(), kNoRegion);
        last_.resize(stats_.size());
        std::iota(last_.begin(), last_.end(), 0u);
    }

    double squared_distance(u32 a, u32 b) const {
        double square = 0;
        for (int c = 0; c < 3; ++c)
            square += (stats_[a].mean[c] - stats_[b].mean[c]) * (stats_[a].mean[c] - stats_[b].mean[c]);
        return square;
    }

    // The touching piece of nearest mean colour, the smallest number of equals; kNoRegion if none touches.
    u32 nearest_neighbour(u32 piece) {
        u32 best = kNoRegion, last_seen = kNoRegion;
        double nearest = 0;
        for (u32 part = piece; part != kNoRegion; part = next_[part])
            for (i64 k = first_[part]; k < first_[part + 1]; ++k)
                for (const i64 step : steps_) {
                    const u32 touching = padded_[pixels_[k] + step];
                    if (touching == kNoRegion || touching == part || touching == last_seen) continue;
                    last_seen = touching;
                    const u32 other = sets_.find(touching);
                    if (other == piece || other == best) continue;
                    const double away = squared_distance(piece, other);
                    if (best != kNoRegion && (away > nearest || (away == nearest && other > best))) continue;
                    best = other;
                    nearest = away;
                }
        return best;
    }

    u32 join_nearest(u32 piece) {
        const u32 best = nearest_neighbour(piece);
        if (best == kNoRegion) return piece;  // masked pixels all around
        const u32 root = sets_.join(piece, best), absorbed = root == piece ? best : piece;
        const double share = static_cast<double>(stats_[absorbed].size) /
                             static_cast<double>(stats_[root].size + stats_[absorbed].size);
        for (int c = 0; c < 3; ++c)
            stats_[root].mean[c] += (stats_[absorbed].mean[c] - stats_[root].mean[c]) * share;
        stats_[root].size += stats_[absorbed].size;
        next_[last_[root]] = absorbed;
        last_[root] = last_[absorbed];
        return root;
    }

    const Shape& shape_;
    Array<u32>& pieces_;
    std::vector<Stats> stats_;
    DisjointSets sets_;
    std::vector<i64> steps_;           // from a pixel to those that touch it
    Array<u32> padded_;                // the piece of each pixel, with a border of kNoRegion
    std::vector<i64> first_, pixels_;  // per small piece: its pixels in padded_
    std::vector<u32> next_, last_;     // per piece: the next of its chain, and the last
};

}  // namespace mspp
