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
        const Stripes stripes = Stripes::for_threads(shape, n_threads);
        Pieces pieces = connected_pieces(clusters, stripes);
        Regions regions = Absorber(colours, stripes, pieces).run(min_size);
        sizes_ = std::move(regions.sizes);
        regions_ = std::move(pieces.parts);
        stripes.each([&](int, const Range& rows) { regions_.renumber(rows, regions.of_part); });
        const Contrast contrast = measure_contrast(colours, regions_, n_threads);
        RegionGraph graph(colours, regions_, static_cast<u32>(sizes_.size()), contrast, stripes, weight);
        unit_ = 854 * std::pow(graph.spread() / 15, 0.7);
        merges_ = graph.run(limit * unit_);
    }

    i64 n_pixels() const { return shape_.size(); }
    // The number of regions of a cut.
    i64 count(double level) const { return static_cast<i64>(sizes_.size() - count_merges(level)); }

    // OUT labels (N,), by falling size, -1 for masked pixels; regions under min_size join a neighbour.
    void cut(const float* colours, double level, i64 min_size, i32* labels, int n_threads) const {
        DisjointSets sets(sizes_.size());
        for (size_t k = 0, n = count_merges(level); k < n; ++k)
            sets.join(merges_[k].kept, merges_[k].removed);
        u32 count;
        const std::vector<u32> number = number_sets(sets, count);
        std::vector<i64> sizes(count);
        for (size_t k = 0; k < number.size(); ++k) sizes[number[k]] += sizes_[k];
        const Stripes stripes = Stripes::for_threads(shape_, n_threads);
        label(regions_, labels_by_size(number, sizes), stripes, labels);
        if (min_size <= 1) return;
        // Regions are connected, so they are the pieces of their label image.
        Pieces pieces = connected_pieces(labels, stripes);
        const Regions left = Absorber(colours, stripes, pieces).run(min_size);
        label(pieces.parts, labels_by_size(left.of_part, left.sizes), stripes, labels);
    }

  private:
    // The number of merges before the first that costs more than the level.
    size_t count_merges(double level) const {
        size_t k = 0;
        while (k < merges_.size() && merges_[k].cost <= level * unit_) ++k;
        return k;
    }

    // Returns the label of each part, by falling size of its region, in the order of regions if equal.
    static std::vector<i32> labels_by_size(const std::vector<u32>& of_part, const std::vector<i64>& sizes) {
        std::vector<u32> order(sizes.size());
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return sizes[a] > sizes[b]; });
        std::vector<i32> label(sizes.size()), labels(of_part.size());
        for (size_t k = 0; k < order.size(); ++k) label[order[k]] = static_cast<i32>(k);
        for (size_t k = 0; k < of_part.size(); ++k) labels[k] = label[of_part[k]];
        return labels;
    }

    static void label(const RunImage& parts, const std::vector<i32>& of_part, const Stripes& stripes,
                      i32* labels) {
        stripes.each([&](int, const Range& rows) {
            each_of(rows, stripes.shape().width, [&](i64 row) {
                parts.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                    std::fill(labels + begin, labels + end,
                              run.region == kNoRegion ? -1 : of_part[run.region]);
                });
            });
        });
    }

    Shape shape_;
    RunImage regions_;        // the finest
    std::vector<i64> sizes_;  // of the finest regions
    double unit_ = 1;         // the cost at the default cut
    std::vector<Merge> merges_;
};

}  // namespace mspp
