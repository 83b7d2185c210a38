// tree/: leaves, boxes and windows against brute force.
#include "check.hpp"
#include "kernel/tree/windows.hpp"
#include "tree_input.hpp"

using namespace mspp;
using namespace tree_input;

namespace {

// Divides a group at its greatest step, and then both halves.
void divide(const std::vector<i64>& steps, const std::vector<i64>& before, size_t begin, size_t end,
            std::vector<i64>& divided) {
    if (end - begin < 2) return;
    const auto greatest =
        std::max_element(steps.begin() + static_cast<i64>(begin) + 1, steps.begin() + static_cast<i64>(end));
    if (*greatest == 0) return;
    const size_t at = static_cast<size_t>(greatest - steps.begin());
    divided[at] = before[end] - before[begin];
    divide(steps, before, begin, at, divided);
    divide(steps, before, at, end, divided);
}

using Box = std::vector<std::pair<double, double>>;  // low and high of each axis

// The squared distance of two boxes; those of a period have copies on both sides.
double squared_gap_of_boxes(const Box& a, const Box& b, const std::vector<double>& period) {
    double squared = 0;
    for (size_t j = 0; j < a.size(); ++j) {
        double least = std::numeric_limits<double>::infinity();
        for (const double shift : {-period[j], 0.0, period[j]})
            least = std::min(
                least, std::max({0.0, a[j].first + shift - b[j].second, b[j].first - a[j].second - shift}));
        squared += least * least;
    }
    return squared;
}

Box box_of(const Leaves& leaves, Range range) {
    Box box;
    for (int j = 0; j < leaves.d; ++j) {
        box.push_back({leaves.position(range.begin)[j], leaves.position(range.begin)[j]});
        for (i64 k = range.begin; k < range.end; ++k) {
            box[j].first = std::min(box[j].first, leaves.position(k)[j]);
            box[j].second = std::max(box[j].second, leaves.position(k)[j]);
        }
    }
    return box;
}

// A search finds every group in reach, in rising order, and none that is clearly farther away.
void check_visit(const Input& input) {
    const Cloud cloud = sorted(input);
    const Leaves leaves = make_leaves(cloud, Stretch(cloud, all_points(cloud)), 3);
    const Boxes boxes(leaves, cloud.period);
    const i64 groups = (leaves.size() + Boxes::kWidth - 1) / Boxes::kWidth;
    i64 total = 0;
    for (const Range block : boxes.blocks())
        for (const double radius : {0.0, 1e4, 1e5}) {
            const Box query = box_of(leaves, block);
            std::vector<double> low, high;
            for (const auto& [from, to] : query) low.push_back(from), high.push_back(to);
            std::vector<i64> hits;
            boxes.visit(low.data(), high.data(), radius * radius, [&](i64 group) { hits.push_back(group); });
            CHECK(std::is_sorted(hits.begin(), hits.end(), std::less_equal<>()));
            total += static_cast<i64>(hits.size());
            const double rounding = 4 * std::sqrt(cloud.d);  // in units of 2^-20 of the data
            for (i64 group = 0; group < groups; ++group) {
                const double gap =
                    std::sqrt(squared_gap_of_boxes(box_of(leaves, boxes.range(group)), query, cloud.period));
                const bool hit = std::binary_search(hits.begin(), hits.end(), group);
                if (gap <= radius) CHECK_NOTE(hit, std::to_string(group));
                if (gap > radius * (1 + 1e-4) + rounding) CHECK_NOTE(!hit, std::to_string(group));
            }
        }
    CHECK(total < 3 * groups * static_cast<i64>(boxes.blocks().size()));
}

// The nearest leaf of another value than the leaf's own, by a search whose radius shrinks.
i64 nearest_other(const Boxes& boxes, const std::vector<double>& period, const std::vector<u32>& value,
                  const Boxes::Common& common, i64 i) {
    const Leaves& leaves = boxes.leaves();
    double least = 1e30;
    i64 nearest = -1;
    auto hit = [&](i64 group) {
        for (i64 k = boxes.range(group).begin; k < boxes.range(group).end; ++k) {
            const double squared = squared_gap(leaves, k, leaves.position(i), period);
            if (value[k] != value[i] && squared < least) least = squared, nearest = k;
        }
    };
    const double* x = leaves.position(i);
    boxes.visit(x, x, least, hit,
                [&](size_t layer, i64 box) { return common[layer][static_cast<size_t>(box)] == value[i]; });
    return nearest;
}

// The mean squared distance to the nearest mass K, from all leaves.
double mean_square(const Leaves& leaves, const double* x, const std::vector<double>& period, i64 mass) {
    std::vector<std::pair<double, i64>> all;
    for (i64 k = 0; k < leaves.size(); ++k)
        all.push_back({squared_gap(leaves, k, x, period), leaves.weights[k]});
    std::sort(all.begin(), all.end());
    double sum = 0;
    i64 rest = mass;
    for (size_t k = 0; rest > 0; ++k) {
        const i64 taken = std::min(rest, all[k].second);
        sum += static_cast<double>(taken) * all[k].first;
        rest -= taken;
    }
    return std::max(sum / static_cast<double>(mass), 1.0);
}

void check_windows(const Input& input, i64 mass, i64 centre_limit, i64 leaf_limit, double guess) {
    const Cloud cloud = sorted(input);
    const std::vector<u32> part = all_points(cloud);
    const Stretch stretch(cloud, part);
    const Leaves centres = make_leaves(cloud, stretch, centre_limit),
                 leaves = make_leaves(cloud, stretch, leaf_limit);
    const Boxes around(centres, cloud.period), among(leaves, cloud.period);
    const std::vector<double> guesses(static_cast<size_t>(centres.size()), guess);
    const Windows one = make_windows(around, among, cloud.period, mass, guesses, false, 1);
    const Windows three = make_windows(around, among, cloud.period, mass, guesses, false, 3);
    CHECK(one.square == three.square && one.reach == three.reach && one.radius == three.radius);
    for (i64 k = 0; k < centres.size(); ++k) {
        const double expected = mean_square(leaves, centres.position(k), cloud.period, mass);
        CHECK_NOTE(std::abs(one.square[k] / expected - 1) < 1e-5, std::to_string(k));
        CHECK(one.radius[k] == log2_units(one.square[k]) / 2);
        const double inner = mean_square(leaves, centres.position(k), cloud.period, mass / 2);
        CHECK(std::abs(one.half[k] - log2_units(inner) / 2) <= 1);
    }
}

// Windows of rising masses find the same with the leaves that an earlier mass has found nearby.
void check_reuse(const Input& input, double ahead) {
    const Cloud cloud = sorted(input);
    const Leaves leaves = make_leaves(cloud, Stretch(cloud, all_points(cloud)), 1);
    const Boxes boxes(leaves, cloud.period);
    const std::vector<double> unknown(static_cast<size_t>(leaves.size()), 0.0);
    std::vector<Nearby> near;
    for (const i64 mass : {9, 13, 40, 20}) {
        const Windows fresh = make_windows(boxes, boxes, cloud.period, mass, unknown, false, 1);
        Windows again =
            make_windows(boxes, boxes, cloud.period, mass, unknown, false, 3, std::move(near), ahead);
        CHECK(fresh.square == again.square && fresh.reach == again.reach && fresh.half == again.half);
        near = std::move(again.near);
    }
}

// (tr C)^2 / tr C^2 of the covariance C of the leaves within a squared distance.
double shape_within(const Leaves& leaves, const double* x, const std::vector<double>& period, double reach) {
    const size_t d = static_cast<size_t>(leaves.d);
    double mass = 0, trace = 0, squares = 0;
    std::vector<double> mean(d);
    std::vector<std::vector<double>> offsets;
    std::vector<double> weights;
    for (i64 k = 0; k < leaves.size(); ++k) {
        if (squared_gap(leaves, k, x, period) > reach) continue;
        const double weight = static_cast<double>(leaves.weights[k]);
        std::vector<double> offset(d);
        for (size_t j = 0; j < d; ++j) {
            offset[j] = leaves.position(k)[j] - x[j];
            if (period[j] > 0 && offset[j] > period[j] / 2) offset[j] -= period[j];
            if (period[j] > 0 && offset[j] < -period[j] / 2) offset[j] += period[j];
            mean[j] += weight * offset[j];
        }
        mass += weight;
        weights.push_back(weight);
        offsets.push_back(offset);
    }
    for (double& value : mean) value /= mass;
    for (size_t i = 0; i < d; ++i)
        for (size_t j = 0; j < d; ++j) {
            double covariance = 0;
            for (size_t k = 0; k < weights.size(); ++k)
                covariance += weights[k] / mass * (offsets[k][i] - mean[i]) * (offsets[k][j] - mean[j]);
            if (i == j) trace += covariance;
            squares += covariance * covariance;
        }
    return trace * trace / squares;
}

Windows windows_with_shapes(const Cloud& cloud, const Leaves& centres, const Leaves& leaves, i64 mass) {
    const std::vector<double> unknown(static_cast<size_t>(centres.size()), 0.0);
    return make_windows(Boxes(centres, cloud.period), Boxes(leaves, cloud.period), cloud.period, mass,
                        unknown, true, 1);
}

}  // namespace

TEST(groups_are_divided_at_their_greatest_step) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const size_t n = 1 + random() % 40;
        std::vector<i64> steps(n), before{0}, expected(n);
        for (size_t i = 0; i < n; ++i) {
            steps[i] = i == 0 ? 0 : static_cast<i64>(random() % 9);
            before.push_back(before.back() + 1 + static_cast<i64>(random() % 5));
        }
        divide(steps, before, 0, n, expected);
        CHECK(divided_weights(steps, before) == expected);
    }
}

TEST(windows_reuse_the_leaves_nearby) {
    for (const int d : {1, 2, 7})
        for (const double ahead : {1.0, 1.7}) {
            check_reuse(make_input(5, 400, d), ahead);
            check_reuse(make_input(6, 400, d, 7.0), ahead);
        }
}

TEST(leaves_are_a_partition_and_nested) {
    for (const int d : {1, 2, 5, 70}) {
        const Input input = make_input(3, 700, d);
        const Cloud cloud = sorted(input);
        std::vector<u32> part;  // every point but each third
        for (u32 i = 0; i < cloud.size(); ++i)
            if (i % 3 != 0) part.push_back(i);
        std::vector<u32> finer;
        for (const i64 limit : {1, 4, 20, 100}) {
            const Leaves leaves = make_leaves(cloud, Stretch(cloud, part), limit);
            CHECK(leaves.first.front() == 0 && leaves.first.back() == part.size());
            CHECK(std::is_sorted(leaves.first.begin(), leaves.first.end()));
            for (i64 k = 0; k < leaves.size(); ++k) {
                i64 weight = 0;
                for (u32 i = leaves.first[k]; i < leaves.first[k + 1]; ++i) {
                    weight += cloud.weights[part[i]];
                    CHECK(leaves.of(i) == k);
                }
                const u32 *head = cloud.box(part[leaves.first[k]]),
                          *tail = cloud.box(part[leaves.first[k + 1] - 1]);
                const bool one_box = first_difference(head, tail, d).axis < 0;
                CHECK(weight == leaves.weights[k] && (weight <= limit || one_box));
            }
            if (!finer.empty())
                CHECK(std::includes(finer.begin(), finer.end(), leaves.first.begin(), leaves.first.end()));
            finer = leaves.first;
        }
    }
}

TEST(searches_in_boxes_find_all_that_is_near) {
    for (const int d : {1, 2, 3, 6}) check_visit(make_input(6, 900, d));
    for (const int d : {1, 2, 3}) check_visit(make_input(7, 900, d, 5.5));
}

TEST(searches_skip_boxes_and_shrink) {
    for (const int d : {1, 2, 3})
        for (const double period : {0.0, 5.5}) {
            const Cloud cloud = sorted(make_input(8, 1500, d, period));
            const Leaves leaves = make_leaves(cloud, Stretch(cloud, all_points(cloud)), 3);
            const Boxes boxes(leaves, cloud.period);
            std::vector<u32> value;  // of stretches of the curve, so that whole boxes have it in common
            for (u32 k = 0; k < leaves.size(); ++k) value.push_back(k / 100 % 3);
            const Boxes::Common common = boxes.common(value);
            for (size_t layer = 0, width = Boxes::kWidth; layer < common.size(); ++layer, width *= 8)
                for (size_t box = 0; box < common[layer].size(); ++box) {
                    const auto begin = value.begin() + static_cast<i64>(box * width);
                    const auto end =
                        value.begin() + static_cast<i64>(std::min((box + 1) * width, value.size()));
                    const bool same = std::count(begin, end, *begin) == end - begin;
                    CHECK(common[layer][box] == (same ? *begin : Boxes::kMixed));
                }
            for (i64 i = 0; i < leaves.size(); ++i) {
                const i64 found = nearest_other(boxes, cloud.period, value, common, i);
                double least = 1e30;
                for (i64 k = 0; k < leaves.size(); ++k)
                    if (value[k] != value[i])
                        least = std::min(least, squared_gap(leaves, k, leaves.position(i), cloud.period));
                CHECK(found >= 0 && value[found] != value[i]);
                CHECK(squared_gap(leaves, found, leaves.position(i), cloud.period) == least);
            }
        }
}

TEST(windows_are_those_of_brute_force) {
    for (const int d : {1, 2, 3, 6})
        for (const double guess : {0.0, 1.0, 1e9}) {
            check_windows(make_input(1, 600, d), 40, 3, 3, guess);
            check_windows(make_input(2, 600, d), 200, 12, 4, guess);
        }
}

TEST(windows_go_round_a_period) {
    for (const int d : {1, 2, 3}) check_windows(make_input(4, 600, d, 5.5), 40, 3, 3, 0.0);
}

TEST(a_window_can_hold_all_points) {
    check_windows(make_input(5, 60, 2), sorted(make_input(5, 60, 2)).weight, 1, 1, 0.0);
}

TEST(shapes_are_those_of_brute_force) {
    for (const int d : {1, 2, 3, 6})
        for (const double period : {0.0, 11.0}) {
            const Cloud cloud = sorted(make_input(3, 800, d, period));
            const Stretch stretch(cloud, all_points(cloud));
            const Leaves centres = make_leaves(cloud, stretch, 12), leaves = make_leaves(cloud, stretch, 4);
            const Windows windows = windows_with_shapes(cloud, centres, leaves, 150);
            for (i64 k = 0; k < centres.size(); ++k) {
                const double expected =
                    shape_within(leaves, centres.position(k), cloud.period, windows.reach[k] * (1 + 1e-6));
                CHECK_NOTE(std::abs(windows.shape[k] / expected - 1) < 1e-3, std::to_string(k));
            }
        }
}

TEST(a_line_in_many_features_stays_a_line) {
    Input line = make_blobs(1, 800, 40, 0);
    for (size_t i = 0; i < line.cloud.x.size(); ++i)
        line.cloud.x[i] = line.cloud.x[i / 40 * 40] * (1 + static_cast<double>(i % 40));
    const Input blob = make_blobs(1, 800, 40, 0);
    for (const bool is_line : {true, false}) {
        const Input& input = is_line ? line : blob;
        const Cloud cloud = sorted(input);
        const Leaves leaves = make_leaves(cloud, Stretch(cloud, all_points(cloud)), 2);
        const Windows windows = windows_with_shapes(cloud, leaves, leaves, 200);
        for (const double shape : windows.shape)
            CHECK(is_line ? shape < 1.001 : shape > 8 && shape <= 16.001);
    }
}
