// The marginal of an axis: how much weight lies in each of its cells, at the finest level with few cells.
//
// Cells are 2^level wide and begin at 0, so a cell is a union of cells of every finer level. The level is the
// finest at which at most kMost cells are occupied. The number of occupied cells only grows with the data, so
// the marginal of all points is that of its parts, added in any order. A far point occupies one cell, so
// unlike the range, the level hardly depends on outliers.
#pragma once

#include <atomic>

#include "kernel/leaves/cell_table.hpp"
#include "kernel/leaves/columns.hpp"

namespace mspp {

namespace detail {

// Where most values of an axis lie, in cells that a sample of them already needs.
struct Window {
    int level = CellTable::kLowest;
    double inverse = 1;  // of the size of a cell
    double first = 0;    // cell
    i64 cells = 0;       // 0 if all values are counted by hashing
    double period = 0;   // of an axis with one; a cell is then a part of it

    // OUT out (count,): the cell of each value in the window, -1 for those outside.
    void place(const double* values, int count, i32* out) const {
        const double scale = inverse, low = first, last = static_cast<double>(cells);
        if (period > 0) return place_in_period(values, count, out);
        for (int k = 0; k < count; ++k) {
            const double cell = cell_of(values[k] * scale) - low;
            const bool is_inside = (cell >= 0) & (cell < last);
            out[k] = static_cast<i32>(is_inside ? cell : -1.0);
        }
    }

  private:
    void place_in_period(const double* values, int count, i32* out) const {
        for (int k = 0; k < count; ++k) {
            const double turns = values[k] / period, part = turns - std::floor(turns);
            const double cell = cell_of(part * inverse);
            out[k] = static_cast<i32>(cell < inverse ? cell : 0);  // the part may round up to 1
        }
    }
};

// Counts the values of some axes in one pass. Cells of the window are counted in arrays, which is many times
// faster than hashing.
template <class T, class Count>
class ColumnCounter {
  public:
    // IN weights (n,) or null; windows of the axes from `first_axis` on.
    ColumnCounter(const Points& points, const u64* weights, int first_axis, std::vector<Window> windows,
                  int team)
        : points_(points), weights_(weights), first_axis_(first_axis), windows_(std::move(windows)) {
        for (int t = 0; t < team; ++t) {
            Tables& tables = threads_.emplace_back();
            for (const Window& window : windows_) {
                tables.counts.emplace_back(static_cast<size_t>(window.cells), Count{0});
                tables.others.emplace_back(window.level, window.cells > 0 ? 0 : points.n / team);
            }
        }
        parallel(team, [&](int t) {
            each_block(part(points.n, t, team), [&](i64 first, int count) {
                for (size_t a = 0; a < windows_.size(); ++a) add(a, first, count, threads_[t]);
            });
        });
    }

    // OUT found.level and entries of one of the axes.
    void store(size_t a, Marginal& found) {
        const Window& window = windows_[a];
        CellTable& others = threads_[0].others[a];
        for (size_t t = 1; t < threads_.size(); ++t) others.add(threads_[t].others[a]);
        for (i64 k = 0; k < window.cells; ++k) {
            u64 sum = 0;
            for (const Tables& each : threads_) sum += each.counts[a][k];
            if (sum > 0) found.entries.push_back({static_cast<i64>(window.first) + k, sum});
        }
        found.level = window.level;
        if (!others.is_empty())
            found = mspp::add(std::move(found), {others.level(), found.low, found.high, others.entries()});
        if (window.period == 0) keep_few(found);
    }

  private:
    struct Tables {  // of one thread
        std::vector<Array<Count>> counts;
        std::vector<CellTable> others;  // of values outside the windows
    };

    void add(size_t a, i64 first, int count, Tables& tables) {
        const Window& window = windows_[a];
        double values[kColumnRows] = {};  // compilers cannot see that all used values are loaded
        i32 cells[kColumnRows];
        load_column<T>(points_, first, count, first_axis_ + static_cast<int>(a), values);
        window.place(values, count, cells);
        Count* counts = tables.counts[a].data();
        if (weights_) {
            for (int k = 0; k < count; ++k)
                if (cells[k] >= 0) counts[cells[k]] += static_cast<Count>(weights_[first + k]);
        } else {
            for (int k = 0; k < count; ++k)
                if (cells[k] >= 0) ++counts[cells[k]];
        }
        for (int k = 0; k < count; ++k)
            if (cells[k] < 0 && std::isfinite(values[k])) tables.others[a].add(values[k], weight(first + k));
    }
    u64 weight(i64 row) const { return weights_ ? weights_[row] : 1; }

    const Points& points_;
    const u64* weights_;
    int first_axis_;
    std::vector<Window> windows_;
    std::vector<Tables> threads_;
};

// Finds the marginals of all axes: their ranges, then windows from a sample, then the counts.
template <class T>
class MarginalFinder {
  public:
    // IN weights (n,) or null; period (d,), 0 for none.
    MarginalFinder(const Points& points, const u64* weights, const double* period, int n_threads)
        : points_(points),
          weights_(weights),
          period_(period),
          team_(team_size(points.n, 1 << 16, n_threads)),
          found_(static_cast<size_t>(points.d), Marginal{0, HUGE_VAL, -HUGE_VAL, {}}) {}

    std::vector<Marginal> run() {
        find_ranges();
        if (points_.d > 0 && found_[0].low > found_[0].high)  // no row has a weight
            return std::vector<Marginal>(found_.size());
        std::vector<Window> windows(found_.size());
        std::atomic<int> next{0};
        parallel(std::min(team_, points_.d), [&](int) {
            for (int j; (j = next.fetch_add(1)) < points_.d;) windows[j] = window_of(j);
        });
        for (int first = 0, last; first < points_.d;
             first = last) {  // axes whose tables fit the cache together
            i64 cells = 0;
            for (last = first; last < points_.d && (last == first || cells < kMostCells); ++last)
                cells += windows[last].cells + kTableCells;
            const std::vector<Window> some(windows.begin() + first, windows.begin() + last);
            const bool are_few = !weights_ && points_.n <= i64{UINT32_MAX};
            are_few ? count<u32>(first, some) : count<u64>(first, some);
        }
        return std::move(found_);
    }

  private:
    static constexpr int kRangeBits = 22;  // of the cells of a sample
    static constexpr i64 kMostCells = i64{1} << kRangeBits, kSample = i64{1} << 17, kRun = 16,
                         kTableCells = 1 << 13;  // as large as a small hash table
    static constexpr int kWide = 8;

    template <class Count>
    void count(int first, const std::vector<Window>& windows) {
        ColumnCounter<T, Count> counter(points_, weights_, first, windows, team_);
        for (size_t a = 0; a < windows.size(); ++a) counter.store(a, found_[static_cast<size_t>(first) + a]);
    }

    // The least and the greatest value of each axis; rejects values that are not finite.
    void find_ranges() {
        std::vector<std::vector<Marginal>> threads(static_cast<size_t>(team_), found_);
        parallel(team_, [&](int t) {
            each_block(part(points_.n, t, team_), [&](i64 first, int count) {
                for (int j = 0; j < points_.d; ++j) widen_range(j, first, count, threads[t][j]);
            });
        });
        for (const auto& each : threads)
            for (size_t j = 0; j < found_.size(); ++j) {
                found_[j].low = std::min(found_[j].low, each[j].low);
                found_[j].high = std::max(found_[j].high, each[j].high);
            }
    }
    void widen_range(int j, i64 first, int count, Marginal& range) const {
        double values[kColumnRows];
        if (!load_column<T>(points_, first, count, j, values)) check_rows<T>(points_, {first, first + count});
        if (weights_) count = keep_weighted(values, weights_ + first, count);
        if (period_[j] > 0)
            for (int k = 0; k < count; ++k) values[k] -= std::floor(values[k] / period_[j]) * period_[j];
        while (count % kWide != 0) values[count++] = values[0];
        double low[kWide], high[kWide];  // several at a time, which compilers do not do by themselves
        std::fill_n(low, kWide, range.low), std::fill_n(high, kWide, range.high);
        for (int k = 0; k < count; k += kWide)
            for (int c = 0; c < kWide; ++c) {
                low[c] = values[k + c] < low[c] ? values[k + c] : low[c];
                high[c] = values[k + c] > high[c] ? values[k + c] : high[c];
            }
        range.low = *std::min_element(low, low + kWide), range.high = *std::max_element(high, high + kWide);
    }
    static int keep_weighted(double* values, const u64* weights, int count) {
        int kept = 0;
        for (int k = 0; k < count; ++k) {
            values[kept] = values[k];
            kept += weights[k] > 0;
        }
        return kept;
    }

    Window window_of(int j) const {
        if (period_[j] > 0) {
            constexpr i64 kCells = static_cast<i64>(Marginal::kMost);
            return {0, static_cast<double>(kCells), 0, kCells, period_[j]};
        }
        const double largest = std::max(std::fabs(found_[j].low), std::fabs(found_[j].high));
        const int exact = largest > 0
                              ? std::max(std::ilogb(largest) - Marginal::kBits + 1, CellTable::kLowest)
                              : CellTable::kLowest;
        Window window{exact};
        if (points_.n > static_cast<i64>(Marginal::kMost)) find_window(j, window);
        return window;
    }

    // Finds the level of a sample, which the level of all values is not below. The window holds the middle of
    // the sample and as much again on both sides, so that outliers do not widen it.
    void find_window(int j, Window& window) const {
        const std::vector<double> sample = sample_of(j);
        const auto [low, high] = middle_of(sample, found_[j]);
        if (!std::isfinite(high - low) || high - low < 0x1p-900) return;
        const double largest = std::max(std::fabs(low), std::fabs(high));
        const int finest =
            std::max(std::ilogb(high - low) - kRangeBits + 1, std::ilogb(largest) - Marginal::kBits + 1);
        const int bits = bits_to_join(sample, low, high, std::ldexp(1.0, -finest));
        if (bits == 0) return;  // few cells
        window.level = finest + bits;
        window.inverse = std::ldexp(1.0, -window.level);
        window.first = cell_of(low * window.inverse);
        window.cells = static_cast<i64>(cell_of(high * window.inverse) - window.first) + 1;
    }
    static int bits_to_join(const std::vector<double>& sample, double low, double high, double inverse) {
        const i64 first = static_cast<i64>(cell_of(low * inverse)) & ~i64{63};
        Array<u64> marks(static_cast<size_t>((static_cast<i64>(cell_of(high * inverse)) - first) / 64 + 1),
                         0);
        for (const double x : sample) {
            if (x < low || x > high) continue;
            const u64 at = static_cast<u64>(static_cast<i64>(cell_of(x * inverse)) - first);
            marks[at / 64] |= u64{1} << at % 64;
        }
        Joins joins;
        for (size_t w = 0; w < marks.size(); ++w)
            for (u64 rest = marks[w]; rest != 0; rest &= rest - 1)
                joins.add(first + static_cast<i64>(w) * 64 + std::countr_zero(rest));
        return joins.bits();
    }
    static std::pair<double, double> middle_of(const std::vector<double>& sample, const Marginal& range) {
        std::vector<double> some;
        for (size_t k = 0; k < sample.size(); k += 31) some.push_back(sample[k]);
        std::sort(some.begin(), some.end());
        const size_t tail = some.size() / 100;
        const double low = some[tail], high = some[some.size() - 1 - tail];
        return {std::max(range.low, low - (high - low)), std::min(range.high, high + (high - low))};
    }
    // Some values of an axis, from short runs of rows.
    std::vector<double> sample_of(int j) const {
        const i64 runs = std::min(points_.n, kSample) / kRun;
        std::vector<double> sample;
        for (i64 k = 0; k < runs * kRun; ++k) {
            const i64 row = points_.n / runs * (k / kRun) + k % kRun;
            if (!weights_ || weights_[row] > 0) sample.push_back(widen<T>(points_, row, j));
        }
        if (sample.empty()) sample.push_back(found_[j].low);
        return sample;
    }

    const Points& points_;
    const u64* weights_;
    const double* period_;
    int team_;
    std::vector<Marginal> found_;
};

}  // namespace detail

// The marginals of all axes. IN weights (n,), null for 1 each: points of weight 0 do not count; period (d,),
// 0 for none. Throws BadInput for a value that is not finite.
inline std::vector<Marginal> make_marginals(const Points& points, const u64* weights, const double* period,
                                            int n_threads) {
    return with_type(points.dtype, [&](auto type) {
        return detail::MarginalFinder<decltype(type)>(points, weights, period, n_threads).run();
    });
}

}  // namespace mspp
