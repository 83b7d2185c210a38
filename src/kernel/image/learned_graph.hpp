// The second stage of a hierarchy: the last regions merge in the order of a learned cost.
//
// Cost = -(log odds that both regions are one) + 0.6 log min(1, size / 2), in steps of 2^-16; the second term
// joins specks below 0.2 % of the image.
#pragma once

#include <memory>
#include <numeric>
#include <queue>

#include "kernel/image/merge_features.hpp"
#include "kernel/tree/logarithm.hpp"

namespace mspp {

// What the stage met, for training: nodes below the number of regions are these, later ones are merges.
struct MergeTrace {
    std::vector<float> features;        // (n, 38)
    std::vector<u32> sides;             // (n, 2): the nodes on both sides of each scored border
    std::vector<u32> merged;            // (merges, 2): the nodes that each merge joined
    std::vector<u32> region_of_pixels;  // (N,)
};

class LearnedGraph {
  public:
    // IN of_piece: the region of each piece, below `count`; the graph holds their statistics in Lab.
    LearnedGraph(const ReducedImage& picture, const RunImage& pieces, const std::vector<u32>& of_piece,
                 u32 count, const Contrast& contrast, const RegionGraph& graph, const MergeTable& table,
                 int n_threads, MergeTrace* trace)
        : table_(table),
          trace_(trace),
          weight_(graph.weight()),
          edges_of_(count),
          edge_to_(count, kNoRegion) {
        LearnedMeasurement measured(picture, pieces, of_piece, count, contrast, n_threads);
        regions_ = std::move(measured.regions);
        graph.each_region([&](u32 piece, const Region& stats) { regions_[of_piece[piece]].stats = stats; });
        graph.each_edge([&](u32 a, u32 b, double length, double strength) {
            const u32 first = std::min(of_piece[a], of_piece[b]), second = std::max(of_piece[a], of_piece[b]);
            edges_of_[first].push_back(static_cast<u32>(borders_.size()));
            edges_of_[second].push_back(static_cast<u32>(borders_.size()));
            borders_.push_back({first, second, length, strength});
        });
        measured.add_borders(borders_, [&](u32 a, u32 b) { return edge_between(a, b); });
        Region image;
        double frame = 0;
        for (u32 k = 0; k < count; ++k) {
            regions_[k].update(weight_);
            regions_[k].node = k;
            image.add(regions_[k].stats);
            frame += regions_[k].frame;
        }
        nodes_ = count;
        image.update({weight_[0], weight_[1], weight_[2], 0});
        features_ = std::make_unique<MergeFeatures>(weight_, image, frame, measured.scale());
        pixels_ = image.n;
        std::vector<u32> all(borders_.size());
        std::iota(all.begin(), all.end(), 0u);
        push(all);
    }

    // The cost of the first merge, in units of log odds; some regions touch.
    double lowest_cost() const { return in_units(queue_.top().cost); }

    // Merges until the cheapest border costs more than `limit`. Returns merges of regions.
    std::vector<Merge> run(double limit) {
        std::vector<Merge> merges;
        while (!queue_.empty()) {
            const Candidate candidate = queue_.top();
            queue_.pop();
            const LearnedBorder& border = borders_[candidate.edge];
            if (border.a == kNoRegion || candidate.version != border.version) continue;
            if (in_units(candidate.cost) > limit) break;
            merges.push_back({border.a, border.b, in_units(candidate.cost)});
            merge(candidate.edge);
        }
        return merges;
    }

  private:
    struct Candidate {
        i64 cost;  // in steps
        u32 edge, version;
        // The top of the queue is the cheapest candidate, and of equals the one of the first edge.
        bool operator<(const Candidate& other) const {
            return cost != other.cost ? cost > other.cost : edge > other.edge;
        }
    };

    static double in_units(i64 cost) { return static_cast<double>(cost) / kScoreSteps; }

    // The graph has an edge for all regions a < b that touch.
    u32 edge_between(u32 a, u32 b) const {
        const auto& edges = edges_of_[edges_of_[a].size() < edges_of_[b].size() ? a : b];
        return *std::find_if(edges.begin(), edges.end(),
                             [&](u32 e) { return borders_[e].a == a && borders_[e].b == b; });
    }

    // Scores borders and adds them to the queue.
    void push(const std::vector<u32>& edges) {
        constexpr size_t n = FeatureBatch::kSize;
        for (size_t first = 0; first < edges.size(); first += n) {
            const size_t count = std::min(n, edges.size() - first);
            for (size_t i = 0; i < count; ++i) {
                const LearnedBorder& border = borders_[edges[first + i]];
                const LearnedRegion *a = &regions_[border.a], *b = &regions_[border.b];
                if (b->stats.n < a->stats.n) std::swap(a, b);
                features_->fill(*a, *b, border, batch_, static_cast<int>(i));
                if (trace_) trace_border(*a, *b, i);
            }
            i32 scores[n];
            table_.score(batch_, static_cast<int>(count), scores);
            for (size_t i = 0; i < count; ++i) {
                LearnedBorder& border = borders_[edges[first + i]];
                queue_.push({speck_cost(border) - scores[i], edges[first + i], ++border.version});
            }
        }
    }

    void trace_border(const LearnedRegion& a, const LearnedRegion& b, size_t lane) {
        for (const auto& feature : batch_.of) trace_->features.push_back(feature[lane]);
        trace_->sides.push_back(a.node);
        trace_->sides.push_back(b.node);
    }

    // 0.6 log min(1, size / 2), in steps.
    i64 speck_cost(const LearnedBorder& border) const {
        const double a = regions_[border.a].stats.n, b = regions_[border.b].stats.n;
        const double share = 500 * (a * b / (a + b)) / pixels_;
        return share < 1 ? static_cast<i64>(0.6 * kLn2 * log2_of(share) * kScoreSteps) : 0;
    }

    // Region b becomes part of a; the borders that both had with a third region become one.
    void merge(u32 e) {
        const LearnedBorder dissolved = borders_[e];
        const u32 a = dissolved.a, b = dissolved.b;
        LearnedRegion &kept = regions_[a], &removed = regions_[b];
        if (trace_) trace_->merged.insert(trace_->merged.end(), {kept.node, removed.node});
        const double cost =
            features_->plain_cost(kept.stats, removed.stats, dissolved.length, dissolved.strength);
        kept.add(removed);
        kept.dissolved += dissolved.length;
        kept.dissolved_strength += dissolved.strength;
        kept.costliest = std::max(kept.costliest, cost);
        kept.stats.border += removed.stats.border - 2 * dissolved.length;
        kept.node = nodes_++;
        kept.update(weight_);
        borders_[e].a = kNoRegion;
        join_borders(a, b);
        push(edges_of_[a]);
    }

    void join_borders(u32 a, u32 b) {
        std::vector<u32> edges;
        for (const u32 side : {a, b})
            for (const u32 e : edges_of_[side]) {
                LearnedBorder& border = borders_[e];
                if (border.a == kNoRegion) continue;
                const u32 other = border.a == side ? border.b : border.a;
                if (edge_to_[other] == kNoRegion) {
                    edge_to_[other] = e;
                    border.a = std::min(a, other);
                    border.b = std::max(a, other);
                    edges.push_back(e);
                } else {
                    borders_[edge_to_[other]].add(border);
                    border.a = kNoRegion;
                }
            }
        for (const u32 e : edges) edge_to_[borders_[e].a == a ? borders_[e].b : borders_[e].a] = kNoRegion;
        edges_of_[b].clear();
        edges_of_[a] = std::move(edges);
    }

    const MergeTable& table_;
    MergeTrace* trace_;  // null unless the stage is traced
    std::array<double, 4> weight_;
    std::vector<LearnedRegion> regions_;
    std::vector<LearnedBorder> borders_;
    std::vector<std::vector<u32>> edges_of_;
    std::vector<u32> edge_to_;  // during merge: the border from the merged region to each other one
    std::unique_ptr<MergeFeatures> features_;
    double pixels_ = 0;
    u32 nodes_ = 0;  // regions and merges so far
    FeatureBatch batch_;
    std::priority_queue<Candidate> queue_;
};

}  // namespace mspp
