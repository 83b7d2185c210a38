// Absorbing small pieces: every piece of fewer than min_size pixels joins the touching piece whose mean
// colour is nearest, the smallest piece first.
//
// In a fine pattern no neighbour has a similar colour, and the first pieces that join get a mixed colour,
// which is nearer to all others: they would absorb the pattern and whatever lies beside it. In a picture,
// pieces that are not alike are therefore compared by the mean colours around them.
//
// Sums of colours are integers, so they do not depend on the order of adding. Threads measure their stripes
// and list which parts touch; the order of joining is sequential, on parts instead of pixels.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernel/base/cell_rule.hpp"
#include "kernel/image/pieces.hpp"
#include "kernel/image/reduced.hpp"

namespace mspp {

// The regions that are left, numbered in the order of their first pixels.
struct Regions {
    std::vector<u32> of_part;
    std::vector<i64> sizes;
};

class Absorber {
  public:
    // IN colours (N, 3), pieces, of which the sets change; of a picture, the colours in Lab, and reduced.
    Absorber(const float* colours, const Stripes& stripes, Pieces& pieces,
             const ReducedImage* picture = nullptr)
        : stripes_(stripes),
          parts_(pieces.parts),
          first_part_(pieces.first),
          sets_(pieces.sets),
          picture_(picture) {
        sum_parts(colours);
        chain_parts();
    }

    Regions run(i64 min_size) {
        min_size_ = min_size;
        list_touching(min_size);
        if (picture_) find_boxes();
        std::vector<std::vector<u32>> of_size(static_cast<size_t>(std::max<i64>(min_size, 1)));
        for (u32 piece = 0; piece < sets_.size(); ++piece)
            if (sets_.find(piece) == piece && stats_[piece].size < min_size)
                of_size[stats_[piece].size].push_back(piece);
        for (i64 size = 1; size < min_size; ++size)
            for (size_t k = 0; k < of_size[size].size(); ++k) {
                const u32 piece = of_size[size][k];
                if (sets_.find(piece) != piece || stats_[piece].size != size) continue;
                const u32 joined = join_nearest(piece);
                if (stats_[joined].size > size && stats_[joined].size < min_size)
                    of_size[stats_[joined].size].push_back(joined);
            }
        return number_regions();
    }

  private:
    static constexpr double kAlike = 15 * 15;  // the squared distance of colours that are alike, in Lab
    static constexpr double kRadius = 2;       // around a piece, in pixels of an image of 481 x 321

    struct Stats {
        i64 size = 0;
        std::array<double, 3> mean{};
    };
    struct Box {  // [left, right) x [top, bottom)
        u32 left = UINT32_MAX, top = UINT32_MAX, right = 0, bottom = 0;
        void add(const Box& other) {
            left = std::min(left, other.left);
            top = std::min(top, other.top);
            right = std::max(right, other.right);
            bottom = std::max(bottom, other.bottom);
        }
    };
    struct Around {
        bool is_known = false;
        std::array<float, 3> mean{};
    };
    struct Touch {
        u32 part, other;
    };
    struct List {
        u32* begin;
        u32 size;
    };

    // A colour as an integer, in steps of 2^-24: exact for Lab of bytes. The addition rounds, because a
    // double in [2^28, 2^29) has an ulp of 2^-24.
    static i64 fixed(float colour) {
        return static_cast<i64>(bits_of(static_cast<double>(colour) + 0x1.8p28) - bits_of(0x1.8p28));
    }

    // A part lies in one stripe, so each thread has its own.
    void sum_parts(const float* colours) {
        struct Sums {
            i64 size = 0, colour[3] = {};
        };
        Array<Sums> parts(sets_.size(), Sums{});
        stripes_.each([&](int, const Range& rows) {
            each_of(rows, stripes_.shape().width, [&](i64 row) {
                parts_.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                    if (run.region == kNoRegion) return;
                    Sums sums = parts[run.region];
                    for (i64 p = begin; p < end; ++p)
                        for (int c = 0; c < 3; ++c) sums.colour[c] += fixed(colours[3 * p + c]);
                    sums.size += end - begin;
                    parts[run.region] = sums;
                });
            });
        });
        for (u32 part = 0; part < sets_.size(); ++part) {
            const u32 root = sets_.find(part);
            if (root == part) continue;
            parts[root].size += parts[part].size;
            for (int c = 0; c < 3; ++c) parts[root].colour[c] += parts[part].colour[c];
        }
        stats_.resize(sets_.size());
        for (u32 part = 0; part < sets_.size(); ++part) {
            stats_[part].size = parts[part].size;
            for (int c = 0; c < 3; ++c)
                stats_[part].mean[c] = static_cast<double>(parts[part].colour[c]) * 0x1p-24 /
                                       static_cast<double>(parts[part].size);
        }
    }

    // Finds the boxes of small pieces.
    void find_boxes() {
        boxes_.resize(sets_.size());
        around_.resize(sets_.size());
        stripes_.each([&](int, const Range& rows) {
            for (i64 row = rows.begin; row < rows.end; ++row)
                for (const Run* run = parts_.row(row); run->begin < stripes_.shape().width; ++run)
                    if (run->region != kNoRegion && is_small_[run->region]) {
                        const u32 y = static_cast<u32>(row);
                        boxes_[run->region].add({run[0].begin, y, run[1].begin, y + 1});
                    }
        });
        for (u32 part = 0; part < sets_.size(); ++part)
            if (is_small_[part] && sets_.find(part) != part) boxes_[sets_.find(part)].add(boxes_[part]);
    }

    // Chains the parts of each piece.
    void chain_parts() {
        seen_by_.assign(sets_.size(), 0);
        next_.assign(sets_.size(), kNoRegion);
        last_.resize(sets_.size());
        std::iota(last_.begin(), last_.end(), 0u);
        for (u32 part = 0; part < sets_.size(); ++part) {
            const u32 root = sets_.find(part);
            if (root == part) continue;
            next_[last_[root]] = part;
            last_[root] = part;
        }
    }

    // Lists the parts that touch each part of a small piece.
    void list_touching(i64 min_size) {
        is_small_.resize(sets_.size());
        for (u32 part = 0; part < sets_.size(); ++part)
            is_small_[part] = stats_[sets_.find(part)].size < min_size;
        lists_.resize(sets_.size());
        touching_.resize(static_cast<size_t>(stripes_.count()));
        stripes_.each([&](int t, const Range& rows) {
            list_stripe(collect_touches(rows), first_part_[t], first_part_[t + 1], touching_[t]);
        });
    }

    // Lists each part's neighbours without repetitions. IN touches of the parts [first, last).
    void list_stripe(const Array<Touch>& touches, u32 first, u32 last, Array<u32>& touching) {
        std::vector<size_t> end(size_t{last - first} + 1);
        for (const Touch& touch : touches) ++end[touch.part - first + 1];
        std::partial_sum(end.begin(), end.end(), end.begin());
        touching.resize(touches.size());
        for (u32 part = first; part < last; ++part) lists_[part] = {touching.data() + end[part - first], 0};
        for (const Touch& touch : touches) touching[end[touch.part - first]++] = touch.other;
        std::vector<u32> listed_by(sets_.size(), kNoRegion);
        for (u32 part = first; part < last; ++part) {
            List& list = lists_[part];
            for (const u32* other = list.begin; other < touching.data() + end[part - first]; ++other) {
                if (listed_by[*other] == part) continue;
                listed_by[*other] = part;
                list.begin[list.size++] = *other;
            }
        }
    }

    // Returns the pairs of touching parts of which the first is small and in these rows.
    Array<Touch> collect_touches(const Range& rows) const {
        Array<Touch> touches;
        const Shape& shape = stripes_.shape();
        auto add = [&](u32 part, u32 other) {
            if (part != other && part != kNoRegion && other != kNoRegion && is_small_[part])
                touches.push_back({part, other});
        };
        auto compare = [&](i64 row, i64 other, bool both) {
            each_overlap(parts_.row(row), parts_.row(other), {0, shape.width},
                         [&](const Run& a, const Run& b, i64, i64) {
                             add(a.region, b.region);
                             if (both) add(b.region, a.region);
                         });
        };
        each_of(rows, shape.width, [&](i64 row) {
            for (const Run* run = parts_.row(row); run[1].begin < shape.width; ++run) {
                add(run[0].region, run[1].region);
                add(run[1].region, run[0].region);
            }
            each_earlier_row(shape, row, [&](i64 other) { compare(row, other, other >= rows.begin); });
            each_later_row(shape, row, [&](i64 other) {
                if (other >= rows.end) compare(row, other, false);
            });
        });
        return touches;
    }

    template <class T>
    static double squared_distance(const std::array<T, 3>& a, const std::array<T, 3>& b) {
        double square = 0;
        for (int c = 0; c < 3; ++c) square += double{a[c] - b[c]} * double{a[c] - b[c]};
        return square;
    }

    // The mean colour around a small piece; of a large piece, its own.
    const std::array<float, 3>& mean_around(u32 piece) {
        Around& around = around_[piece];
        if (std::exchange(around.is_known, true)) return around.mean;
        for (int c = 0; c < 3; ++c) around.mean[c] = static_cast<float>(stats_[piece].mean[c]);
        if (stats_[piece].size < min_size_) set_mean(box_around(boxes_[piece]), around.mean);
        return around.mean;
    }

    // A box in the pixels of the picture, with a margin.
    Box box_around(const Box& box) const {
        const i64 factor = picture_->factor(), radius = picture_->scaled(kRadius);
        auto low = [&](u32 edge) { return static_cast<u32>(std::max<i64>(edge / factor - radius, 0)); };
        auto high = [&](u32 edge, i64 size) {
            return static_cast<u32>(std::min((edge - 1) / factor + 1 + radius, size));
        };
        return {low(box.left), low(box.top), high(box.right, picture_->width()),
                high(box.bottom, picture_->height())};
    }

    // OUT the mean colour of the picture in a box, unless all of it is masked.
    void set_mean(const Box& box, std::array<float, 3>& mean) {
        i64 count = 0, sums[3] = {};
        for (u32 y = box.top; y < box.bottom; ++y) {
            poll_(box.right - box.left);
            for (u32 x = box.left; x < box.right; ++x) {
                if (!picture_->inside(y, x)) continue;
                ++count;
                for (int c = 0; c < 3; ++c) sums[c] += fixed(picture_->at(y, x)[c]);
            }
        }
        if (count == 0) return;
        for (int c = 0; c < 3; ++c)
            mean[c] = static_cast<float>(static_cast<double>(sums[c]) * 0x1p-24 / static_cast<double>(count));
    }

    // The nearest of some pieces, the smallest number of equals.
    struct Nearest {
        u32 piece = kNoRegion;
        double away = HUGE_VAL;
        void add(u32 other, double other_away) {
            if (other_away > away || (other_away == away && other > piece)) return;
            piece = other;
            away = other_away;
        }
    };

    // The nearest touching piece; kNoRegion if none touches. Pieces that are not alike are farther than those
    // that are, so they are compared only if none is.
    u32 nearest_neighbour(u32 piece) {
        Nearest nearest;
        unlike_.clear();
        each_neighbour(piece, [&](u32 other) {
            const double away = squared_distance(stats_[piece].mean, stats_[other].mean);
            if (!picture_ || away <= kAlike)
                nearest.add(other, away);
            else
                unlike_.push_back(other);
        });
        if (nearest.piece != kNoRegion) return nearest.piece;
        for (const u32 other : unlike_)
            nearest.add(other, kAlike + squared_distance(mean_around(piece), mean_around(other)));
        return nearest.piece;
    }

    // Calls fn(other) for each piece that touches this one. Removes what the lists of the piece need not hold
    // again: parts of the piece itself, and repetitions.
    template <class Fn>
    void each_neighbour(u32 piece, Fn&& fn) {
        seen_by_[piece] = ++visit_;
        for (u32 part = piece; part != kNoRegion; part = next_[part]) {
            List& list = lists_[part];
            poll_(16 + i64{list.size});
            const u32 size = std::exchange(list.size, 0);
            for (u32 k = 0; k < size; ++k) {
                const u32 other = sets_.find(list.begin[k]);
                if (seen_by_[other] == visit_) continue;
                seen_by_[other] = visit_;
                list.begin[list.size++] = other;
                fn(other);
            }
        }
    }

    u32 join_nearest(u32 piece) {
        const u32 best = nearest_neighbour(piece);
        if (best == kNoRegion) return piece;  // masked pixels all around
        const u32 root = sets_.join(piece, best), absorbed = root == piece ? best : piece;
        const double share = static_cast<double>(stats_[absorbed].size) /
                             static_cast<double>(stats_[root].size + stats_[absorbed].size);
        for (int c = 0; c < 3; ++c)
            stats_[root].mean[c] += (stats_[absorbed].mean[c] - stats_[root].mean[c]) * share;
        stats_[root].size += stats_[absorbed].size;
        if (picture_) {
            boxes_[root].add(boxes_[absorbed]);
            around_[root].is_known = false;
        }
        next_[last_[root]] = absorbed;
        last_[root] = last_[absorbed];
        return root;
    }

    Regions number_regions() {
        u32 count;
        Regions regions{number_sets(sets_, count), {}};
        regions.sizes.resize(count);
        for (u32 part = 0; part < sets_.size(); ++part)
            if (sets_.find(part) == part) regions.sizes[regions.of_part[part]] = stats_[part].size;
        return regions;
    }

    const Stripes& stripes_;
    const RunImage& parts_;
    const std::vector<u32>& first_part_;  // per stripe
    DisjointSets& sets_;
    const ReducedImage* picture_;  // null if pieces are compared by their own colours alone
    i64 min_size_ = 0;
    std::vector<Box> boxes_;            // per small piece of a picture
    std::vector<Around> around_;        // per piece of a picture
    std::vector<Stats> stats_;          // per piece, at the place of its smallest part
    std::vector<u32> next_, last_;      // per part: the next of its piece; per piece: the last
    std::vector<char> is_small_;        // per part
    std::vector<List> lists_;           // per part of a small piece: the parts that it touches
    std::vector<Array<u32>> touching_;  // per stripe: the memory of its lists
    std::vector<u32> seen_by_;          // per piece: the last visit to a piece that it touches
    u32 visit_ = 0;
    std::vector<u32> unlike_;  // in nearest_neighbour: the pieces that are not alike
    Poller poll_;
};

}  // namespace mspp
