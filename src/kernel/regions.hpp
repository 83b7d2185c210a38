// Regions: connected pieces of colour clusters, merged by border contrast into a hierarchy.
//
// 1. pieces: connected components of the clusters; tiny ones join the neighbour of nearest colour;
// 2. texture, and the strength of the edge at every pixel on a border, from summed-area tables in integers;
// 3. the graph of adjacent regions; the cheapest border goes first, and the order of merging is the
// hierarchy. A volume is a stack of slices: texture and edges are taken within a slice, adjacency also
// across.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <queue>

#include "kernel/fixed.hpp"
#include "kernel/memory.hpp"
#include "kernel/threads.hpp"

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
                if (joined != piece && size_[joined] < min_size) waiting[size_[joined]].push_back(joined);
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

// Sums over any square in four look-ups, for K values a pixel, over some rows of a slice. Modulo 2^32: a
// square's own sum fits.
template <int K>
class AreaTable {
  public:
    struct alignas(K * 4) Sums {
        u32 of[K];
    };

    // Rows first to last - 1; value(y, x, k) is an integer.
    template <class Fn>
    void build(i64 first, i64 last, i64 width, Fn&& value) {
        first_ = first;
        last_ = last;
        width_ = width;
        row_ = width + 1;
        sums_.resize(static_cast<size_t>((last - first + 1) * row_));
        std::fill_n(sums_.begin(), row_, Sums{});
        for (i64 y = first; y < last; ++y) {
            Sums along{};
            const Sums* above = at(y, 1);
            Sums* here = &sums_[(y + 1 - first) * row_];
            *here++ = Sums{};
            for (i64 x = 0; x < width; ++x) {
                for (int k = 0; k < K; ++k) along.of[k] += static_cast<u32>(value(y, x, k));
                for (int k = 0; k < K; ++k) here[x].of[k] = above[x].of[k] + along.of[k];
            }
        }
    }

    // Mean over the square of that radius around (y, x), as much of it as is there.
    std::array<float, K> mean(i64 y, i64 x, i64 radius) const {
        y = std::clamp<i64>(y, first_, last_ - 1);
        x = std::clamp<i64>(x, 0, width_ - 1);
        const i64 top = std::max<i64>(y - radius, first_), bottom = std::min(y + radius + 1, last_);
        const i64 left = std::max<i64>(x - radius, 0), right = std::min(x + radius + 1, width_);
        const float scale = 1.0f / static_cast<float>((bottom - top) * (right - left));
        const Sums sums = box(at(top, 0), at(bottom, 0), left, right);
        std::array<float, K> mean;
        for (int k = 0; k < K; ++k) mean[k] = static_cast<float>(static_cast<i32>(sums.of[k])) * scale;
        return mean;
    }

    // Whether the square of that radius is all there.
    bool holds(i64 y, i64 x, i64 radius) const {
        return y - radius >= first_ && y + radius < last_ && x - radius >= 0 && x + radius < width_;
    }

    // The sum over such a square.
    template <int Radius>
    Sums sum(i64 y, i64 x) const {
        return box(at(y - Radius, 0), at(y + Radius + 1, 0), x - Radius, x + Radius + 1);
    }

  private:
    const Sums* at(i64 y, i64 x) const { return &sums_[(y - first_) * row_ + x]; }
    static Sums box(const Sums* top, const Sums* bottom, i64 left, i64 right) {
        Sums sums;
        for (int k = 0; k < K; ++k)
            sums.of[k] = bottom[right].of[k] - top[right].of[k] - bottom[left].of[k] + top[left].of[k];
        return sums;
    }
    i64 first_ = 0, last_ = 0, width_ = 0, row_ = 0;
    Array<Sums> sums_;
};

// Texture everywhere, and the strength of the edge at pixels that touch another region.
struct Contrast {
    Array<float> texture, edge;
};

inline constexpr float kColourSteps = 128;  // of a colour unit, in the summed-area tables

// The distance in colour between the squares to either side of a pixel, the largest over four directions.
template <int Radius>
float colour_step(const AreaTable<4>& colour, i64 y, i64 x) {
    constexpr i64 directions[4][2] = {{0, Radius}, {Radius, 0}, {Radius, Radius}, {Radius, -Radius}};
    const bool inside = colour.holds(y, x, 2 * Radius);
    float largest = 0;
    for (const auto& [dy, dx] : directions) {
        float step[4];
        if (inside) {
            constexpr float kScale = 1.0f / ((2 * Radius + 1) * (2 * Radius + 1));
            const auto a = colour.sum<Radius>(y - dy, x - dx), b = colour.sum<Radius>(y + dy, x + dx);
            for (int k = 0; k < 4; ++k)
                step[k] = static_cast<float>(static_cast<i32>(a.of[k] - b.of[k])) * kScale;
        } else {
            const auto a = colour.mean(y - dy, x - dx, Radius), b = colour.mean(y + dy, x + dx, Radius);
            for (int k = 0; k < 4; ++k) step[k] = a[k] - b[k];
        }
        largest = std::max(largest, step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    }
    return std::sqrt(largest);
}

// Measures a stripe of rows after the other; each has tables of its own, with as many rows around it as the
// squares reach.
class ContrastMeter {
  public:
    ContrastMeter(const float* colours, const Array<u32>& regions, const Shape& shape, Contrast& contrast)
        : colours_(colours), regions_(regions), shape_(shape), contrast_(contrast) {}

    void stripe(i64 z, i64 first, i64 last) {
        const float* slice = colours_ + 3 * z * shape_.slice();
        const i64 width = shape_.width;
        auto reach = [&](i64 rows) {
            return Range{std::max<i64>(first - rows, 0), std::min(last + rows, shape_.height)};
        };
        const Range wide = reach(2 * kFar + 1), near = reach(kTexture + 1);
        colour_.build(wide.begin, wide.end, width,
                      [&](i64 y, i64 x, int k) {  // the fourth only fills up the vector
                          return k == 3 ? 0 : static_cast<i32>(slice[3 * (y * width + x) + k] * kColourSteps);
                      });
        rough_.build(near.begin, near.end, width, [&](i64 y, i64 x, int) {
            return static_cast<i32>(
                std::abs(slice[3 * (y * width + x)] * kColourSteps - colour_.mean(y, x, 2)[0]));
        });
        for (i64 y = first; y < last; ++y) measure({z * shape_.slice() + y * width, z, y, 0});
    }

  private:
    static constexpr int kFar = 5, kNear = 1, kTexture = 6;

    void measure(Pixel pixel) {
        for (; pixel.x < shape_.width; ++pixel.x, ++pixel.p) {
            contrast_.texture[pixel.p] = rough_.mean(pixel.y, pixel.x, kTexture)[0] / kColourSteps;
            bool border = false;
            pixel.each_touching(shape_, [&](i64 q) { border |= regions_[q] != regions_[pixel.p]; });
            contrast_.edge[pixel.p] = border ? edge(pixel.y, pixel.x) : 0.0f;
        }
    }

    float edge(i64 y, i64 x) const {
        return (colour_step<kFar>(colour_, y, x) + colour_step<kNear>(colour_, y, x)) / (2 * kColourSteps);
    }

    const float* colours_;
    const Array<u32>& regions_;
    const Shape& shape_;
    Contrast& contrast_;
    AreaTable<4> colour_;
    AreaTable<1> rough_;
};

inline Contrast measure_contrast(const float* colours, const Array<u32>& regions, const Shape& shape,
                                 int n_threads) {
    constexpr i64 kStripe = 96;
    Contrast contrast;
    contrast.texture.resize(static_cast<size_t>(shape.size()));
    contrast.edge.resize(static_cast<size_t>(shape.size()));
    const i64 stripes = (shape.height + kStripe - 1) / kStripe;
    const int team = team_size(shape.size(), 1 << 14, n_threads);
    parallel(team, [&](int t) {
        ContrastMeter meter(colours, regions, shape, contrast);
        const Range range = part(stripes * shape.depth, t, team);
        for (i64 k = range.begin; k < range.end; ++k)
            meter.stripe(k / stripes, k % stripes * shape.height / stripes,
                         (k % stripes + 1) * shape.height / stripes);
    });
    return contrast;
}

// What a region is known by: how many pixels, and sums and squared sums of three colours and texture.
struct Region {
    double n = 0, border = 0;
    std::array<double, 4> sum{}, square{};
    std::array<double, 4> mean{};  // these two follow from the sums, by settle()
    double variance = 0;

    void add(const Region& other) {
        n += other.n;
        for (int k = 0; k < 4; ++k) {
            sum[k] += other.sum[k];
            square[k] += other.square[k];
        }
    }
    void settle(const std::array<double, 4>& weight) {
        variance = 0;
        for (int k = 0; k < 4; ++k) {
            mean[k] = sum[k] / n;
            variance += weight[k] * std::max(0.0, square[k] / n - mean[k] * mean[k]);
        }
    }
};

struct Merge {
    u32 kept, gone;
    double cost;
};

// Merges adjacent regions, cheapest border first.
class RegionGraph {
  public:
    RegionGraph(const float* colours, const Array<u32>& regions, u32 count, const Contrast& contrast,
                const Shape& shape, const std::array<double, 3>& weight)
        : weight_{weight[0], weight[1], weight[2], 16.0}, regions_(count), edges_of_(count) {
        each_stretch(regions, [&](u32 a, i64 begin, i64 end) {
            Region stretch;
            stretch.n = static_cast<double>(end - begin);
            for (i64 p = begin; p < end; ++p) {
                const double value[4] = {colours[3 * p], colours[3 * p + 1], colours[3 * p + 2],
                                         contrast.texture[p]};
                for (int k = 0; k < 4; ++k) {
                    stretch.sum[k] += value[k];
                    stretch.square[k] += value[k] * value[k];
                }
            }
            regions_[a].add(stretch);
        });
        each_pixel(shape, [&](const Pixel& pixel) {
            const u32 a = regions[pixel.p];
            pixel.each_earlier(shape, [&](i64 q) {
                const u32 b = regions[q];
                if (a == b || a == kNoRegion || b == kNoRegion) return;
                touch(a, b, 0.5 * (contrast.edge[pixel.p] + contrast.edge[q]));
            });
        });
        for (const Edge& edge : edges_) {
            regions_[edge.a].border += edge.length;
            regions_[edge.b].border += edge.length;
        }
        for (Region& region : regions_) {
            whole_.add(region);
            region.settle(weight_);
        }
    }

    // The spread of the image's colours: the scale of what counts as a contrast.
    double spread() {
        whole_.settle({weight_[0], weight_[1], weight_[2], 0});
        return std::sqrt(whole_.variance);
    }

    // Merges until the cheapest border costs more than `limit`.
    std::vector<Merge> run(double limit) {
        for (u32 e = 0; e < edges_.size(); ++e) push(e);
        std::vector<Merge> merges;
        while (!queue_.empty()) {
            const Offer offer = queue_.top();
            queue_.pop();
            const Edge& edge = edges_[offer.edge];
            if (edge.a == kNoRegion || offer.version != edge.version) continue;
            if (offer.cost > limit) break;
            merges.push_back({edge.a, edge.b, offer.cost});
            merge(edge.a, edge.b);
        }
        return merges;
    }

  private:
    struct Edge {
        u32 a, b;  // a < b; a is kNoRegion once it is no more
        double length, strength;
        u32 version;  // of the latest offer: earlier ones are void
    };
    struct Offer {
        double cost;
        u32 edge, version;
        bool operator<(
            const Offer& other) const {  // the queue's top is the cheapest; of equals the first edge
            return cost != other.cost ? cost > other.cost : edge > other.edge;
        }
    };

    void touch(u32 a, u32 b, double strength) {
        if (b < a) std::swap(a, b);
        if (edges_.empty() || edges_[last_].a != a || edges_[last_].b != b) last_ = edge_between(a, b);
        edges_[last_].length += 1;
        edges_[last_].strength += strength;
    }

    u32 edge_between(u32 a, u32 b) {
        const u32 few = edges_of_[a].size() < edges_of_[b].size() ? a : b;
        for (u32 e : edges_of_[few])
            if (edges_[e].a == a && edges_[e].b == b) return e;
        edges_.push_back({a, b, 0, 0, 0});
        const u32 e = static_cast<u32>(edges_.size() - 1);
        edges_of_[a].push_back(e);
        edges_of_[b].push_back(e);
        return e;
    }

    double cost(const Edge& edge) const {
        const Region &a = regions_[edge.a], &b = regions_[edge.b];
        double away = 0;
        for (int k = 0; k < 4; ++k) {
            const double delta = a.mean[k] - b.mean[k];
            away += weight_[k] * delta * delta;
        }
        away /= 1 + (a.variance + b.variance) / 220;
        const double size = 1000 * (a.n * b.n / (a.n + b.n)) / whole_.n;
        const double shared = edge.length / std::min(a.border, b.border) + 0.02;
        return std::sqrt(size * away) * (edge.strength / edge.length) * std::pow(shared, -0.2);
    }

    void push(u32 e) { queue_.push({cost(edges_[e]), e, ++edges_[e].version}); }

    // b becomes part of a; borders both had to a third region become one.
    void merge(u32 a, u32 b) {
        regions_[a].add(regions_[b]);
        regions_[a].settle(weight_);
        mark_.resize(regions_.size(), kNoRegion);
        std::vector<u32> kept;
        double shared = 0;
        for (const u32 side : {a, b})
            for (const u32 e : edges_of_[side]) {
                Edge& edge = edges_[e];
                if (edge.a == kNoRegion) continue;
                const u32 other = edge.a == side ? edge.b : edge.a;
                if (other == a || other == b) {
                    shared = edge.length;
                    edge.a = kNoRegion;
                } else if (mark_[other] == kNoRegion) {
                    mark_[other] = e;
                    edge.a = std::min(a, other);
                    edge.b = std::max(a, other);
                    kept.push_back(e);
                } else {
                    edges_[mark_[other]].length += edge.length;
                    edges_[mark_[other]].strength += edge.strength;
                    edge.a = kNoRegion;
                }
            }
        regions_[a].border += regions_[b].border - 2 * shared;
        edges_of_[b].clear();
        edges_of_[a] = std::move(kept);
        for (const u32 e : edges_of_[a]) {
            mark_[edges_[e].a == a ? edges_[e].b : edges_[e].a] = kNoRegion;
            push(e);
        }
    }

    std::array<double, 4> weight_;
    std::vector<Region> regions_;
    Region whole_;
    std::vector<Edge> edges_;
    std::vector<std::vector<u32>> edges_of_;
    std::vector<u32> mark_;
    u32 last_ = 0;
    std::priority_queue<Offer> queue_;
};

// The finest regions of an image and the order in which they merge.
class Hierarchy {
  public:
    // IN colours (N, 3), clusters (N,) negative where masked. `limit` bounds the cost of a merge, in units of
    // the default cut.
    Hierarchy(const float* colours, const i32* clusters, const Shape& shape,
              const std::array<double, 3>& weight, i64 min_size, double limit, int n_threads)
        : shape_(shape) {
        const u32 pieces = connected_pieces(clusters, shape, regions_);
        count_ = Absorber(colours, shape, regions_, pieces).run(min_size);
        const Contrast contrast = measure_contrast(colours, regions_, shape, n_threads);
        RegionGraph graph(colours, regions_, count_, contrast, shape, weight);
        unit_ = 854 * std::pow(graph.spread() / 15, 0.7);
        merges_ = graph.run(limit * unit_);
    }

    i64 n_pixels() const { return shape_.size(); }
    // Regions at a cut.
    i64 count(double level) const { return i64{count_} - static_cast<i64>(merges(level)); }

    // OUT labels (N,), by falling size, -1 where masked; regions under min_size join a neighbour.
    u32 cut(const float* colours, double level, i64 min_size, i32* labels) const {
        Sets sets(count_);
        for (size_t k = 0, n = merges(level); k < n; ++k) sets.join(merges_[k].kept, merges_[k].gone);
        std::vector<u32> number;
        u32 count = number_sets(sets, number);
        Array<u32> regions(regions_.size());
        for (size_t p = 0; p < regions.size(); ++p)
            regions[p] = regions_[p] == kNoRegion ? kNoRegion : number[regions_[p]];
        if (min_size > 1) count = Absorber(colours, shape_, regions, count).run(min_size);
        return by_size(regions, count, labels);
    }

  private:
    // How many merges a cut takes: all until the first that costs more.
    size_t merges(double level) const {
        size_t k = 0;
        while (k < merges_.size() && merges_[k].cost <= level * unit_) ++k;
        return k;
    }

    static u32 by_size(const Array<u32>& regions, u32 count, i32* labels) {
        std::vector<i64> size(count);
        for (u32 region : regions)
            if (region != kNoRegion) ++size[region];
        std::vector<u32> order(count);
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return size[a] > size[b]; });
        std::vector<i32> label(count);
        for (u32 k = 0; k < count; ++k) label[order[k]] = static_cast<i32>(k);
        for (size_t p = 0; p < regions.size(); ++p)
            labels[p] = regions[p] == kNoRegion ? -1 : label[regions[p]];
        return count;
    }

    Shape shape_;
    Array<u32> regions_;
    u32 count_ = 0;
    double unit_ = 1;  // the cost at the default cut
    std::vector<Merge> merges_;
};

}  // namespace mspp
