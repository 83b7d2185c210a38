// The pieces of an image: connected components of its colour clusters, tiny ones joined to a neighbour.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernel/fixed.hpp"
#include "kernel/memory.hpp"

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

inline Pixel pixel_at(const Shape& shape, i64 p) {
    return {p, p / shape.slice(), p % shape.slice() / shape.width, p % shape.width};
}

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

// Numbers the sets 0, 1, ... in the order of their first members; OUT number of each member.
inline u32 number_sets(Sets& sets, std::vector<u32>& number) {
    u32 n = 0;
    number.resize(sets.size());
    for (u32 x = 0; x < sets.size(); ++x) {
        const u32 root = sets.find(x);
        number[x] = root == x ? n++ : number[root];
    }
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
    std::vector<u32> number;
    const u32 count = number_sets(sets, number);
    for (u32& piece : pieces)
        if (piece != kNoRegion) piece = number[piece];
    return count;
}

// Joins every piece of fewer than min_size pixels to the touching piece of nearest mean colour, smallest
// first.
class Absorber {
  public:
    Absorber(const float* colours, const Shape& shape, Array<u32>& pieces, u32 count)
        : shape_(shape), pieces_(pieces), size_(count), sum_(count), sets_(count) {
        each_stretch(pieces, [&](u32 piece, i64 begin, i64 end) {
            std::array<double, 3> sum = sum_[piece];
            for (i64 p = begin; p < end; ++p)
                for (int c = 0; c < 3; ++c) sum[c] += colours[3 * p + c];
            sum_[piece] = sum;
            size_[piece] += end - begin;
        });
    }

    u32 run(i64 min_size) {
        list_pixels(min_size);
        std::vector<std::vector<u32>> waiting(static_cast<size_t>(std::max<i64>(min_size, 1)));
        for (u32 piece = 0; piece < size_.size(); ++piece)
            if (size_[piece] < min_size) waiting[size_[piece]].push_back(piece);
        for (i64 size = 1; size < min_size; ++size)
            for (size_t k = 0; k < waiting[size].size(); ++k) {
                const u32 piece = waiting[size][k];
                if (sets_.find(piece) != piece || size_[piece] != size) continue;
                const u32 joined = join_nearest(piece);
                if (size_[joined] > size && size_[joined] < min_size)
                    waiting[size_[joined]].push_back(joined);
            }
        std::vector<u32> number;
        const u32 count = number_sets(sets_, number);
        for (u32& piece : pieces_)
            if (piece != kNoRegion) piece = number[piece];
        return count;
    }

  private:
    // The pixels of small pieces, one list after the other; joined pieces chain their lists.
    void list_pixels(i64 min_size) {
        first_.assign(size_.size() + 1, 0);
        for (size_t piece = 0; piece < size_.size(); ++piece)
            first_[piece + 1] = first_[piece] + (size_[piece] < min_size ? size_[piece] : 0);
        pixels_.resize(static_cast<size_t>(first_.back()));
        std::vector<i64> at(first_.begin(), first_.end() - 1);
        each_stretch(pieces_, [&](u32 piece, i64 begin, i64 end) {
            for (i64 p = begin; p < end && size_[piece] < min_size; ++p) pixels_[at[piece]++] = p;
        });
        next_.assign(size_.size(), kNoRegion);
        last_.resize(size_.size());
        std::iota(last_.begin(), last_.end(), 0u);
    }

    double distance(u32 a, u32 b) const {
        double square = 0;
        for (int c = 0; c < 3; ++c) {
            const double delta =
                sum_[a][c] / static_cast<double>(size_[a]) - sum_[b][c] / static_cast<double>(size_[b]);
            square += delta * delta;
        }
        return square;
    }

    u32 join_nearest(u32 piece) {
        u32 best = kNoRegion;
        double nearest = 0;
        for (u32 part = piece; part != kNoRegion; part = next_[part])
            for (i64 k = first_[part]; k < first_[part + 1]; ++k)
                pixel_at(shape_, pixels_[k]).each_touching(shape_, [&](i64 q) {
                    if (pieces_[q] == kNoRegion) return;
                    const u32 other = sets_.find(pieces_[q]);
                    if (other == piece || other == best) return;
                    const double away = distance(piece, other);
                    if (best == kNoRegion || away < nearest || (away == nearest && other < best)) {
                        best = other;
                        nearest = away;
                    }
                });
        if (best == kNoRegion) return piece;  // alone within the mask
        const u32 root = sets_.join(piece, best), gone = root == piece ? best : piece;
        size_[root] += size_[gone];
        for (int c = 0; c < 3; ++c) sum_[root][c] += sum_[gone][c];
        next_[last_[root]] = gone;
        last_[root] = last_[gone];
        return root;
    }

    const Shape& shape_;
    Array<u32>& pieces_;
    std::vector<i64> size_;
    std::vector<std::array<double, 3>> sum_;
    Sets sets_;
    std::vector<i64> first_, pixels_;
    std::vector<u32> next_, last_;
};

}  // namespace mspp
