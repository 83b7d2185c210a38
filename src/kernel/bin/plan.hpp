// The plan: which box of cells to number, and how to find a cell's row of sums from its number (its slot).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/interrupt.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

enum class Strategy {
    automatic,
    dense,   // the row is the slot: one pass, for a box of few cells
    ranked,  // the row is the slot's rank among the occupied ones, from a bitmap of the box: two passes
    hash,    // the row is in a hash table: one pass, for a large box with many points in a typical cell
    sorted,  // the row is a rank, from sorting all points: for a large box with fewer
    wide,    // the row is in a hash table of whole cells: for any box and any number of axes
};

inline constexpr u64 kDenseSlots = u64{1} << 18;  // a dense table of this size still fits the caches

struct Plan {
    Strategy strategy = Strategy::wide;
    std::vector<double> low, extent;
    std::vector<u64> stride;
    u64 slots = 0;  // cells in the box

    // OUT cell (d,).
    void cell_at(u64 slot, i64* cell) const {
        for (size_t j = 0; j < low.size(); ++j) {
            cell[j] = static_cast<i64>(low[j]) + static_cast<i64>(slot / stride[j]);
            slot %= stride[j];
        }
    }
};

// The cells of every step-th point, one row each. Non-finite values become 0; the pass over all points
// reports them.
inline std::vector<double> sample_cells(const Points& points, const double* cell_size, i64 step) {
    constexpr double kLimit = static_cast<double>(kMaxCell);
    std::vector<double> cells;
    cells.reserve(static_cast<size_t>((points.n / step + 3) * points.d));
    with_type(points.dtype, [&](auto zero) {
        for (i64 i = 0; i < points.n; i += step) {
            poll();  // each point may be on another page of a file, which takes milliseconds to read
            for (int j = 0; j < points.d; ++j) {
                decltype(zero) x;
                std::memcpy(&x, points.at(i, j), sizeof x);
                const double q = quotient_of(static_cast<double>(x), cell_size[j]);
                cells.push_back(std::isfinite(q) ? cell_of(std::clamp(q, -kLimit, kLimit)) : 0.0);
            }
        }
    });
    return cells;
}

// OUT the plan's box: that of the sampled cells, with a margin unless the sample is `whole`. Returns false if
// it has too many cells to number them exactly.
inline bool fit_box(const std::vector<double>& cells, int d, bool whole, Plan& plan) {
    constexpr double kLimit = static_cast<double>(kMaxCell), kMostSlots = static_cast<double>(kMaxExact);
    double slots = 1;
    plan.low.assign(d, kLimit);
    plan.extent.assign(d, 0);
    plan.stride.assign(d, 1);
    for (int j = d - 1; j >= 0; --j) {
        double low = kLimit, high = -kLimit;
        for (size_t k = j; k < cells.size(); k += d) {
            low = std::min(low, cells[k]);
            high = std::max(high, cells[k]);
        }
        const double margin = whole ? 0 : std::max(1.0, std::floor((high - low) / 8));
        plan.low[j] = low - margin;
        plan.extent[j] = high - low + 1 + 2 * margin;
        if (low - margin <= -kLimit || high + margin >= kLimit) return false;
        if (!(slots * plan.extent[j] < kMostSlots)) return false;
        plan.stride[j] = static_cast<u64>(slots);
        slots *= plan.extent[j];
    }
    plan.slots = static_cast<u64>(slots);
    return true;
}

// Estimates the number of occupied cells from how many pairs of sampled points share one (the birthday
// paradox).
inline double estimate_cells(const std::vector<double>& cells, const Plan& plan) {
    const size_t d = plan.low.size();
    std::vector<u64> keys;
    for (size_t k = 0; k < cells.size(); k += d) {
        u64 key = 0;
        for (size_t j = 0; j < d; ++j) key += static_cast<u64>(cells[k + j] - plan.low[j]) * plan.stride[j];
        keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    double pairs = 0;
    for (size_t k = 1, run = 0; k < keys.size(); ++k) {
        run = keys[k] == keys[k - 1] ? run + 1 : 0;
        pairs += static_cast<double>(run);
    }
    const double n = static_cast<double>(keys.size());
    return n * n / 2 / (pairs + 1);
}

inline Plan make_plan(const Points& points, const double* cell_size, Strategy requested) {
    constexpr u64 kForcedDense = u64{1} << 24, kRankedSlots = u64{1} << 31;
    Plan plan;
    if (requested == Strategy::wide || points.d > kMaxKeyAxes || points.n == 0) return plan;
    const i64 step = std::max<i64>(1, points.n / std::clamp<i64>(points.n / 32, 1024, 8192));
    auto cells = sample_cells(points, cell_size, step);
    const bool bytes = points.dtype == Dtype::u8;
    if (bytes)  // the box of all values, so that the byte tables cover every one
        for (const double value : {0.0, 255.0})
            for (int j = 0; j < points.d; ++j) cells.push_back(cell_of(quotient_of(value, cell_size[j])));
    if (!fit_box(cells, points.d, bytes || step == 1, plan)) return plan;
    const u64 n = static_cast<u64>(points.n);
    if (requested != Strategy::automatic) {
        const u64 most = requested == Strategy::dense    ? kForcedDense
                         : requested == Strategy::ranked ? kRankedSlots
                                                         : ~u64{0};
        if (plan.slots > most)
            throw BadInput("a box of " + std::to_string(plan.slots) +
                           " cells is too large for this strategy");
        plan.strategy = requested;
    } else if (plan.slots <= std::min(kDenseSlots, std::max<u64>(4096, n))) {
        plan.strategy = Strategy::dense;
    } else if (plan.slots <= kRankedSlots && plan.slots / 16 <= n) {
        plan.strategy = Strategy::ranked;
    } else {
        // Where sorting becomes faster: the estimate is low for data whose density varies.
        const bool few_per_cell = estimate_cells(cells, plan) > static_cast<double>(n) / 32;
        plan.strategy = few_per_cell ? Strategy::sorted : Strategy::hash;
    }
    return plan;
}

}  // namespace mspp
