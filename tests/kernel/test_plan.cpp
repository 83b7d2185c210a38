// bin/plan.hpp: the box, the estimate and the choice, which results do not show because every strategy
// returns the same grid.
#include <limits>

#include "check.hpp"
#include "kernel/bin/plan.hpp"
#include "oracle.hpp"

using namespace mspp;
using oracle::Cloud;

using Numbers = std::vector<double>;

static Plan plan_of(const Cloud& cloud, double h, Strategy requested = Strategy::automatic) {
    const Numbers cell_size(static_cast<size_t>(cloud.d), h);
    return make_plan(cloud.points(), cell_size.data(), requested);
}

// n points on a line, in cells of size 1: point i is in cell (i * stride) % range.
static Cloud line(i64 n, i64 stride, i64 range) {
    Cloud cloud{1, {}};
    for (i64 i = 0; i < n; ++i) cloud.x.push_back(static_cast<double>(i * stride % range) + 0.5);
    return cloud;
}

TEST(a_box_of_all_points_is_tight) {
    Plan plan;
    CHECK(fit_box({-3, 10, 4, 12, 0, 11}, 2, true, plan));
    CHECK(plan.low == Numbers({-3, 10}) && plan.extent == Numbers({8, 3}));
    CHECK(plan.stride == std::vector<u64>({3, 1}) && plan.slots == 24);
    i64 cell[2];
    plan.cell_at(3 * 5 + 2, cell);
    CHECK(cell[0] == 2 && cell[1] == 12);
}

TEST(a_box_of_a_sample_has_a_margin_of_an_eighth) {
    Plan plan;
    CHECK(fit_box({-30, 10, 70, 12}, 2, false, plan));
    CHECK(plan.low == Numbers({-42, 9}) && plan.extent == Numbers({125, 5}));
    CHECK(plan.slots == 625);
}

TEST(a_box_ends_before_the_limits_of_cells_and_of_keys) {
    Plan plan;
    const double limit = static_cast<double>(kMaxCell);
    CHECK(fit_box({limit - 1, limit - 5}, 1, true, plan));
    CHECK(fit_box({1 - limit, 5 - limit}, 1, true, plan));
    CHECK(!fit_box({limit, limit - 5}, 1, true, plan));
    CHECK(!fit_box({-limit, 5 - limit}, 1, true, plan));
    CHECK(!fit_box({limit - 1, limit - 5}, 1, false, plan));
    CHECK(!fit_box({1 - limit, 5 - limit}, 1, false, plan));
    const double most = static_cast<double>(kMaxExact);
    CHECK(fit_box({0, 0, 0x1p+24 - 1, 0x1p+28 - 1}, 2, true, plan));
    CHECK(static_cast<double>(plan.slots) == most / 2);
    CHECK(!fit_box({0, 0, 0x1p+25 - 1, 0x1p+28 - 1}, 2, true, plan));  // 2^53 keys: one too many
}

TEST(the_estimate_of_cells_counts_pairs) {
    Plan plan;
    const Numbers cells{0, 0, 1, 5, 0, 0, 1, 5, 0, 0, 3, 1};  // cells of 3, 2 and 1 points: 4 pairs
    CHECK(fit_box(cells, 2, true, plan));
    CHECK(estimate_cells(cells, plan) == 6.0 * 6.0 / 2 / (4 + 1));
    const Numbers transposed{0, 1, 1, 0, 0, 2, 2, 0};  // four cells: no pair
    CHECK(fit_box(transposed, 2, true, plan));
    CHECK(estimate_cells(transposed, plan) == 4.0 * 4.0 / 2);
}

TEST(a_sample_takes_every_step_th_point) {
    const Cloud cloud = line(10, 1, 100);
    const double one = 1;
    CHECK(sample_cells(cloud.points(), &one, 1) == Numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    CHECK(sample_cells(cloud.points(), &one, 4) == Numbers({0, 4, 8}));
    CHECK(sample_cells(cloud.points(), &one, 5) == Numbers({0, 5}));
    const Cloud odd{1, {std::numeric_limits<double>::quiet_NaN(), 1e300, -1e300}};
    const double limit = static_cast<double>(kMaxCell);
    CHECK(sample_cells(odd.points(), &one, 1) == Numbers({0, limit, -limit}));
}

TEST(few_points_are_all_sampled_and_many_every_32nd) {
    CHECK(plan_of(line(2047, 1, 2047), 1).extent == Numbers({2047}));  // no margin: all points
    // Of 2048 points every second is sampled: cells 0 to 2046, and a margin of 255.
    const Plan plan = plan_of(line(2048, 1, 2048), 1);
    CHECK(plan.low == Numbers({-255}) && plan.extent == Numbers({2557}));
    // Of 131,072 points every 32nd: cells 0 to 131,040. Of 1,048,576 every 128th.
    CHECK(plan_of(line(131'072, 1, 131'072), 1).extent == Numbers({131'041 + 2 * 16'380}));
    CHECK(plan_of(line(1'048'576, 1, 1'048'576), 1).extent == Numbers({1'048'449 + 2 * 131'056}));
}

TEST(the_strategy_follows_the_box_and_the_points) {
    CHECK(plan_of(Cloud{1, {0.5, 4095.5}}, 1).strategy == Strategy::dense);  // 4,096 cells always fit
    CHECK(plan_of(Cloud{1, {0.5, 4096.5}}, 1).strategy != Strategy::dense);
    CHECK(plan_of(line(2000, 127, 9000), 1).strategy == Strategy::ranked);
    const Cloud full = line(300'000, 7919, 200'000);
    CHECK(plan_of(full, 1).slots <= kDenseSlots && plan_of(full, 1).strategy == Strategy::dense);
    CHECK(plan_of(full, 0.5).slots > kDenseSlots && plan_of(full, 0.5).strategy == Strategy::ranked);
    // The box has about 16 cells for each point, less or more.
    CHECK(plan_of(line(1000, 157, 15'900), 1).strategy == Strategy::ranked);
    CHECK(plan_of(line(1000, 163, 16'900), 1).strategy != Strategy::ranked);
}

TEST(a_large_box_is_sorted_or_hashed) {
    CHECK(plan_of(line(1000, 1'000'003, 1'000'000'007), 1).strategy == Strategy::sorted);  // cells of one
    Cloud heavy{1, {}};  // 1,000 points in each of 20 cells
    for (i64 i = 0; i < 20'000; ++i) heavy.x.push_back(static_cast<double>(i % 20) * 1e9 + 0.5);
    CHECK(plan_of(heavy, 1).strategy == Strategy::hash);
    // 2,000 points, all in the sample: in 64 cells of about 31, sorted; in 32 of about 62, hashed.
    const auto spread = [](i64 cells) {
        Cloud cloud{1, {}};
        for (i64 i = 0; i < 2000; ++i) cloud.x.push_back(static_cast<double>(i % cells) * 1e9 + 0.5);
        return cloud;
    };
    CHECK(plan_of(spread(128), 1).strategy == Strategy::sorted);
    CHECK(plan_of(spread(32), 1).strategy == Strategy::hash);
}

TEST(what_cannot_be_numbered_is_wide) {
    CHECK(plan_of(line(100, 1, 100), 1, Strategy::wide).strategy == Strategy::wide);
    CHECK(plan_of(Cloud{1, {}}, 1).strategy == Strategy::wide);
    CHECK(plan_of(oracle::make_cloud(0, 50, kMaxKeyAxes), 9).strategy != Strategy::wide);
    CHECK(plan_of(oracle::make_cloud(0, 50, kMaxKeyAxes + 1), 9).strategy == Strategy::wide);
    CHECK(plan_of(Cloud{1, {0, 1e18}}, 1).strategy == Strategy::wide);
}

TEST(a_requested_strategy_has_a_largest_box) {
    const auto rejects = [](double span, Strategy strategy) {
        const Cloud cloud{1, {0.5, span - 0.5}};
        try {
            return plan_of(cloud, 1, strategy).strategy != strategy;
        } catch (const BadInput&) {
            return true;
        }
    };
    CHECK(!rejects(0x1p+24, Strategy::dense) && rejects(0x1p+24 + 1, Strategy::dense));
    CHECK(!rejects(0x1p+31, Strategy::ranked) && rejects(0x1p+31 + 1, Strategy::ranked));
    CHECK(!rejects(0x1p+40, Strategy::hash) && !rejects(0x1p+40, Strategy::sorted));
}

TEST(bytes_have_the_box_of_all_values) {
    const uint8_t bytes[] = {100, 101, 102, 103};
    const Points points{reinterpret_cast<const char*>(bytes), Dtype::u8, 2, 2, 2, 1};
    const double cell_size[] = {10, 16};
    const Plan plan = make_plan(points, cell_size, Strategy::automatic);
    CHECK(plan.low == Numbers({0, 0}) && plan.extent == Numbers({26, 16}));
}
