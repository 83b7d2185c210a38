// tree/: the curve, leaves, boxes, windows and shapes against brute force.
#include "check.hpp"
#include "kernel/tree/shape.hpp"
#include "tree_input.hpp"

using namespace mspp;
using namespace tree_input;

namespace {

// Divides a group that is too heavy at its greatest step, and then both halves.
void divide(const Array<i32>& steps, const std::vector<i64>& before, size_t begin, size_t end, i64 limit,
            std::vector<u32>& begins) {
    const auto greatest =
        std::max_element(steps.begin() + static_cast<i64>(begin) + 1, steps.begin() + static_cast<i64>(end));
    if (end - begin < 2 || *greatest == 0 || before[end] - before[begin] <= limit) {
        begins.push_back(static_cast<u32>(begin));
        return;
    }
    const size_t at = static_cast<size_t>(greatest - steps.begin());
    divide(steps, before, begin, at, limit, begins);
    divide(steps, before, at, end, limit, begins);
}

using Box = std::vector<std::pair<double, double>>;  // low and high of each axis

// The squared distance of two boxes; those of a period have copies on both sides.
double squared_gap_of_boxes(const Box& a, const Box& b, const std::vector<i32>& period) {
    double squared = 0;
    for (size_t j = 0; j < a.size(); ++j) {
        double least = std::numeric_limits<double>::infinity();
        for (const double shift : {-1.0 * period[j], 0.0, 1.0 * period[j]})
            least = std::min(
                least, std::max({0.0, a[j].first + shift - b[j].second, b[j].first - a[j].second - shift}));
        squared += least * least;
    }
    return squared;
}

Box box_of(const Leaves& leaves, Range range) {
    Box box;
    for (int j = 0; j < leaves.d; ++j) {
        box.push_back({leaves.at(range.begin, j), leaves.at(range.begin, j)});
        for (i64 k = range.begin; k < range.end; ++k) {
            box[j].first = std::min<double>(box[j].first, leaves.at(k, j));
            box[j].second = std::max<double>(box[j].second, leaves.at(k, j));
        }
    }
    return box;
}

// A search finds every group in reach, in rising order, and none that is clearly farther away.
void check_visit(const Input& input) {
    const Cloud cloud = sorted(input);
    const Leaves leaves = make_leaves(cloud, 3);
    const Boxes boxes(leaves, cloud.period, near_loops());
    i64 total = 0, searches = 0;
    for (i64 begin = 0; begin + 5 <= leaves.size(); begin += 5)
        for (const float radius : {0.0f, 2e7f, 2e8f}) {
            const Box query = box_of(leaves, {begin, begin + 5});
            std::vector<i64> hits;
            boxes.visit(Boxes::Query(boxes, {begin, begin + 5}), radius * radius,
                        [&](i64 group) { hits.push_back(group); });
            CHECK(std::is_sorted(hits.begin(), hits.end(), std::less_equal<>()));
            total += static_cast<i64>(hits.size()), ++searches;
            const double rounding = 8192 * std::sqrt(cloud.d);  // 2^-18 of the data
            for (i64 group = 0; group < leaves.groups(); ++group) {
                const Box box = box_of(leaves, boxes.range(group));
                const double gap = std::sqrt(squared_gap_of_boxes(box, query, cloud.period));
                const bool hit = std::binary_search(hits.begin(), hits.end(), group);
                if (gap <= radius) CHECK_NOTE(hit, std::to_string(group));
                if (gap > radius * (1 + 1e-4) + rounding) CHECK_NOTE(!hit, std::to_string(group));
            }
        }
    CHECK(total < leaves.groups() * searches);
}

// The nearest leaf of another value than the leaf's own, by a search whose radius shrinks.
i64 nearest_other(const Boxes& boxes, const std::vector<u32>& value, const Boxes::Common& common, i64 i) {
    float least = 1e30f;
    i64 nearest = -1;
    auto hit = [&](i64 group) {
        for (i64 k = boxes.range(group).begin; k < boxes.range(group).end; ++k) {
            const float squared = boxes.squared_distance(i, k);
            if (value[k] != value[i] && squared < least) least = squared, nearest = k;
        }
    };
    boxes.visit(Boxes::Query(boxes, {i, i + 1}), least, hit,
                [&](size_t layer, i64 box) { return common[layer][static_cast<size_t>(box)] == value[i]; });
    return nearest;
}

// All leaves, by their distance from one; then in their order.
std::vector<u32> sorted_from(const Leaves& leaves, const std::vector<i32>& period, i64 i) {
    std::vector<std::pair<float, u32>> all;
    for (u32 k = 0; k < leaves.size(); ++k) {
        all.push_back({squared_distance(leaves, period, i, k), k});
        const double exact = squared_gap(leaves, i, k, period);
        CHECK(std::abs(all.back().first - exact) <= 1e-6 * exact);
    }
    std::sort(all.begin(), all.end());
    std::vector<u32> result;
    for (const auto& [squared, k] : all) result.push_back(k);
    return result;
}

// The mean squared distance to the nearest mass K, and the number of leaves that this takes.
std::pair<double, size_t> mean_square(const Leaves& leaves, const std::vector<i32>& period, i64 i,
                                      const std::vector<u32>& order, i64 mass) {
    double sum = 0;
    i64 rest = mass;
    size_t count = 0;
    for (; rest > 0; ++count) {
        const i64 taken = std::min(rest, leaves.weights[order[count]]);
        sum += static_cast<double>(taken) * squared_gap(leaves, i, order[count], period);
        rest -= taken;
    }
    return {std::max(sum / static_cast<double>(mass), 1.0), count};
}

bool equal(const Windows& a, const Windows& b) {
    return a.mass == b.mass && a.square == b.square && a.reach == b.reach && a.radius == b.radius &&
           a.half == b.half;
}

void check_windows(const Input& input, i64 mass, i64 limit) {
    const Cloud cloud = sorted(input);
    Leaves leaves = make_leaves(cloud, limit);
    const Surroundings all(leaves, cloud.period, {mass, 2 * mass}, near_loops(), 1);
    for (i64 i = 0; i < leaves.size(); ++i) {
        const std::vector<u32> order = sorted_from(leaves, cloud.period, i);
        size_t length = 0;
        for (const Windows& windows : all.windows()) {
            const auto [square, count] = mean_square(leaves, cloud.period, i, order, windows.mass);
            const double half = mean_square(leaves, cloud.period, i, order, windows.mass / 2).first;
            CHECK_NOTE(std::abs(windows.square[i] / square - 1) < 1e-6, std::to_string(i));
            CHECK(std::abs(static_cast<double>(windows.radius[i]) - log2_of(square) * 0x1p15) <= 2);
            CHECK(std::abs(static_cast<double>(windows.half[i]) - log2_of(half) * 0x1p15) <= 2);
            CHECK(windows.reach[i] == squared_distance(leaves, cloud.period, i, order[count - 1]));
            length = count;
        }
        const std::span<const u32> list = all.lists()[i];
        CHECK(std::equal(list.begin(), list.end(), order.begin(), order.begin() + static_cast<i64>(length)));
    }
    // Neither guesses nor threads nor other masses change a window.
    for (const float guess : {1.0f, 3e7f, 1e12f}) {
        std::fill(leaves.guess.begin(), leaves.guess.end(), guess);
        const Surroundings again(leaves, cloud.period, {mass, 2 * mass}, near_loops(), 3);
        CHECK(equal(again.windows()[0], all.windows()[0]) && equal(again.windows()[1], all.windows()[1]));
    }
    const Surroundings single(leaves, cloud.period, {2 * mass}, near_loops(), 1);
    CHECK(equal(single.windows()[0], all.windows()[1]));
    each_near_loops([&](const NearLoops& loops, const char* name) {
        const Surroundings again(leaves, cloud.period, {mass, 2 * mass}, loops, 1);
        for (size_t k = 0; k < 2; ++k) CHECK_NOTE(equal(again.windows()[k], all.windows()[k]), name);
        for (i64 i = 0; i < leaves.size(); ++i) {
            const std::span<const u32> one = all.lists()[i], other = again.lists()[i];
            CHECK_NOTE(std::equal(one.begin(), one.end(), other.begin(), other.end()), name);
        }
    });
}

// (tr C)^2 / tr C^2 of the covariance C of some leaves.
double shape_of(const Leaves& leaves, const std::vector<i32>& period, i64 i, std::span<const u32> some) {
    const size_t d = static_cast<size_t>(leaves.d);
    double mass = 0, trace = 0, squares = 0;
    std::vector<double> mean(d);
    std::vector<std::vector<double>> offsets;
    for (const u32 k : some) {
        std::vector<double> offset(d);
        for (int j = 0; j < leaves.d; ++j) {
            offset[j] = static_cast<double>(leaves.at(k, j)) - leaves.at(i, j);
            if (period[j] > 0) offset[j] = std::remainder(offset[j], period[j]);
            mean[j] += static_cast<double>(leaves.weights[k]) * offset[j];
        }
        mass += static_cast<double>(leaves.weights[k]);
        offsets.push_back(offset);
    }
    for (size_t a = 0; a < d; ++a)
        for (size_t b = 0; b < d; ++b) {
            double covariance = 0;
            for (size_t k = 0; k < some.size(); ++k)
                covariance += static_cast<double>(leaves.weights[some[k]]) / mass *
                              (offsets[k][a] - mean[a] / mass) * (offsets[k][b] - mean[b] / mass);
            if (a == b) trace += covariance;
            squares += covariance * covariance;
        }
    return trace * trace / squares;
}

double shape_by_moments(const Leaves& leaves, const std::vector<i32>& period, i64 i,
                        std::span<const u32> some) {
    Moments moments(leaves, period);
    moments.clear();
    for (const u32 k : some) moments.add(i, k);
    return moments.shape();
}

}  // namespace

TEST(keys_sort_like_their_values) {
    std::mt19937_64 random(4);
    for (const int bits : {1, 11, 22, 40, 63})
        for (const u32 n : {1u, 3u, 600u, 5000u}) {
            Array<Keyed> items(n);
            for (u32 i = 0; i < n; ++i) items[i] = {random() >> (64 - bits), i};
            Array<Keyed> expected = items;
            std::stable_sort(expected.begin(), expected.end(),
                             [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
            sort_by_key(items, bits);
            for (u32 i = 0; i < n; ++i)
                CHECK(items[i].key == expected[i].key && items[i].item == expected[i].item);
        }
}

TEST(points_are_in_the_order_of_the_curve) {
    for (const int d : {1, 2, 3, 5, 31, 70}) {
        Input input = make_input(3, 700, d);
        for (size_t k = 0; k < 50 * static_cast<size_t>(d); ++k) input.cloud.x[k] = input.cloud.x[k % d];
        const Cloud cloud = sorted(input);
        std::vector<char> seen(700, 0);
        for (i64 i = 0; i < cloud.size(); ++i) {
            seen[cloud.rows[i]] = 1;
            if (i == 0) continue;
            const i32 *a = cloud.position(i - 1), *b = cloud.position(i);
            const int axis = first_difference(a, b, d).axis;
            CHECK(axis < 0 ? cloud.weights[i - 1] <= cloud.weights[i] : a[axis] < b[axis]);
        }
        CHECK(std::count(seen.begin(), seen.end(), 1) == 700);
    }
}

TEST(groups_are_divided_at_their_greatest_step) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const size_t n = 1 + random() % 40;
        Array<i32> steps(n);
        std::vector<i64> before{0};
        for (size_t i = 0; i < n; ++i) {
            steps[i] = i == 0 ? 0 : static_cast<i32>(random() % 9);
            before.push_back(before.back() + 1 + static_cast<i64>(random() % 5));
        }
        for (const i64 limit : {1, 6, 30}) {
            std::vector<u32> expected;
            divide(steps, before, 0, n, limit, expected);
            CHECK(group_along_curve(steps, limit, [&](u32 i) { return before[i + 1] - before[i]; }) ==
                  expected);
        }
    }
}

TEST(leaves_are_a_partition_and_nested) {
    for (const int d : {1, 2, 5, 70}) {
        const Cloud cloud = sorted(make_input(3, 700, d));
        Array<u32> points;  // every point but each third
        for (u32 i = 0; i < cloud.size(); ++i)
            if (i % 3 != 0) points.push_back(i);
        const Leaves all = leaves_of_points(cloud, points);
        Leaves finer = all;
        for (const i64 limit : {1, 4, 20, 100}) {
            const Leaves leaves = join_leaves(finer, limit), at_once = join_leaves(all, limit);
            CHECK(leaves.first == at_once.first && leaves.weights == at_once.weights);
            CHECK(leaves.steps == at_once.steps && leaves.first.back() == points.size());
            for (i64 k = 0; k < leaves.size(); ++k) {
                i64 weight = 0;
                std::vector<double> mean(static_cast<size_t>(d));
                for (u32 i = leaves.first[k]; i < leaves.first[k + 1]; ++i) {
                    weight += cloud.weights[points[i]];
                    for (int j = 0; j < d; ++j)
                        mean[j] +=
                            static_cast<double>(cloud.weights[points[i]]) * cloud.position(points[i])[j];
                }
                const i32 *head = cloud.position(points[leaves.first[k]]),
                          *tail = cloud.position(points[leaves.first[k + 1] - 1]);
                const bool one_box = first_difference(head, tail, d).axis < 0;
                CHECK(weight == leaves.weights[k] && (weight <= limit || one_box));
                for (int j = 0; j < d; ++j)
                    CHECK(std::abs(mean[j] / static_cast<double>(weight) - leaves.at(k, j)) < 5);
            }
            finer = leaves;
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
            const Leaves leaves = make_leaves(cloud, 3);
            const Boxes boxes(leaves, cloud.period, near_loops());
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
                const i64 found = nearest_other(boxes, value, common, i);
                float least = 1e30f;
                for (i64 k = 0; k < leaves.size(); ++k)
                    if (value[k] != value[i]) least = std::min(least, boxes.squared_distance(i, k));
                CHECK(found >= 0 && value[found] != value[i] && boxes.squared_distance(i, found) == least);
            }
        }
}

TEST(windows_are_those_of_brute_force) {
    for (const int d : {1, 2, 3, 4, 5, 6}) {
        check_windows(make_input(1, 600, d), 40, 3);
        check_windows(make_input(2, 600, d), 200, 12);
    }
}

TEST(windows_go_round_a_period) {
    for (const int d : {1, 2, 3}) check_windows(make_input(4, 600, d, 5.5), 40, 3);
}

TEST(a_window_can_hold_all_points) {
    const Input input = make_input(5, 60, 2);
    check_windows(input, sorted(input).weight / 2, 1);
}

TEST(windows_of_some_leaves_are_those_of_all) {
    const Cloud cloud = sorted(make_input(2, 900, 3));
    const Leaves leaves = make_leaves(cloud, 4);
    std::vector<char> wanted(static_cast<size_t>(leaves.size()));
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = i % 5 < 2;
    const Surroundings all(leaves, cloud.period, {50, 100}, near_loops(), 1);
    const Surroundings some(leaves, cloud.period, {50, 100}, near_loops(), 1, wanted);
    for (i64 i = 0; i < leaves.size(); ++i) {
        if (!wanted[i]) {
            CHECK(some.lists()[i].empty());
            continue;
        }
        const auto a = all.lists()[i], b = some.lists()[i];
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        for (const size_t k : {0, 1}) CHECK(all.windows()[k].square[i] == some.windows()[k].square[i]);
    }
}

TEST(shapes_are_those_of_brute_force) {
    for (const int d : {1, 2, 3, 6})
        for (const double period : {0.0, 11.0}) {
            const Cloud cloud = sorted(make_input(3, 800, d, period));
            const Leaves leaves = make_leaves(cloud, 12);
            const Surroundings all(leaves, cloud.period, {150}, near_loops(), 1);
            for (i64 i = 0; i < leaves.size(); ++i) {
                const double shape = shape_by_moments(leaves, cloud.period, i, all.lists()[i]);
                const double expected = shape_of(leaves, cloud.period, i, all.lists()[i]);
                CHECK_NOTE(std::abs(shape / expected - 1) < 1e-6, std::to_string(i));
            }
        }
}

TEST(a_line_in_many_features_stays_a_line) {
    Input line = make_blobs(1, 800, 40, 0);
    for (size_t i = 0; i < line.cloud.x.size(); ++i)
        line.cloud.x[i] = line.cloud.x[i / 40 * 40] * (1 + static_cast<double>(i % 40));
    const Input blob = make_blobs(1, 800, 40, 0);
    for (const bool is_line : {true, false}) {
        const Cloud cloud = sorted(is_line ? line : blob);
        const Leaves leaves = make_leaves(cloud, 2);
        const Surroundings all(leaves, cloud.period, {200}, near_loops(), 1);
        for (i64 i = 0; i < leaves.size(); ++i) {
            const double shape = shape_by_moments(leaves, cloud.period, i, all.lists()[i]);
            CHECK(is_line ? shape < 1.001 : shape > 8 && shape <= 16.001);
        }
    }
}
