// The regions and borders of the learned stage: what people see of them, as sums that add up on merging.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "kernel/image/border_meter.hpp"
#include "kernel/image/region_graph.hpp"

namespace mspp {

struct LearnedRegion {
    Region stats;
    RegionCounts counts;
    std::array<float, RegionCounts::kSize> shares{};  // of the counts in their group: see update()
    double frame = 0;                                 // length of the border to the outside of the image
    double x = 0, y = 0;                              // sums of coordinates
    i64 left = std::numeric_limits<i64>::max(), top = left, right = 0, bottom = 0;  // the box around it
    double dissolved = 0, dissolved_strength = 0;  // length and strength of the borders within
    double costliest = 0;                          // of the merges within, as in MergeFeatures
    u32 node = 0;                                  // in the tree of merges

    double perimeter() const { return stats.border + frame; }

    // The border between both is not part of the sums: see dissolve().
    void add(const LearnedRegion& other) {
        stats.add(other.stats);
        counts.add(other.counts);
        frame += other.frame;
        x += other.x;
        y += other.y;
        left = std::min(left, other.left);
        top = std::min(top, other.top);
        right = std::max(right, other.right);
        bottom = std::max(bottom, other.bottom);
        dissolved += other.dissolved;
        dissolved_strength += other.dissolved_strength;
        costliest = std::max(costliest, other.costliest);
    }

    void update(const std::array<double, 4>& weight) {
        stats.update(weight);
        const float pixel = counts.pixels > 0 ? 1.0f / static_cast<float>(counts.pixels) : 0.0f;
        for (int k = 0; k < RegionCounts::kSize; ++k)
            shares[k] = static_cast<float>(counts.of[k]) * (k < RegionCounts::kFine ? pixel / 256 : pixel);
    }
};

struct LearnedBorder {
    u32 a, b;  // a < b; a is kNoRegion once the border is removed
    double length = 0, strength = 0, squared_strength = 0;
    std::array<double, kBorderChannels> steps{};
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;  // of the middles between touching pixels
    u32 version = 0;                              // of the latest candidate in the queue

    void add(const LearnedBorder& other) {
        length += other.length;
        strength += other.strength;
        squared_strength += other.squared_strength;
        for (int k = 0; k < kBorderChannels; ++k) steps[k] += other.steps[k];
        x += other.x;
        y += other.y;
        xx += other.xx;
        yy += other.yy;
        xy += other.xy;
    }
};

// Measures regions, each a set of pieces, from the graph that merged them.
class LearnedMeasurement {
  public:
    // IN the picture in Lab, of_piece: the region of each piece, below `count`.
    LearnedMeasurement(const ReducedImage& picture, const RunImage& pieces, const std::vector<u32>& of_piece,
                       u32 count, const Contrast& contrast, int n_threads)
        : pieces_(pieces), of_piece_(of_piece), contrast_(contrast), image_(picture), regions(count) {
        measure_shapes();
        collect_touches(Stripes::for_threads(pieces.shape(), n_threads));
        mark_borders();
        const int team = team_size(image_.height() * image_.width(), kPixelGrain, n_threads);
        if (image_.is_masked())
            measure_pixels<true>(team);
        else
            measure_pixels<false>(team);
    }

    double scale() const { return image_.scale(); }

    // Adds what lies along the borders. IN edge_between(a, b): the number of an edge in `borders`.
    template <class Fn>
    void add_borders(std::vector<LearnedBorder>& borders, Fn&& edge_between) const {
        u32 last_a = kNoRegion, last_b = kNoRegion;
        LearnedBorder* border = nullptr;
        each_border_pixel([&](const Touch& touch) {
            const u32 a = touch.a, b = touch.b;
            if (a != last_a || b != last_b) border = &borders[edge_between(last_a = a, last_b = b)];
            const BorderSteps& steps = steps_[slots_[touch.sample]];
            for (int k = 0; k < kBorderChannels; ++k) border->steps[k] += steps[k];
            const double z = 0.5 * touch.strength, x = 0.5 * touch.x, y = 0.5 * touch.y;
            border->squared_strength += z * z;
            border->x += x;
            border->y += y;
            border->xx += x * x;
            border->yy += y * y;
            border->xy += x * y;
        });
    }

  private:
    u32 region_of(const Run& run) const {
        return run.region == kNoRegion ? kNoRegion : of_piece_[run.region];
    }

    // Two touching pixels of different regions a < b.
    struct Touch {
        u32 a, b;
        u32 x, y;        // sums of both coordinates
        u32 sample;      // the reduced pixel that is measured for both: of two neighbours, the even one
        float strength;  // the sum of both
    };

    void collect_touches(const Stripes& stripes) {
        touches_.resize(static_cast<size_t>(stripes.count()));
        stripes.each([&](int t, const Range& rows) {
            i64 y = rows.begin;  // of p, which only rises
            each_touch(pieces_, rows, [&](u32 a, u32 b, i64 p, i64 q) {
                a = of_piece_[a];
                b = of_piece_[b];
                if (a == b) return;
                while (p >= (y + 1) * pieces_.shape().width) ++y;
                touches_[t].push_back(touch_of(std::min(a, b), std::max(a, b), p, q, y));
            });
        });
    }

    // IN y: the row of pixel p; q is to its left or above it.
    Touch touch_of(u32 a, u32 b, i64 p, i64 q, i64 y) const {
        const u32 factor = static_cast<u32>(image_.factor()), width = static_cast<u32>(image_.width());
        const u32 py = static_cast<u32>(y), px = static_cast<u32>(p - y * pieces_.shape().width);
        const bool is_left = q == p - 1;
        const u32 qx = px - is_left, qy = py - !is_left;
        u32 row = py / factor, column = px / factor;
        if ((row + column) % 2 == 1) {
            row = qy / factor;
            column = qx / factor;
        }
        return {a, b, px + qx, py + qy, row * width + column, contrast_.edge[p] + contrast_.edge[q]};
    }

    // Calls fn(touch) in the order of the image.
    template <class Fn>
    void each_border_pixel(Fn&& fn) const {
        for (const auto& stripe : touches_)
            for (const Touch& touch : stripe) fn(touch);
    }

    // Boxes, sums of coordinates, and the length of the border to the outside.
    void measure_shapes() {
        const Shape& shape = pieces_.shape();
        for (i64 y = 0; y < shape.height; ++y) {
            u32 before = kNoRegion;
            pieces_.each_run(y, [&](const Run& run, i64 begin, i64 end) {
                const u32 number = region_of(run);
                const double n = static_cast<double>(end - begin);
                if (number != kNoRegion) {
                    LearnedRegion& region = regions[number];
                    const i64 left = run.begin, right = left + end - begin;
                    region.left = std::min(region.left, left);
                    region.right = std::max(region.right, right);
                    region.top = std::min(region.top, y);
                    region.bottom = y + 1;
                    region.x += 0.5 * n * static_cast<double>(left + right - 1);
                    region.y += n * static_cast<double>(y);
                    region.frame += before == kNoRegion;
                    region.frame += right == shape.width;
                    if (y == 0) region.frame += n;
                    if (y == shape.height - 1) region.frame += n;
                } else if (before != kNoRegion) {
                    regions[before].frame += 1;
                }
                before = number;
            });
            if (y > 0) add_masked_below(y);
        }
    }

    // The borders between a row and the row above where one of them is masked.
    void add_masked_below(i64 y) {
        each_overlap(pieces_.row(y - 1), pieces_.row(y), {0, pieces_.shape().width},
                     [&](const Run& above, const Run& below, i64 begin, i64 end) {
                         if ((above.region == kNoRegion) == (below.region == kNoRegion)) return;
                         const u32 number = region_of(above.region == kNoRegion ? below : above);
                         regions[number].frame += static_cast<double>(end - begin);
                     });
    }

    // Numbers the reduced pixels that lie at a border, row by row.
    void mark_borders() {
        slots_.assign(static_cast<size_t>(image_.height() * image_.width()), 0);
        each_border_pixel([&](const Touch& touch) { slots_[touch.sample] = 1; });
        u32 count = 0;
        for (u32& slot : slots_) slot = slot ? count++ : kNoRegion;
        steps_.resize(count);
    }

    template <bool MASKED>
    void measure_pixels(int team) {
        std::vector<std::vector<RegionCounts>> counts(static_cast<size_t>(team));
        parallel(team, [&](int t) {
            const Range rows = part(image_.height(), t, team);
            counts[t].resize(regions.size());
            BorderMeter<MASKED> meter(image_);
            meter.start(rows.begin);
            for (i64 y = rows.begin; y < rows.end; ++y) {
                poll();
                meter.select(y);
                const u32* places = &slots_[y * image_.width()];
                for (i64 x = 0; x < image_.width(); ++x)
                    if (places[x] != kNoRegion) steps_[places[x]] = meter.steps(x);
                if (y % 2 == 0) count_row(meter, y, counts[t]);
            }
        });
        for (const auto& list : counts)
            for (size_t k = 0; k < regions.size(); ++k) regions[k].counts.add(list[k]);
    }

    template <class Meter>
    void count_row(const Meter& meter, i64 y, std::vector<RegionCounts>& counts) const {
        const Run* run = pieces_.row(image_.middle_row(y));
        for (i64 x = 0; x < image_.width(); x += 2) {
            while (run[1].begin <= image_.middle_column(x)) ++run;
            if (run->region != kNoRegion) meter.count(y, x, counts[of_piece_[run->region]]);
        }
    }

    const RunImage& pieces_;
    const std::vector<u32>& of_piece_;
    const Contrast& contrast_;
    const ReducedImage& image_;
    std::vector<Array<Touch>> touches_;  // per stripe
    Array<u32> slots_;                   // per reduced pixel: its place in steps_
    Array<BorderSteps> steps_;           // of the reduced pixels at a border

  public:
    std::vector<LearnedRegion> regions;  // without their stats
};

}  // namespace mspp
