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

// Calls fn(q) for the pixels q before p that touch it: to the left, above, in the slice before.
template <class Fn>
void each_earlier(const Shape& shape, i64 p, Fn&& fn) {
    const i64 in_slice = p % shape.slice();
    if (in_slice % shape.width) fn(p - 1);
    if (in_slice >= shape.width) fn(p - shape.width);
    if (p >= shape.slice()) fn(p - shape.slice());
}

template <class Fn>
void each_touching(const Shape& shape, i64 p, Fn&& fn) {
    each_earlier(shape, p, fn);
    const i64 in_slice = p % shape.slice();
    if (in_slice % shape.width + 1 < shape.width) fn(p + 1);
    if (in_slice + shape.width < shape.slice()) fn(p + shape.width);
    if (p + shape.slice() < shape.size()) fn(p + shape.slice());
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
    const i64 n = shape.size();
    pieces.resize(static_cast<size_t>(n));
    for (i64 p = 0; p < n; ++p) {
        u32 piece = kNoRegion;
        if (clusters[p] >= 0) {
            each_earlier(shape, p, [&](i64 q) {
                if (clusters[q] != clusters[p]) return;
                piece = piece == kNoRegion || piece == pieces[q] ? pieces[q] : sets.join(piece, pieces[q]);
            });
            if (piece == kNoRegion) piece = sets.add();
        }
        pieces[p] = piece;
    }
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
        for (i64 p = 0; p < shape.size(); ++p) {
            const u32 piece = pieces[p];
            if (piece == kNoRegion) continue;
            ++size_[piece];
            for (int c = 0; c < 3; ++c) sum_[piece][c] += colours[3 * p + c];
        }
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
        for (i64 p = 0; p < shape_.size(); ++p)
            if (pieces_[p] != kNoRegion && size_[pieces_[p]] < min_size) pixels_[at[pieces_[p]]++] = p;
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
                each_touching(shape_, pixels_[k], [&](i64 q) {
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

// Sums over any rectangle of a slice in four look-ups, for K values a pixel. Modulo 2^32: a rectangle's own
// sum fits.
template <int K>
class AreaTable {
  public:
    using Sums = std::array<u32, K>;

    // value(p, k) of pixel p of the slice, an integer.
    template <class Fn>
    void build(i64 height, i64 width, Fn&& value) {
        height_ = height;
        width_ = width;
        const i64 row = width + 1;
        sums_.resize(static_cast<size_t>((height + 1) * row));
        std::fill_n(sums_.begin(), row, Sums{});
        for (i64 y = 0; y < height; ++y) {
            Sums along{};
            sums_[(y + 1) * row] = Sums{};
            for (i64 x = 0; x < width; ++x)
                for (int k = 0; k < K; ++k) {
                    along[k] += static_cast<u32>(value(y * width + x, k));
                    sums_[(y + 1) * row + x + 1][k] = sums_[y * row + x + 1][k] + along[k];
                }
        }
    }

    // Mean over the square of that radius around (y, x), as much of it as is there.
    std::array<float, K> mean(i64 y, i64 x, i64 radius) const {
        y = std::clamp<i64>(y, 0, height_ - 1);
        x = std::clamp<i64>(x, 0, width_ - 1);
        const i64 top = std::max<i64>(y - radius, 0), bottom = std::min(y + radius + 1, height_);
        const i64 left = std::max<i64>(x - radius, 0), right = std::min(x + radius + 1, width_);
        const i64 row = width_ + 1;
        const float scale = 1.0f / static_cast<float>((bottom - top) * (right - left));
        std::array<float, K> mean;
        for (int k = 0; k < K; ++k) {
            const u32 sum = sums_[bottom * row + right][k] - sums_[top * row + right][k] -
                            sums_[bottom * row + left][k] + sums_[top * row + left][k];
            mean[k] = static_cast<float>(static_cast<i32>(sum)) * scale;
        }
        return mean;
    }

  private:
    i64 height_ = 0, width_ = 0;
    Array<Sums> sums_;
};

// Texture everywhere and edge strength where pixels touch another region.
struct Contrast {
    Array<float> texture, edge;
};

inline constexpr float kColourSteps = 128;  // of a colour unit, in the summed-area tables

inline Contrast measure_contrast(const float* colours, const Array<u32>& regions, const Shape& shape,
                                 int n_threads) {
    Contrast contrast;
    contrast.texture.resize(static_cast<size_t>(shape.size()));
    contrast.edge.resize(static_cast<size_t>(shape.size()));
    AreaTable<4> colour;  // the fourth value is unused: four make a vector
    AreaTable<1> rough;
    Array<i32> deviation(static_cast<size_t>(shape.slice()));
    const int team = team_size(shape.slice(), 1 << 14, n_threads);
    for (i64 slice = 0; slice < shape.depth; ++slice) {
        const i64 base = slice * shape.slice();
        colour.build(shape.height, shape.width, [&](i64 p, int k) {
            return k == 3 ? 0 : static_cast<i32>(std::lrint(colours[3 * (base + p) + k] * kColourSteps));
        });
        auto each_row = [&](auto&& fn) {
            parallel(team, [&](int t) {
                const Range rows = part(shape.height, t, team);
                for (i64 y = rows.begin; y < rows.end; ++y)
                    for (i64 x = 0; x < shape.width; ++x) fn(y, x, y * shape.width + x);
            });
        };
        each_row([&](i64 y, i64 x, i64 p) {
            const float level = colours[3 * (base + p)] * kColourSteps;
            deviation[p] = static_cast<i32>(std::lrint(std::abs(level - colour.mean(y, x, 2)[0])));
        });
        rough.build(shape.height, shape.width, [&](i64 p, int) { return deviation[p]; });
        auto step = [&](i64 y, i64 x, i64 radius) {  // the largest over four directions
            float largest = 0;
            for (const auto [dy, dx] : {std::pair<i64, i64>{0, 1}, {1, 0}, {1, 1}, {1, -1}}) {
                const auto a = colour.mean(y - radius * dy, x - radius * dx, radius);
                const auto b = colour.mean(y + radius * dy, x + radius * dx, radius);
                const float u = a[0] - b[0], v = a[1] - b[1], w = a[2] - b[2];
                largest = std::max(largest, u * u + v * v + w * w);
            }
            return std::sqrt(largest);
        };
        each_row([&](i64 y, i64 x, i64 p) {
            contrast.texture[base + p] = rough.mean(y, x, 6)[0] / kColourSteps;
            bool border = false;
            each_touching(shape, base + p, [&](i64 q) { border |= regions[q] != regions[base + p]; });
            contrast.edge[base + p] = border ? (step(y, x, 5) + step(y, x, 1)) / (2 * kColourSteps) : 0.0f;
        });
    }
    return contrast;
}

// What a region is known by: how many pixels, and sums and squared sums of three colours and texture.
struct Region {
    double n = 0, border = 0;
    std::array<double, 4> sum{}, square{};

    void add(const Region& other) {
        n += other.n;
        for (int k = 0; k < 4; ++k) {
            sum[k] += other.sum[k];
            square[k] += other.square[k];
        }
    }
    double variance(const std::array<double, 4>& weight) const {
        double v = 0;
        for (int k = 0; k < 4; ++k)
            v += weight[k] * std::max(0.0, square[k] / n - (sum[k] / n) * (sum[k] / n));
        return v;
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
        for (i64 p = 0; p < shape.size(); ++p) {
            const u32 a = regions[p];
            if (a == kNoRegion) continue;
            const double value[4] = {colours[3 * p], colours[3 * p + 1], colours[3 * p + 2],
                                     contrast.texture[p]};
            regions_[a].n += 1;
            for (int k = 0; k < 4; ++k) {
                regions_[a].sum[k] += value[k];
                regions_[a].square[k] += value[k] * value[k];
            }
            each_earlier(shape, p, [&](i64 q) {
                if (regions[q] == a || regions[q] == kNoRegion) return;
                touch(a, regions[q], 0.5 * (contrast.edge[p] + contrast.edge[q]));
            });
        }
        for (const Edge& edge : edges_) {
            regions_[edge.a].border += edge.length;
            regions_[edge.b].border += edge.length;
        }
        for (const Region& region : regions_) whole_.add(region);
    }

    // The spread of the image's colours: the scale of what counts as a contrast.
    double spread() const {
        std::array<double, 4> colour = weight_;
        colour[3] = 0;
        return whole_.n > 0 ? std::sqrt(whole_.variance(colour)) : 0.0;
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
            const double delta = a.sum[k] / a.n - b.sum[k] / b.n;
            away += weight_[k] * delta * delta;
        }
        away /= 1 + (a.variance(weight_) + b.variance(weight_)) / 220;
        const double size = 1000 * (a.n * b.n / (a.n + b.n)) / whole_.n;
        const double shared = edge.length / std::min(a.border, b.border) + 0.02;
        return std::sqrt(size * away) * (edge.strength / edge.length) * std::pow(shared, -0.2);
    }

    void push(u32 e) { queue_.push({cost(edges_[e]), e, ++edges_[e].version}); }

    // b becomes part of a; borders both had to a third region become one.
    void merge(u32 a, u32 b) {
        regions_[a].add(regions_[b]);
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
