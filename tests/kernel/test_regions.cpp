// image/region_graph against a slow version that measures all regions again after each merge, with ==;
// the laws of image/hierarchy.
#include <map>
#include <random>
#include <set>

#include "check.hpp"
#include "kernel/image/hierarchy.hpp"
#include "laws.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;

namespace {

// An image of whole numbers, whose sums are exact in every order.
struct Image {
    Shape shape;
    std::vector<float> colours;
    std::vector<i32> clusters;
    Contrast contrast;
};

Image make_image(unsigned seed, const Shape& shape, unsigned levels) {
    std::mt19937 random(seed);
    Image image{shape, {}, {}, {}};
    for (i64 p = 0; p < shape.size(); ++p) {
        image.clusters.push_back(static_cast<i32>(random() % 3) - (seed % 2 ? 1 : 0));
        for (int c = 0; c < 3; ++c) image.colours.push_back(static_cast<float>(8 * (random() % levels)));
        image.contrast.texture.push_back(static_cast<float>(random() % levels));
        image.contrast.edge.push_back(static_cast<float>(1 + random() % levels));
    }
    return image;
}

struct SlowGraph {
    const Image& image;
    std::vector<u32> region;                    // per pixel
    std::map<std::pair<u32, u32>, u32> number;  // of each pair of touching regions

    // Calls fn(p, q) for touching pixels: q to the left of p, above it, in the slice before it.
    template <class Fn>
    void each_pair(Fn&& fn) const {
        const Shape& shape = image.shape;
        for (i64 p = 0; p < shape.size(); ++p) {
            if (p % shape.width > 0) fn(p, p - 1);
            if (p / shape.width % shape.height > 0) fn(p, p - shape.width);
            if (p >= shape.slice()) fn(p, p - shape.slice());
        }
    }
    template <class Fn>
    void each_border(Fn&& fn) const {
        each_pair([&](i64 p, i64 q) {
            const u32 a = region[p], b = region[q];
            if (a != b && a != kNoRegion && b != kNoRegion) fn(std::min(a, b), std::max(a, b), p, q);
        });
    }

    Region measure(u32 a, const std::array<double, 4>& weight) const {
        Region result;
        for (i64 p = 0; p < image.shape.size(); ++p) {
            if (region[p] != a) continue;
            result.n += 1;
            for (int k = 0; k < 4; ++k) {
                const double value = k < 3 ? image.colours[3 * p + k] : image.contrast.texture[p];
                result.sum[k] += value;
                result.square[k] += value * value;
            }
        }
        each_border([&](u32 b, u32 c, i64, i64) { result.border += a == b || a == c; });
        for (size_t k = 0; k < 4; ++k) {
            const double mean = result.sum[k] / result.n;
            result.mean[k] = mean;
            result.variance += weight[k] * std::max(0.0, result.square[k] / result.n - mean * mean);
        }
        return result;
    }

    double cost(u32 a, u32 b, double all, const std::array<double, 4>& weight) const {
        const Region one = measure(a, weight), other = measure(b, weight);
        double length = 0, strength = 0, distance = 0;
        each_border([&](u32 c, u32 d, i64 p, i64 q) {
            if (c != a || d != b) return;
            length += 1;
            strength += 0.5 * (image.contrast.edge[p] + image.contrast.edge[q]);
        });
        for (int k = 0; k < 4; ++k)
            distance += weight[k] * (one.mean[k] - other.mean[k]) * (one.mean[k] - other.mean[k]);
        distance /= 1 + (one.variance + other.variance) / 220;
        const double size = 1000 * (one.n * other.n / (one.n + other.n)) / all;
        const double shared = length / std::min(one.border, other.border) + 0.02;
        return std::sqrt(size * distance) * (strength / length) * std::pow(shared, -0.2);
    }

    // The cheapest pair merges, of equals the first; both borders with a third region become the first's.
    std::vector<Merge> run(const std::array<double, 4>& weight) {
        std::vector<Merge> merges;
        double all = 0;
        for (const u32 a : region) all += a != kNoRegion;
        each_border([&](u32 a, u32 b, i64, i64) { number.try_emplace({a, b}, number.size()); });
        while (!number.empty()) {
            Merge best{0, 0, INFINITY};
            u32 first = 0;
            for (const auto& [pair, k] : number) {
                const double c = cost(pair.first, pair.second, all, weight);
                if (c > best.cost || (c == best.cost && k > first)) continue;
                best = {pair.first, pair.second, c};
                first = k;
            }
            merges.push_back(best);
            merge(best.kept, best.removed);
        }
        return merges;
    }

    void merge(u32 a, u32 b) {
        std::replace(region.begin(), region.end(), b, a);
        std::map<std::pair<u32, u32>, u32> next;
        for (const u32 side : {kNoRegion, a, b})  // those of other regions, of a, of b
            for (const auto& [pair, k] : number) {
                const auto [c, d] = pair;
                const bool of_a = c == a || d == a, of_b = c == b || d == b;
                if ((of_a && of_b) || side != (of_a ? a : of_b ? b : kNoRegion)) continue;
                const u32 e = c == b ? a : c, f = d == b ? a : d;
                next.try_emplace({std::min(e, f), std::max(e, f)}, k);
            }
        number = std::move(next);
    }
};

}  // namespace

TEST(regions_merge_in_the_order_of_their_costs) {
    const std::array<double, 3> weight{1, 0.5, 0.25};
    for (const Shape& shape : {Shape{1, 5, 7}, Shape{1, 1, 12}, Shape{1, 8, 2}, Shape{2, 3, 4}})
        for (unsigned seed = 0; seed < 12; ++seed)
            for (const unsigned levels : {2u, 5u})  // with two, many costs are equal
                for (const int count : {1, 2}) {
                    const Image image = make_image(seed, shape, levels);
                    const Stripes stripes(shape, std::min<int>(count, static_cast<int>(shape.rows())));
                    Pieces pieces = connected_pieces(image.clusters.data(), stripes);
                    u32 n;
                    const std::vector<u32> numbers = number_sets(pieces.sets, n);
                    for (int t = 0; t < stripes.count(); ++t) pieces.parts.renumber(stripes.rows(t), numbers);
                    SlowGraph slow{image, std::vector<u32>(image.clusters.size(), kNoRegion), {}};
                    for (i64 row = 0; row < shape.rows(); ++row)
                        pieces.parts.each_run(row, [&](const Run& run, i64 begin, i64 end) {
                            std::fill(&slow.region[0] + begin, &slow.region[0] + end, run.region);
                        });
                    RegionGraph graph(image.colours.data(), pieces.parts, n, image.contrast, stripes, weight);
                    const std::vector<Merge> merges = graph.run(INFINITY);
                    const std::vector<Merge> expected = slow.run({weight[0], weight[1], weight[2], 16.0});
                    CHECK(merges.size() == expected.size());
                    for (size_t k = 0; k < merges.size(); ++k) {
                        const std::string note =
                            "seed " + std::to_string(seed) + ", merge " + std::to_string(k);
                        CHECK_NOTE(merges[k].cost == expected[k].cost, note);
                        CHECK_NOTE(merges[k].kept == expected[k].kept, note);
                        CHECK_NOTE(merges[k].removed == expected[k].removed, note);
                    }
                }
}

namespace {

// The region of each pixel after absorbing the small pieces of an image.
std::vector<u32> absorbed(const std::vector<i32>& clusters, const std::vector<float>& greys, i64 min_size,
                          i64 height = 1) {
    const Shape shape{1, height, static_cast<i64>(clusters.size()) / height};
    const Stripes stripes(shape, 1);
    std::vector<float> colours;
    for (const float grey : greys) colours.insert(colours.end(), 3, grey);
    Pieces pieces = connected_pieces(clusters.data(), stripes);
    const Regions regions = Absorber(colours.data(), stripes, pieces).run(min_size);
    std::vector<u32> result;
    for (i64 row = 0; row < height; ++row)
        pieces.parts.each_run(row, [&](const Run& run, i64 begin, i64 end) {
            result.insert(result.end(), static_cast<size_t>(end - begin), regions.of_part[run.region]);
        });
    return result;
}

}  // namespace

TEST(a_piece_joins_the_first_of_equally_near_pieces) {
    CHECK((absorbed({0, 0, 1, 2, 2}, {0, 0, 8, 16, 16}, 2) == std::vector<u32>{0, 0, 0, 1, 1}));
    CHECK((absorbed({0, 0, 1, 2, 2}, {0, 0, 9, 16, 16}, 2) == std::vector<u32>{0, 0, 1, 1, 1}));
    // The piece on the right is listed before the one above, which is the first of the image.
    CHECK((absorbed({0, 0, 0, 1, 2, 2}, {0, 0, 0, 8, 16, 16}, 2, 2) == std::vector<u32>{0, 0, 0, 0, 1, 1}));
}

TEST(of_equal_pieces_the_first_is_absorbed_first) {
    // The first small piece is nearest to the second, which alone would join the last.
    CHECK((absorbed({0, 0, 1, 2, 3, 3}, {0, 0, 7, 12, 16, 16}, 2) == std::vector<u32>{0, 0, 1, 1, 2, 2}));
}

TEST(a_piece_without_measured_pixels_around_has_its_own_colour) {
    const Shape shape{1, 4 * 321, 4 * 481};  // reduced to a quarter, every other row is skipped
    const Stripes stripes(shape, 1);
    for (const float grey : {80.0f, 100.0f}) {
        std::vector<i32> clusters(static_cast<size_t>(shape.size()), -1);
        std::vector<float> lab(3 * clusters.size());
        for (i64 k = 0; k < 8; ++k) {  // the first and last three pixels, and two between, in a skipped row
            clusters[shape.width + k] = k < 3 ? 0 : k < 5 ? 1 : 2;
            lab[3 * (shape.width + k)] = k < 3 ? 0 : k < 5 ? grey : 180;
        }
        Pieces pieces = connected_pieces(clusters.data(), stripes);
        const ReducedImage picture(lab.data(), pieces.parts, 1);
        CHECK(picture.factor() == 4);
        const Regions regions = Absorber(lab.data(), stripes, pieces, &picture).run(3);
        CHECK((regions.of_part == std::vector<u32>{0, grey < 90 ? 0u : 1u, 1}));
    }
}

TEST(a_volume_has_no_learned_stage) {
    const std::vector<uint8_t> features(kTreeDepth);
    const std::vector<float> thresholds(kTreeDepth);
    const std::vector<int16_t> values(kTreeLeaves, 1000);
    const MergeTable table(1, features.data(), thresholds.data(), values.data(), 0);
    const Image image = make_image(4, {2, 64, 64}, 5);
    std::vector<i32> plain(image.clusters.size()), labels(plain);
    for (const Learned& learned : {Learned{}, Learned{&table, image.colours.data(), nullptr}}) {
        const Hierarchy hierarchy(image.colours.data(), image.clusters.data(), image.shape, {1, 1, 1}, 9,
                                  HUGE_VAL, learned, 1);
        hierarchy.cut(image.colours.data(), 7, 1, learned.table ? labels.data() : plain.data(), 1);
    }
    CHECK(labels == plain);
}

namespace {

// A table without knowledge, which scores all borders alike.
const MergeTable& blank_table() {
    static const std::vector<uint8_t> features(kTreeDepth);
    static const std::vector<float> thresholds(kTreeDepth);
    static const std::vector<int16_t> values(kTreeLeaves);
    static const MergeTable table(1, features.data(), thresholds.data(), values.data(), 0);
    return table;
}

// The number of regions at which the learned stage of a picture begins; 0 if it has none.
size_t learned_regions(const Shape& shape, const std::vector<i32>& clusters, const std::vector<float>& lab) {
    MergeTrace trace;
    const Hierarchy hierarchy(lab.data(), clusters.data(), shape, {0.5, 1, 1}, 1, HUGE_VAL,
                              {&blank_table(), lab.data(), &trace}, 1);
    std::set<u32> regions(trace.region_of_pixels.begin(), trace.region_of_pixels.end());
    regions.erase(kNoRegion);
    return regions.size();
}

}  // namespace

TEST(borders_are_measured_in_lab_whatever_the_colours_of_the_regions) {
    const Shape shape{1, 64, 80};
    std::mt19937 random(8);
    std::vector<i32> clusters;
    std::vector<float> lab, colours;
    for (i64 p = 0; p < shape.size(); ++p) {
        clusters.push_back(static_cast<i32>(p / shape.width / 32 * 3 + p % shape.width / 27));
        for (int c = 0; c < 3; ++c) {
            lab.push_back(static_cast<float>(20 * clusters.back() + static_cast<i32>(random() % 9)));
            colours.push_back(static_cast<float>(random() % 100));
        }
    }
    MergeTrace traces[2];
    for (const bool in_lab : {false, true}) {
        const Hierarchy hierarchy(in_lab ? lab.data() : colours.data(), clusters.data(), shape, {0.5, 1, 1},
                                  1, HUGE_VAL, {&blank_table(), lab.data(), &traces[in_lab]}, 1);
    }
    CHECK(!traces[0].features.empty() && traces[0].features == traces[1].features);
}

TEST(three_regions_that_touch_are_enough_for_the_learned_stage) {
    const Shape shape{1, 64, 80};
    for (const bool separate : {false, true})  // by a masked column
        for (const i32 count : {2, 3, 4}) {
            std::vector<i32> clusters;
            std::vector<float> lab;
            for (i64 p = 0; p < shape.size(); ++p) {
                const i64 x = p % shape.width;
                clusters.push_back(separate && x == 0   ? 0
                                   : separate && x == 1 ? -1
                                                        : static_cast<i32>(x) * count / 80);
                lab.insert(lab.end(), {static_cast<float>(20 * clusters.back()), 0, 0});
            }
            const i32 all = count + separate;
            CHECK(learned_regions(shape, clusters, lab) == (count < 3 ? 0 : static_cast<size_t>(all)));
        }
}

TEST(the_learned_stage_begins_with_more_regions_if_their_borders_are_clear) {
    const Shape shape{1, 128, 128};
    for (const bool separate : {false, true})
        for (const bool clear : {false, true}) {
            std::vector<i32> clusters(static_cast<size_t>(shape.size()));
            std::vector<float> lab(3 * clusters.size());
            for (i64 p = 0; p < shape.size(); ++p) {  // 1,024 squares
                const i64 square = p / shape.width / 4 * 32 + p % shape.width / 4;
                std::mt19937 of_square(static_cast<unsigned>(square));
                clusters[p] = separate && p % shape.width / 4 == 16 ? -1 : static_cast<i32>(square);
                for (int c = 0; c < 3; ++c)
                    lab[3 * p + c] = static_cast<float>(of_square() % (clear ? 90 : 6));
            }
            CHECK(learned_regions(shape, clusters, lab) == (clear ? 600u : 200u) + separate);
        }
}

TEST(a_level_is_a_multiple_of_the_cost_that_the_spread_of_the_colours_sets) {
    const std::array<double, 3> weight{0.5, 1, 1};
    for (unsigned seed = 0; seed < 4; ++seed) {
        const Image image = make_image(seed, {1, 20, 30}, 9);
        const Stripes stripes(image.shape, 1);
        Pieces pieces = connected_pieces(image.clusters.data(), stripes);
        u32 n;
        const std::vector<u32> numbers = number_sets(pieces.sets, n);
        pieces.parts.renumber(stripes.rows(0), numbers);
        const Contrast contrast = measure_contrast(image.colours.data(), pieces.parts, 1);
        RegionGraph graph(image.colours.data(), pieces.parts, n, contrast, stripes, weight);
        std::array<double, 3> sum{}, square{};
        double pixels = 0, variance = 0;
        for (i64 p = 0; p < image.shape.size(); ++p) {
            if (image.clusters[p] < 0) continue;
            ++pixels;
            for (size_t c = 0; c < 3; ++c) {
                const double value = image.colours[3 * p + c];
                sum[c] += value, square[c] += value * value;
            }
        }
        for (size_t c = 0; c < 3; ++c)
            variance += weight[c] * (square[c] / pixels - sum[c] / pixels * (sum[c] / pixels));
        const double unit = 854 * std::pow(std::sqrt(variance) / 15, 0.7);
        const Hierarchy hierarchy(image.colours.data(), image.clusters.data(), image.shape, weight, 1,
                                  HUGE_VAL, {}, 1);
        i64 left = n;
        double highest = 0;  // a level includes the merges before the first that costs more
        for (const Merge& merge : graph.run(HUGE_VAL)) {
            if (merge.cost > highest) {
                CHECK(hierarchy.count(merge.cost / unit * (1 - 1e-9)) == left);
                highest = merge.cost;
            }
            --left;
            CHECK(hierarchy.count(highest / unit * (1 + 1e-9)) <= left);
        }
        CHECK(hierarchy.count(HUGE_VAL) == left);
    }
}

TEST(borders_that_cost_nothing_are_merged_at_level_0) {
    const Shape shape{1, 2, 6};
    const std::vector<i32> clusters{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2};
    const std::vector<float> colours(36, 7.0f);
    for (const double limit : {0.0, 1.0}) {
        const Hierarchy hierarchy(colours.data(), clusters.data(), shape, {1, 1, 1}, 1, limit, {}, 1);
        CHECK(hierarchy.count(0) == 1);
    }
}

TEST(regions_of_equal_size_are_labelled_in_order) {
    const Shape shape{1, 1, 8};
    const std::vector<i32> clusters{5, 5, 3, 3, 3, 4, 4, 9};
    std::vector<float> colours;
    for (const i32 cluster : clusters) colours.insert(colours.end(), 3, static_cast<float>(10 * cluster));
    std::vector<i32> labels(clusters.size());
    const Hierarchy hierarchy(colours.data(), clusters.data(), shape, {1, 1, 1}, 1, -1.0, {}, 1);
    hierarchy.cut(colours.data(), hierarchy.count(-1.0), 1, labels.data(), 1);
    CHECK((labels == std::vector<i32>{1, 1, 0, 0, 0, 2, 2, 3}));
}

TEST(borders_of_equal_learned_cost_merge_in_their_order) {
    const Shape shape{1, 64, 80};
    std::vector<i32> clusters;
    std::vector<float> lab;
    for (i64 p = 0; p < shape.size(); ++p) {
        clusters.push_back(static_cast<i32>(p % shape.width / 20));  // four columns, none of them a speck
        lab.insert(lab.end(), {static_cast<float>(25 * clusters.back()), 0, 0});
    }
    const Hierarchy hierarchy(lab.data(), clusters.data(), shape, {1, 1, 1}, 1, HUGE_VAL,
                              {&blank_table(), lab.data(), nullptr}, 1);
    const std::vector<std::array<i32, 4>> expected{{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 2}, {0, 1, 2, 3}};
    for (const i64 wanted : {1, 2, 3, 4}) {
        std::vector<i32> labels(clusters.size());
        hierarchy.cut(lab.data(), wanted, 1, labels.data(), 1);
        for (size_t p = 0; p < labels.size(); ++p) CHECK(labels[p] == expected[wanted - 1][clusters[p]]);
    }
}

TEST(images_can_be_interrupted) {
    const Shape shape{1, 400, 500};
    std::mt19937 random(4);
    std::vector<float> colours(static_cast<size_t>(3 * shape.size()));
    std::vector<i32> clusters(static_cast<size_t>(shape.size())), labels(clusters.size());
    for (float& colour : colours) colour = static_cast<float>(random() % 100);
    for (i32& cluster : clusters) cluster = static_cast<i32>(random() % 3);
    auto make = [&](int threads) {
        return Hierarchy(colours.data(), clusters.data(), shape, {1, 1, 1}, 4, 8.0, {}, threads);
    };
    check_polls(30, [&](int threads) { make(threads); });
    const Hierarchy hierarchy = make(1);
    check_polls(3, [&](int threads) {
        hierarchy.cut(colours.data(), hierarchy.count(1.0), 9, labels.data(), threads);
    });
}

TEST(callers_segment_one_image_and_cut_one_hierarchy) {
    const Shape shape{1, 200, 300};
    std::vector<i32> clusters(static_cast<size_t>(shape.size()));
    std::vector<float> colours(3 * clusters.size());
    std::mt19937 random(5);
    for (size_t p = 0; p < clusters.size(); ++p) {
        clusters[p] = static_cast<i32>(p % 300 / 17 + p / 300 / 13 * 20) - (random() % 99 == 0 ? 9999 : 0);
        for (size_t c = 0; c < 3; ++c)
            colours[3 * p + c] = static_cast<float>(clusters[p] % 7 * 9) + static_cast<float>(random() % 9);
    }
    auto make = [&] {
        return Hierarchy(colours.data(), clusters.data(), shape, {1.0, 1.0, 1.0}, 20, 100.0, {}, kThreads);
    };
    const Hierarchy shared = make();
    auto cut = [&](const Hierarchy& tree) {
        std::vector<i32> labels(clusters.size());
        tree.cut(colours.data(), tree.count(1.0), 40, labels.data(), kThreads);
        return labels;
    };
    each_caller([&] { return cut(make()); });
    each_caller([&] { return cut(shared); });
}
