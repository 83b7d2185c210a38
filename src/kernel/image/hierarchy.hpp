// The hierarchy of an image: its finest regions, and the order in which they merge.
//
// 1. Pieces of colour clusters (pieces.hpp), the small ones absorbed by a neighbour (absorb.hpp).
// 2. Texture and edges (contrast.hpp).
// 3. The graph of adjacent regions (region_graph.hpp): the order of its merges is the hierarchy.
// 4. The last 200 regions of a picture in colour or grey, or more if their borders are clear, merge by a
//    learned cost (learned_graph.hpp).
//
// In a volume, texture and edges are measured within a slice; regions also touch across slices.
#pragma once

#include <optional>

#include "kernel/image/absorb.hpp"
#include "kernel/image/learned_graph.hpp"

namespace mspp {

// The learned stage of an image. Where it does not apply, no table is given.
struct Learned {
    const MergeTable* table = nullptr;
    const float* lab = nullptr;  // (N, 3), may be the colours themselves
    MergeTrace* trace = nullptr;
};

class Hierarchy {
  public:
    // IN colours (N, 3), clusters (N,), negative for masked pixels. `limit` bounds the level of a merge.
    Hierarchy(const float* colours, const i32* clusters, const Shape& shape,
              const std::array<double, 3>& weight, i64 min_size, double limit, const Learned& learned,
              int n_threads)
        : shape_(shape) {
        const Stripes stripes = Stripes::for_threads(shape, n_threads);
        Pieces pieces = connected_pieces(clusters, stripes);
        std::optional<ReducedImage> picture;
        if (learned.table && shape.depth == 1 && std::min(shape.height, shape.width) >= kLeastSide)
            picture.emplace(learned.lab, pieces.parts, n_threads);
        Regions regions = picture ? Absorber(learned.lab, stripes, pieces, &*picture).run(min_size)
                                  : Absorber(colours, stripes, pieces).run(min_size);
        sizes_ = std::move(regions.sizes);
        regions_ = std::move(pieces.parts);
        stripes.each([&](int, const Range& rows) { regions_.renumber(rows, regions.of_part); });
        Contrast contrast = measure_contrast(colours, regions_, n_threads);
        RegionGraph graph = make_graph(colours, contrast, stripes, weight);
        const size_t separate = graph.count_separate();
        is_learned_ = picture && sizes_.size() >= separate + kLeastRegions - 1;
        if (!is_learned_) {
            unit_ = 854 * std::pow(graph.spread() / 15, 0.7);
            merges_ = graph.run(limit * unit_);
            return;
        }
        merges_ = graph.run(kClearCost, separate + kLearnedRegions - 1, separate + kMostLearned - 1);
        if (learned.lab == colours) {
            merge_learned(*picture, contrast, graph, limit, learned, n_threads);
            return;
        }
        contrast = measure_contrast(learned.lab, regions_, n_threads);
        RegionGraph in_lab = make_graph(learned.lab, contrast, stripes, kLabWeight);
        in_lab.repeat(merges_);
        merge_learned(*picture, contrast, in_lab, limit, learned, n_threads);
    }

    i64 n_pixels() const { return shape_.size(); }
    // The number of regions of a cut.
    i64 count(double level) const { return static_cast<i64>(sizes_.size() - count_merges(level)); }

    // OUT labels (N,), by falling size, -1 for masked pixels; regions under min_size join a neighbour.
    // IN wanted: the number of regions before that.
    void cut(const float* colours, i64 wanted, i64 min_size, i32* labels, int n_threads) const {
        u32 count;
        const std::vector<u32> number = number_regions(wanted, count);
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
    static constexpr size_t kLearnedRegions = 200, kLeastRegions = 3;
    // Borders of this cost are clear. An image of many clear borders begins the learned stage with more
    // regions, up to a number that bounds its time.
    static constexpr double kClearCost = 350;
    static constexpr size_t kMostLearned = 600;
    static constexpr i64 kLeastSide = 64;        // of an image, in pixels
    static constexpr double kDefaultCost = 0.3;  // the learned cost at the default cut
    static constexpr std::array<double, 3> kLabWeight{0.5, 1, 1};

    RegionGraph make_graph(const float* colours, const Contrast& contrast, const Stripes& stripes,
                           const std::array<double, 3>& weight) const {
        return {colours, regions_, static_cast<u32>(sizes_.size()), contrast, stripes, weight};
    }

    // Merges the regions that are left by their learned cost. Costs become logarithms on one scale: those of
    // the merges before keep their ratios and lie below the first learned one.
    void merge_learned(const ReducedImage& picture, const Contrast& contrast, const RegionGraph& graph,
                       double limit, const Learned& learned, int n_threads) {
        u32 count;
        const std::vector<u32> of_piece = number_regions(0, count);
        std::vector<u32> first_piece(count, kNoRegion);
        for (u32 k = static_cast<u32>(of_piece.size()); k-- > 0;) first_piece[of_piece[k]] = k;
        LearnedGraph last(picture, regions_, of_piece, count, contrast, graph, *learned.table, n_threads,
                          learned.trace);
        if (learned.trace) trace_regions(of_piece, learned.trace->region_of_pixels);
        double highest = 0;
        for (const Merge& each : merges_) highest = std::max(highest, each.cost);
        for (Merge& each : merges_) each.cost = last.lowest_cost() + log_of(each.cost / highest);
        for (const Merge& each : last.run(bound_of(limit)))
            merges_.push_back({first_piece[each.kept], first_piece[each.removed], each.cost});
    }

    void trace_regions(const std::vector<u32>& of_piece, std::vector<u32>& pixels) const {
        pixels.resize(static_cast<size_t>(shape_.size()));
        for (i64 row = 0; row < shape_.rows(); ++row)
            regions_.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                std::fill(&pixels[begin], &pixels[begin] + (end - begin),
                          run.region == kNoRegion ? kNoRegion : of_piece[run.region]);
            });
    }

    // Logarithm to base e, equal on every platform.
    static double log_of(double v) {
        const bool in_range = v >= std::numeric_limits<double>::min() && v < HUGE_VAL;
        return in_range ? kLn2 * log2_of(v) : v > 1 ? HUGE_VAL : -HUGE_VAL;
    }

    // The highest cost of a level.
    double bound_of(double level) const { return is_learned_ ? kDefaultCost + log_of(level) : level * unit_; }

    // The number of merges before the first that costs more than the level.
    size_t count_merges(double level) const {
        const double bound = bound_of(level);
        size_t k = 0;
        while (k < merges_.size() && merges_[k].cost <= bound) ++k;
        return k;
    }

    // Numbers the regions after enough merges to leave `wanted`, or after all. OUT count: of the regions.
    // Returns the region of each of the finest.
    std::vector<u32> number_regions(i64 wanted, u32& count) const {
        const size_t merges = sizes_.size() - std::min(sizes_.size(), static_cast<size_t>(wanted));
        DisjointSets sets(sizes_.size());
        for (size_t k = 0; k < std::min(merges, merges_.size()); ++k)
            sets.join(merges_[k].kept, merges_[k].removed);
        return number_sets(sets, count);
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
    bool is_learned_ = false;
    double unit_ = 1;  // the cost at the default cut, without the learned stage
    std::vector<Merge> merges_;
};

}  // namespace mspp
