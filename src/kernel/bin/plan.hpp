// The plan: which box of cells to number, and how to find a cell's row of sums from its number.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/bin/loops.hpp"
#include "kernel/cells/points.hpp"
#include "kernel/cells/rank.hpp"

namespace mspp {

enum class Strategy {
    automatic,
    dense,   // the number itself: one pass, for a box of few cells
    ranked,  // its rank among the occupied cells, from a bitmap of the box: two passes
    hash,    // a hash table: one pass, for a large box with many points a cell
    sorted,  // its rank, from sorting all points: for a large box where most points have a cell of their own
    wide,    // a hash table of whole cells: for any box, any dimension
};

inline constexpr u64 kDenseSlots = u64{1} << 18;  // a dense table of this size still fits the caches

struct Plan {
    Strategy strategy = Strategy::wide;
    std::vector<double> low, extent;
    std::vector<u64> stride;
    u64 slots = 0;  // cells in the box

    void cell_of(u64 slot, i64* cell) const {
        for (size_t j = 0; j < low.size(); ++j) {
            cell[j] = static_cast<i64>(low[j]) + static_cast<i64>(slot / stride[j]);
            slot %= stride[j];
        }
    }
};

// Cells of some points taken evenly, a row each; what is not finite is left to be found by the pass itself.
inline std::vector<double> sample_cells(const Points& points, const double* cell_size, i64 step) {
    std::vector<double> cells;
    cells.reserve(static_cast<size_t>((points.n / step + 3) * points.d));
    with_type(points.dtype, [&](auto zero) {
        for (i64 i = 0; i < points.n; i += step)
            for (int j = 0; j < points.d; ++j) {
                decltype(zero) x;
                std::memcpy(&x, points.at(i, j), sizeof x);
                const double q = static_cast<double>(x) / cell_size[j];
                cells.push_back(std::isfinite(q) ? std::floor(std::clamp(q, -kCellLimit, kCellLimit)) : 0.0);
            }
    });
    return cells;
}

// The box of a sample, with a margin where it is only a sample. False when its cells are too many to number
// exactly.
inline bool fit_box(const std::vector<double>& cells, int d, bool whole, Plan& plan) {
    double slots = 1;
    plan.low.assign(d, kCellLimit);
    plan.extent.assign(d, 0);
    plan.stride.assign(d, 1);
    for (int j = d - 1; j >= 0; --j) {
        double low = kCellLimit, high = -kCellLimit;
        for (size_t k = j; k < cells.size(); k += d) {
            low = std::min(low, cells[k]);
            high = std::max(high, cells[k]);
        }
        const double margin = whole ? 0 : std::max(1.0, std::floor((high - low) / 8));
        plan.low[j] = low - margin;
        plan.extent[j] = high - low + 1 + 2 * margin;
        if (low - margin <= -kCellLimit || high + margin >= kCellLimit) return false;
        if (!(slots * plan.extent[j] < static_cast<double>(kMaxExact))) return false;
        plan.stride[j] = static_cast<u64>(slots);
        slots *= plan.extent[j];
    }
    plan.slots = static_cast<u64>(slots);
    return true;
}

// A guess at the number of occupied cells from how often two sampled points share one (the birthday paradox).
inline double guess_cells(const std::vector<double>& cells, const Plan& plan) {
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

inline Plan make_plan(const Points& points, const double* cell_size, Strategy asked) {
    constexpr u64 kForcedDense = u64{1} << 24, kRankedSlots = u64{1} << 31;
    Plan plan;
    if (asked == Strategy::wide || points.d > kMaxKeyAxes || points.n == 0) return plan;
    const i64 step = std::max<i64>(1, points.n / std::clamp<i64>(points.n / 32, 1024, 8192));
    auto cells = sample_cells(points, cell_size, step);
    const bool bytes = points.dtype == Dtype::u8;
    if (bytes)  // the box of all values, so that tables can answer for every one
        for (const double value : {0.0, 255.0})
            for (int j = 0; j < points.d; ++j) cells.push_back(std::floor(value / cell_size[j]));
    if (!fit_box(cells, points.d, bytes || step == 1, plan)) return plan;
    if (asked != Strategy::automatic) {
        if (plan.slots > (asked == Strategy::dense    ? kForcedDense
                          : asked == Strategy::ranked ? kRankedSlots
                                                      : ~u64{0}))
            throw BadInput("a box of " + std::to_string(plan.slots) +
                           " cells is too large for this strategy");
        plan.strategy = asked;
    } else if (plan.slots <= std::min(kDenseSlots, static_cast<u64>(std::max<i64>(4096, points.n)))) {
        plan.strategy = Strategy::dense;
    } else if (plan.slots <= kRankedSlots && plan.slots / 16 <= static_cast<u64>(points.n)) {
        plan.strategy = Strategy::ranked;
    } else {
        plan.strategy =
            guess_cells(cells, plan) > static_cast<double>(points.n) / 2 ? Strategy::sorted : Strategy::hash;
    }
    return plan;
}

}  // namespace mspp
