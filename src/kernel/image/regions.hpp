// Regions: pieces of an image, merged by border contrast into a hierarchy.
//
// 1. pieces of colour clusters, see pieces.hpp;
// 2. texture and edges, see contrast.hpp;
// 3. the graph of adjacent regions; the cheapest border goes first, and the order of merging is the
// hierarchy. A volume is a stack of slices: texture and edges are taken within a slice, adjacency also
// across.
#pragma once

#include <queue>

#include "kernel/image/contrast.hpp"

namespace mspp {

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
    void cut(const float* colours, double level, i64 min_size, i32* labels) const {
        Sets sets(count_);
        for (size_t k = 0, n = merges(level); k < n; ++k) sets.join(merges_[k].kept, merges_[k].gone);
        Array<u32> regions;
        u32 count = number_sets(sets, regions_, regions);
        if (min_size > 1) count = Absorber(colours, shape_, regions, count).run(min_size);
        by_size(regions, count, labels);
    }

  private:
    // How many merges a cut takes: all until the first that costs more.
    size_t merges(double level) const {
        size_t k = 0;
        while (k < merges_.size() && merges_[k].cost <= level * unit_) ++k;
        return k;
    }

    static void by_size(const Array<u32>& regions, u32 count, i32* labels) {
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
    }

    Shape shape_;
    Array<u32> regions_;
    u32 count_ = 0;
    double unit_ = 1;  // the cost at the default cut
    std::vector<Merge> merges_;
};

}  // namespace mspp
