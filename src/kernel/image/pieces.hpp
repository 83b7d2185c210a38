// The pieces of an image: connected components of its colour clusters, tiny ones joined to a neighbour.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

struct Shape {
    i64 depth, height, width;
    i64 slice() const { return height * width; }
    i64 size() const { return depth * slice(); }
};

inline constexpr u32 kNoRegion = UINT32_MAX;  // a masked pixel

// A pixel and where it is: the pixels that touch it follow without a division.
struct Pixel {
    i64 p, z, y, x;

    // Calls fn(q) for the touching pixels that come before: to the left, above, in the slice before.
    template <class Fn>
    void each_earlier(const Shape& shape, Fn&& fn) const {
        if (x > 0) fn(p - 1);
        if (y > 0) fn(p - shape.width);
        if (z > 0) fn(p - shape.slice());
    }
    template <class Fn>
    void each_touching(const Shape& shape, Fn&& fn) const {
        each_earlier(shape, fn);
        if (x + 1 < shape.width) fn(p + 1);
        if (y + 1 < shape.height) fn(p + shape.width);
        if (z + 1 < shape.depth) fn(p + shape.slice());
    }
};

template <class Fn>
void each_pixel(const Shape& shape, Fn&& fn) {
    Pixel pixel{0, 0, 0, 0};
    for (pixel.z = 0; pixel.z < shape.depth; ++pixel.z)
        for (pixel.y = 0; pixel.y < shape.height; ++pixel.y)
            for (pixel.x = 0; pixel.x < shape.width; ++pixel.x, ++pixel.p) fn(pixel);
}

// Calls fn(region, begin, end) for every stretch of pixels of one region; masked pixels are left out.
template <class Fn>
void each_stretch(const Array<u32>& regions, Fn&& fn) {
    const i64 n = static_cast<i64>(regions.size());
    for (i64 begin = 0, end; begin < n; begin = end) {
        const u32 region = regions[begin];
        for (end = begin + 1; end < n && regions[end] == region;) ++end;
        if (region != kNoRegion) fn(region, begin, end);
    }
}

// Disjoint sets; the smaller number stands for a set.
class Sets {
  public:
    explicit Sets(size_t n = 0) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
    u32 add() {
        parent_.push_back(static_cast<u32>(parent_.size()));
        return parent_.back();
    }
    u32 find(u32 x) {
        while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
        return x;
    }
    u32 join(u32 a, u32 b) {
        a = find(a);
        b = find(b);
        if (b < a) std::swap(a, b);
        return parent_[b] = a;
    }
    u32 size() const { return static_cast<u32>(parent_.size()); }

  private:
    std::vector<u32> parent_;
};

// Numbers the sets 0, 1, ... in the order of their first members. IN the piece of each pixel; OUT the number
// of that piece's set, in the same array or another. Returns how many sets there are.
inline u32 number_sets(Sets& sets, const Array<u32>& pieces, Array<u32>& numbered) {
    u32 n = 0;
    std::vector<u32> number(sets.size());
    for (u32 x = 0; x < sets.size(); ++x) {
        const u32 root = sets.find(x);
        number[x] = root == x ? n++ : number[root];
    }
    numbered.resize(pieces.size());
    for (size_t p = 0; p < pieces.size(); ++p)
        numbered[p] = pieces[p] == kNoRegion ? kNoRegion : number[pieces[p]];
    return n;
}

// IN clusters (N,), negative where masked; OUT pieces (N,), numbered as they appear. Returns their number.
inline u32 connected_pieces(const i32* clusters, const Shape& shape, Array<u32>& pieces) {
    Sets sets;
    pieces.resize(static_cast<size_t>(shape.size()));
    each_pixel(shape, [&](const Pixel& pixel) {
        u32 piece = kNoRegion;
        const i32 cluster = clusters[pixel.p];
        if (cluster >= 0) {
            pixel.each_earlier(shape, [&](i64 q) {
                if (clusters[q] != cluster) return;
                piece = piece == kNoRegion || piece == pieces[q] ? pieces[q] : sets.join(piece, pieces[q]);
            });
            if (piece == kNoRegion) piece = sets.add();
        }
        pieces[pixel.p] = piece;
    });
    return number_sets(sets, pieces, pieces);
}

// Joins every piece of fewer than min_size pixels to the touching piece of nearest mean colour, smallest
// first.
class Absorber {
  public:
    Absorber(const float* colours, const Shape& shape, Array<u32>& pieces, u32 count)
        : shape_(shape), pieces_(pieces), known_(count), sets_(count) {
        each_stretch(pieces, [&](u32 piece, i64 begin, i64 end) {
            std::array<double, 3> sum = known_[piece].mean;
            for (i64 p = begin; p < end; ++p)
                for (int c = 0; c < 3; ++c) sum[c] += colours[3 * p + c];
            known_[piece].mean = sum;
            known_[piece].size += end - begin;
        });
        for (Known& piece : known_)
            for (double& mean : piece.mean) mean /= static_cast<double>(piece.size);
    }

    u32 run(i64 min_size) {
        list_pixels(min_size);
        std::vector<std::vector<u32>> waiting(static_cast<size_t>(std::max<i64>(min_size, 1)));
        for (u32 piece = 0; piece < known_.size(); ++piece)
            if (known_[piece].size < min_size) waiting[known_[piece].size].push_back(piece);
        for (i64 size = 1; size < min_size; ++size)
            for (size_t k = 0; k < waiting[size].size(); ++k) {
                const u32 piece = waiting[size][k];
                if (sets_.find(piece) != piece || known_[piece].size != size) continue;
                const u32 joined = join_nearest(piece);
                if (known_[joined].size > size && known_[joined].size < min_size)
                    waiting[known_[joined].size].push_back(joined);
            }
        return number_sets(sets_, pieces_, pieces_);
    }

  private:
    // A copy of the pieces with a margin of nothing around, in which a neighbour is a fixed step away; and in
    // it the pixels of small pieces, one list after the other. Joined pieces chain their lists.
    void list_pixels(i64 min_size) {
        const i64 deep = shape_.depth > 1 ? 1 : 0;
        const i64 row = shape_.width + 2, slice = row * (shape_.height + 2);
        steps_ = {-1, 1, -row, row};
        if (deep) steps_.insert(steps_.end(), {-slice, slice});
        padded_.assign(static_cast<size_t>(slice * (shape_.depth + 2 * deep)), kNoRegion);
        first_.assign(known_.size() + 1, 0);
        for (size_t piece = 0; piece < known_.size(); ++piece)
            first_[piece + 1] = first_[piece] + (known_[piece].size < min_size ? known_[piece].size : 0);
        pixels_.resize(static_cast<size_t>(first_.back()));
        std::vector<i64> end(first_.begin(), first_.end() - 1);
        const u32* piece = pieces_.data();
        for (i64 z = 0; z < shape_.depth; ++z)
            for (i64 y = 0; y < shape_.height; ++y) {
                i64 at = (z + deep) * slice + (y + 1) * row + 1;
                for (i64 x = 0; x < shape_.width; ++x, ++at, ++piece) {
                    padded_[at] = *piece;
                    if (*piece != kNoRegion && known_[*piece].size < min_size) pixels_[end[*piece]++] = at;
                }
            }
        next_.assign(known_.size(), kNoRegion);
        last_.resize(known_.size());
        std::iota(last_.begin(), last_.end(), 0u);
    }

    double distance(u32 a, u32 b) const {
        double square = 0;
        for (int c = 0; c < 3; ++c)
            square += (known_[a].mean[c] - known_[b].mean[c]) * (known_[a].mean[c] - known_[b].mean[c]);
        return square;
    }

    u32 nearest_neighbour(u32 piece) {
        u32 best = kNoRegion, seen = kNoRegion;
        double nearest = 0;
        for (u32 part = piece; part != kNoRegion; part = next_[part])
            for (i64 k = first_[part]; k < first_[part + 1]; ++k)
                for (const i64 step : steps_) {
                    const u32 touching = padded_[pixels_[k] + step];
                    if (touching == kNoRegion || touching == part || touching == seen) continue;
                    seen = touching;
                    const u32 other = sets_.find(touching);
                    if (other == piece || other == best) continue;
                    const double away = distance(piece, other);
                    if (best != kNoRegion && (away > nearest || (away == nearest && other > best))) continue;
                    best = other;
                    nearest = away;
                }
        return best;
    }

    u32 join_nearest(u32 piece) {
        const u32 best = nearest_neighbour(piece);
        if (best == kNoRegion) return piece;  // alone within the mask
        const u32 root = sets_.join(piece, best), gone = root == piece ? best : piece;
        const double share = static_cast<double>(known_[gone].size) /
                             static_cast<double>(known_[root].size + known_[gone].size);
        for (int c = 0; c < 3; ++c)
            known_[root].mean[c] += (known_[gone].mean[c] - known_[root].mean[c]) * share;
        known_[root].size += known_[gone].size;
        next_[last_[root]] = gone;
        last_[root] = last_[gone];
        return root;
    }

    const Shape& shape_;
    Array<u32>& pieces_;
    struct Known {
        i64 size = 0;
        std::array<double, 3> mean{};
    };
    std::vector<Known> known_;
    Sets sets_;
    std::vector<i64> steps_;  // to the pixels that touch one
    Array<u32> padded_;
    std::vector<i64> first_, pixels_;
    std::vector<u32> next_, last_;
};

}  // namespace mspp
