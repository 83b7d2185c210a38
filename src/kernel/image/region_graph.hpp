// The graph of adjacent regions: the pair with the cheapest border merges first.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <vector>

#include "kernel/base/disjoint_sets.hpp"
#include "kernel/image/contrast.hpp"

namespace mspp {

// The statistics of a region: sums and squared sums of three colours and the texture over its n pixels.
struct Region {
    double n = 0, border = 0;
    std::array<double, 4> sum{}, square{};
    std::array<double, 4> mean{};  // mean and variance follow from the sums: see update()
    double variance = 0;

    void add(const Region& other) {
        n += other.n;
        for (int k = 0; k < 4; ++k) {
            sum[k] += other.sum[k];
            square[k] += other.square[k];
        }
    }
    void update(const std::array<double, 4>& weight) {
        variance = 0;
        for (int k = 0; k < 4; ++k) {
            mean[k] = sum[k] / n;
            variance += weight[k] * std::max(0.0, square[k] / n - mean[k] * mean[k]);
        }
    }
};

struct Merge {
    u32 kept, removed;
    double cost;
};

// Calls fn(a, b, p, q) for touching pixels p and q of different regions a and b, of which the later pixel p
// is in these rows: in the order of the later, first to the left, then above, then in the slice before.
template <class Fn>
void each_touch(const RunImage& regions, const Range& rows, Fn&& fn) {
    const i64 width = regions.shape().width;
    auto emit = [&](u32 a, u32 b, i64 p, i64 q) {
        if (a != b && a != kNoRegion && b != kNoRegion) fn(a, b, p, q);
    };
    Poller poll;
    for (i64 row = rows.begin; row < rows.end; ++row) {
        poll(width);
        const Run *here = regions.row(row), *before[2];
        i64 steps[2], n = 0;
        each_earlier_row(regions.shape(), row, [&](i64 other) {
            before[n] = regions.row(other);
            steps[n++] = (row - other) * width;
        });
        for (i64 begin = 0, end; begin < width; begin = end) {
            const i64 p = row * width + begin;
            bool differs = false;
            end = here[1].begin;
            for (i64 k = 0; k < n; ++k) {
                differs |= before[k]->region != here->region;
                end = std::min<i64>(end, before[k][1].begin);
            }
            if (begin == here->begin && begin > 0) emit(here->region, here[-1].region, p, p - 1);
            for (i64 i = 0; i < end - begin && differs; ++i)
                for (i64 k = 0; k < n; ++k) emit(here->region, before[k]->region, p + i, p + i - steps[k]);
            here += here[1].begin == end;
            for (i64 k = 0; k < n; ++k) before[k] += before[k][1].begin == end;
        }
    }
}

class RegionGraph {
  public:
    // IN colours (N, 3), regions numbered below `count`, the weights of the three colours.
    RegionGraph(const float* colours, const RunImage& regions, u32 count, const Contrast& contrast,
                const Stripes& stripes, const std::array<double, 3>& weight)
        : weight_{weight[0], weight[1], weight[2], 16.0},
          regions_(count),
          edges_of_(count),
          is_removed_(count) {
        measure(colours, regions, contrast, stripes);
        for (const Edge& edge : edges_) {
            regions_[edge.a].border += edge.length;
            regions_[edge.b].border += edge.length;
        }
        for (Region& region : regions_) {
            image_.add(region);
            region.update(weight_);
        }
    }

    // The standard deviation of the image's colours: the scale of its contrasts.
    double spread() {
        image_.update({weight_[0], weight_[1], weight_[2], 0});
        return std::sqrt(image_.variance);
    }

    const std::array<double, 4>& weight() const { return weight_; }

    // Calls fn(number, region) for the regions that are left.
    template <class Fn>
    void each_region(Fn&& fn) const {
        for (u32 k = 0; k < regions_.size(); ++k)
            if (!is_removed_[k]) fn(k, regions_[k]);
    }

    // Calls fn(a, b, length, strength) for the borders that are left.
    template <class Fn>
    void each_edge(Fn&& fn) const {
        for (const Edge& edge : edges_)
            if (edge.a != kNoRegion) fn(edge.a, edge.b, edge.length, edge.strength);
    }

    // The number of regions that are left if all merge that can: one, unless masked pixels separate them.
    u32 count_separate() const {
        DisjointSets sets(regions_.size());
        for (const Edge& edge : edges_) sets.join(edge.a, edge.b);
        u32 count = 0;
        for (u32 k = 0; k < sets.size(); ++k) count += sets.find(k) == k;
        return count;
    }

    // Merges until the cheapest border costs more than `limit` and no more than `most` regions are left, or
    // until `count` regions are left.
    std::vector<Merge> run(double limit, size_t count = 0, size_t most = SIZE_MAX) {
        for (u32 e = 0; e < edges_.size(); ++e) push(e);
        std::vector<Merge> merges;
        while (!queue_.empty() && regions_.size() - merges.size() > count) {
            const Candidate candidate = queue_.top();
            queue_.pop();
            const Edge& edge = edges_[candidate.edge];
            if (edge.a == kNoRegion || candidate.version != edge.version) continue;
            if (candidate.cost > limit && regions_.size() - merges.size() <= most) break;
            merges.push_back({edge.a, edge.b, candidate.cost});
            merge(edge.a, edge.b);
        }
        return merges;
    }

    // Repeats the merges of another graph of the same regions.
    void repeat(const std::vector<Merge>& merges) {
        for (const Merge& each : merges) merge(each.kept, each.removed);
    }

  private:
    struct RunSums {
        u32 region;
        Region sums;
    };
    struct Border {
        u32 a, b;
        float strength;  // the sum of both sides
    };
    struct Edge {
        u32 a, b;  // a < b; a is kNoRegion once the edge is removed
        double length, strength;
        u32 version;  // of the latest candidate in the queue; earlier ones are void
    };
    struct Candidate {
        double cost;
        u32 edge, version;
        // The top of the queue is the cheapest candidate, and of equals the one of the first edge.
        bool operator<(const Candidate& other) const {
            return cost != other.cost ? cost > other.cost : edge > other.edge;
        }
    };

    // Sums of floating-point numbers depend on the order of adding. The first stripe adds at once; the others
    // list their runs and borders, which are added in the order of the image.
    void measure(const float* colours, const RunImage& regions, const Contrast& contrast,
                 const Stripes& stripes) {
        std::vector<std::vector<RunSums>> runs(static_cast<size_t>(stripes.count()));
        std::vector<std::vector<Border>> borders(runs.size());
        auto add_run = [&](const RunSums& run) { regions_[run.region].add(run.sums); };
        auto add_border = [&](const Border& border) { this->add_border(border); };
        auto each_border = [&](const Range& rows, auto&& fn) {
            each_touch(regions, rows, [&](u32 a, u32 b, i64 p, i64 q) {
                fn(Border{std::min(a, b), std::max(a, b), contrast.edge[p] + contrast.edge[q]});
            });
        };
        stripes.each([&](int t, const Range& rows) {
            if (t == 0) {
                each_summed_run(colours, regions, contrast, rows, add_run);
                each_border(rows, add_border);
            } else {
                each_summed_run(colours, regions, contrast, rows,
                                [&](const RunSums& run) { runs[t].push_back(run); });
                each_border(rows, [&](const Border& border) { borders[t].push_back(border); });
            }
        });
        for (auto& list : runs) std::for_each(list.begin(), list.end(), add_run);
        for (auto& list : borders) std::for_each(list.begin(), list.end(), add_border);
    }

    // Calls fn(run) with the sums of the runs that begin in these rows. A run that goes on in the next row is
    // one run.
    template <class Fn>
    static void each_summed_run(const float* colours, const RunImage& regions, const Contrast& contrast,
                                const Range& rows, Fn&& fn) {
        const Shape& shape = regions.shape();
        const u32 before =
            rows.begin > 0 ? regions.run_at(rows.begin - 1, shape.width - 1)->region : kNoRegion;
        RunSums sums{before, {}};
        bool begun = false;  // in these rows
        Poller poll;
        for (i64 row = rows.begin; row < (begun ? shape.rows() : rows.end); ++row) {
            poll(shape.width);
            regions.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                if (run.region != sums.region) {
                    if (begun) fn(sums);
                    sums = {run.region, {}};
                    begun = run.region != kNoRegion && row < rows.end;
                }
                if (begun) add_pixels(colours, contrast, begin, end, sums.sums);
            });
        }
        if (begun) fn(sums);
    }

    static void add_pixels(const float* colours, const Contrast& contrast, i64 begin, i64 end, Region& sums) {
        Region run = sums;
        run.n += static_cast<double>(end - begin);
        for (i64 p = begin; p < end; ++p) {
            const double value[4] = {colours[3 * p], colours[3 * p + 1], colours[3 * p + 2],
                                     contrast.texture[p]};
            for (int k = 0; k < 4; ++k) {
                run.sum[k] += value[k];
                run.square[k] += value[k] * value[k];
            }
        }
        sums = run;
    }

    // Adds one pair of touching pixels to the edge between two regions.
    void add_border(const Border& border) {
        const auto& [a, b, strength] = border;
        poll_();
        if (edges_.empty() || edges_[last_].a != a || edges_[last_].b != b) last_ = edge_between(a, b);
        edges_[last_].length += 1;
        edges_[last_].strength += 0.5 * strength;
    }

    u32 edge_between(u32 a, u32 b) {
        const u32 fewer = edges_of_[a].size() < edges_of_[b].size() ? a : b;
        for (u32 e : edges_of_[fewer])
            if (edges_[e].a == a && edges_[e].b == b) return e;
        edges_.push_back({a, b, 0, 0, 0});
        const u32 e = static_cast<u32>(edges_.size() - 1);
        edges_of_[a].push_back(e);
        edges_of_[b].push_back(e);
        return e;
    }

    double cost(const Edge& edge) const {
        const Region &a = regions_[edge.a], &b = regions_[edge.b];
        double distance = 0;
        for (int k = 0; k < 4; ++k) {
            const double delta = a.mean[k] - b.mean[k];
            distance += weight_[k] * delta * delta;
        }
        distance /= 1 + (a.variance + b.variance) / 220;
        const double size = 1000 * (a.n * b.n / (a.n + b.n)) / image_.n;
        const double shared = edge.length / std::min(a.border, b.border) + 0.02;
        return std::sqrt(size * distance) * (edge.strength / edge.length) * std::pow(shared, -0.2);
    }

    void push(u32 e) {
        poll_(32);
        queue_.push({cost(edges_[e]), e, ++edges_[e].version});
    }

    // Region b becomes part of a; the borders that both had with a third region become one.
    void merge(u32 a, u32 b) {
        regions_[a].add(regions_[b]);
        regions_[a].update(weight_);
        edge_to_.resize(regions_.size(), kNoRegion);
        std::vector<u32> edges;
        double shared = 0;
        poll_(64 * static_cast<i64>(edges_of_[a].size() + edges_of_[b].size() + 1));
        for (const u32 side : {a, b})
            for (const u32 e : edges_of_[side]) {
                Edge& edge = edges_[e];
                if (edge.a == kNoRegion) continue;
                const u32 other = edge.a == side ? edge.b : edge.a;
                if (other == b) {  // seen in a's list only: the edge is removed here
                    shared = edge.length;
                    edge.a = kNoRegion;
                } else if (edge_to_[other] == kNoRegion) {
                    edge_to_[other] = e;
                    edge.a = std::min(a, other);
                    edge.b = std::max(a, other);
                    edges.push_back(e);
                } else {
                    edges_[edge_to_[other]].length += edge.length;
                    edges_[edge_to_[other]].strength += edge.strength;
                    edge.a = kNoRegion;
                }
            }
        regions_[a].border += regions_[b].border - 2 * shared;
        is_removed_[b] = 1;
        edges_of_[b].clear();
        edges_of_[a] = std::move(edges);
        for (const u32 e : edges_of_[a]) {
            edge_to_[edges_[e].a == a ? edges_[e].b : edges_[e].a] = kNoRegion;
            push(e);
        }
    }

    std::array<double, 4> weight_;
    std::vector<Region> regions_;
    Region image_;  // all regions together
    std::vector<Edge> edges_;
    std::vector<std::vector<u32>> edges_of_;
    std::vector<char> is_removed_;
    std::vector<u32> edge_to_;  // during merge: the edge from the merged region to each other one
    u32 last_ = 0;              // the edge that add_border last used
    Poller poll_;
    std::priority_queue<Candidate> queue_;
};

}  // namespace mspp
