// The hierarchy of an image: its finest regions, and the order in which they merge.
//
// 1. Pieces of colour clusters (pieces.hpp), the small ones absorbed by a neighbour (absorb.hpp).
// 2. Texture and edges (contrast.hpp).
// 3. The graph of adjacent regions (region_graph.hpp): the order of its merges is the hierarchy.
//
// In a volume, texture and edges are measured within a slice; regions also touch across slices.
#pragma once

#include "kernel/image/absorb.hpp"
#include "kernel/image/region_graph.hpp"

namespace mspp {

class Hierarchy {
  public:
    // IN colours (N, 3), clusters (N,), negative for masked pixels. `limit` bounds the cost of a merge, in
    // units of the default cut.
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
    // The number of regions of a cut.
    i64 count(double level) const { return i64{count_} - static_cast<i64>(count_merges(level)); }

    // OUT labels (N,), by falling size, -1 for masked pixels; regions under min_size join a neighbour.
    void cut(const float* colours, double level, i64 min_size, i32* labels) const {
        DisjointSets sets(count_);
        for (size_t k = 0, n = count_merges(level); k < n; ++k)
            sets.join(merges_[k].kept, merges_[k].removed);
        Array<u32> regions;
        u32 count = number_sets(sets, regions_, regions);
        if (min_size > 1) count = Absorber(colours, shape_, regions, count).run(min_size);
        label_by_size(regions, count, labels);
    }

  private:
    // The number of merges before the first that costs more than the level.
    size_t count_merges(double level) const {
        size_t k = 0;
        while (k < merges_.size() && merges_[k].cost <= level * unit_) ++k;
        return k;
    }

    static void label_by_size(const Array<u32>& regions, u32 count, i32* labels) {
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
    Array<u32> regions_;  // the finest region of each pixel
    u32 count_ = 0;
    double unit_ = 1;  // the cost at the default cut
    std::vector<Merge> merges_;
};

}  // namespace mspp
