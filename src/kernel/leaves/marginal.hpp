// The marginal of an axis: how much weight lies in each of its cells, at the finest level with few cells.
//
// Cells are 2^level wide and begin at 0, so a cell is a union of cells of every finer level. The level is the
// finest at which at most kMost cells are occupied. The number of occupied cells only grows with the data, so
// the marginal of all points is that of its parts, added in any order. A far point occupies one cell, so
// unlike the range, the level hardly depends on outliers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/mix_bits.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

struct Marginal {
    static constexpr size_t kMost = kMarginalCells;
    static constexpr int kBits = 51;  // |x| is below 2^(level + kBits), so that cells are exact
    struct Entry {
        i64 cell;
        u64 weight;
    };

    int level = 0;  // of an axis without a period; a period is divided into kMost cells
    double low = 0, high = 0;
    Array<Entry> entries;  // in rising order
};

namespace detail {

// One column of the points, with weights.
template <class T>
struct Column {
    const Points& points;
    const u64* weights;
    int axis;

    // Calls fn(x, weight) for each row of positive weight in a part of the rows, in parallel.
    template <class Fn>
    void each(int team, Fn&& fn) const {
        parallel(team, [&](int t) {
            each_of(part(points.n, t, team), [&](i64 i) {
                const u64 weight = weights ? weights[i] : 1;
                if (weight > 0) fn(t, widen<T>(points, i, axis), weight);
            });
        });
    }
};

// The occupied cells in a hash table, which joins cells when there are too many.
class CellTable {
  public:
    using Entry = Marginal::Entry;
    int level() const { return level_; }

    void add(double x, u64 weight) {
        if (std::fabs(x) >= limit_) raise(std::ilogb(x) - Marginal::kBits + 1 - level_);
        put(static_cast<i64>(cell_of(x * inverse_)), weight);
    }

    void add(const CellTable& other) {
        raise(other.level_ - level_);
        for (const Entry& each : other.table_)
            if (each.weight > 0) put(joined(each.cell, level_ - other.level_), each.weight);
    }

    Array<Entry> entries() {
        if (size_ > Marginal::kMost) coarsen();
        Array<Entry> found;
        for (const Entry& each : table_)
            if (each.weight > 0) found.push_back(each);
        std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.cell < b.cell; });
        return found;
    }

  private:
    static constexpr int kLowest = -1000;  // 2^1000 is finite
    static constexpr size_t kRoom = Marginal::kMost + Marginal::kMost / 2, kFirstSlots = size_t{1} << 10;

    static i64 joined(i64 cell, int bits) { return cell >> std::min(bits, 63); }

    size_t slot_of(i64 cell) const {
        const size_t mask = table_.size() - 1;
        size_t slot = static_cast<size_t>(mix_bits(static_cast<u64>(cell))) & mask;
        while (table_[slot].weight > 0 && table_[slot].cell != cell) slot = (slot + 1) & mask;
        return slot;
    }

    void put(i64 cell, u64 weight) {
        Entry& entry = table_[slot_of(cell)];
        size_ += entry.weight == 0;
        entry = {cell, entry.weight + weight};
        if (4 * size_ > 3 * table_.size()) size_ <= kRoom ? rebuild(0, 2 * table_.size()) : coarsen();
    }

    // Joins 2^bits cells to one; none if `bits` is not above 0.
    void raise(int bits) {
        if (bits <= 0) return;
        level_ += bits;
        limit_ = std::ldexp(1.0, level_ + Marginal::kBits);
        inverse_ = std::ldexp(1.0, -level_);
        rebuild(bits, table_.size());
    }

    void rebuild(int bits, size_t slots) {
        poll();
        const Array<Entry> old = std::exchange(table_, Array<Entry>(slots, Entry{0, 0}));
        size_ = 0;
        for (const Entry& each : old) {
            if (each.weight == 0) continue;
            Entry& entry = table_[slot_of(joined(each.cell, bits))];
            size_ += entry.weight == 0;
            entry = {joined(each.cell, bits), entry.weight + each.weight};
        }
    }

    // Raises the level to the finest with at most kMost cells.
    void coarsen() {
        std::vector<i64> cells;
        for (const Entry& each : table_)
            if (each.weight > 0) cells.push_back(each.cell);
        std::sort(cells.begin(), cells.end());
        size_t last_at[65] = {};  // how many cells join the one before when so many bits are dropped
        for (size_t k = 1; k < cells.size(); ++k)
            ++last_at[std::bit_width(static_cast<u64>(cells[k - 1] ^ cells[k]))];
        size_t left = cells.size();
        int bits = 0;
        while (left > Marginal::kMost) left -= last_at[++bits];
        raise(bits);
    }

    int level_ = kLowest;
    double limit_ = std::ldexp(1.0, kLowest + Marginal::kBits), inverse_ = std::ldexp(1.0, -kLowest);
    Array<Entry> table_ = Array<Entry>(kFirstSlots, Entry{0, 0});
    size_t size_ = 0;
};

// Finds the marginal of one axis. Cells within a range of up to 2^kRangeBits are counted in arrays, which is
// many times faster than by hashing, if that range shows at which level there are few enough.
template <class T>
class MarginalFinder {
  public:
    MarginalFinder(Column<T> column, int n_threads)
        : column_(column), team_(team_size(column.points.n, 1 << 16, n_threads)) {}

    Marginal run(double period) {
        if (period > 0) return periodic(period);
        find_range([](double x) { return x; });
        if (found_.low > found_.high) return {};  // no row has a weight
        if (!(column_.points.n > static_cast<i64>(Marginal::kMost) && find_level())) hash();
        return std::move(found_);
    }

  private:
    static constexpr int kRangeBits = 22;

    template <class Value>
    void find_range(Value&& value) {
        const double infinity = std::numeric_limits<double>::infinity();
        std::vector<double> low(static_cast<size_t>(team_), infinity),
            high(static_cast<size_t>(team_), -infinity);
        column_.each(team_, [&](int t, double x, u64) {
            low[t] = std::min(low[t], value(x));
            high[t] = std::max(high[t], value(x));
        });
        found_.low = *std::min_element(low.begin(), low.end());
        found_.high = *std::max_element(high.begin(), high.end());
    }

    // Finds the level in a bitmap of the cells. False if even its finest cells are few.
    bool find_level() {
        const double range = found_.high - found_.low;
        const double size = std::max(std::fabs(found_.low), std::fabs(found_.high));
        if (!std::isfinite(range) || range < 0x1p-900) return false;
        const int finest =
            std::max(std::ilogb(range) - kRangeBits + 1, std::ilogb(size) - Marginal::kBits + 1);
        const double inverse = std::ldexp(1.0, -finest);
        const i64 first = static_cast<i64>(cell_of(found_.low * inverse)) & ~i64{63};
        const i64 words = (static_cast<i64>(cell_of(found_.high * inverse)) - first) / 64 + 1;
        std::vector<Array<u64>> marks(static_cast<size_t>(team_), Array<u64>(static_cast<size_t>(words), 0));
        column_.each(team_, [&](int t, double x, u64) {
            const u64 at = static_cast<u64>(static_cast<i64>(cell_of(x * inverse)) - first);
            marks[t][at / 64] |= u64{1} << at % 64;
        });
        for (int t = 1; t < team_; ++t)
            for (i64 w = 0; w < words; ++w) marks[0][w] |= marks[t][w];
        const int bits = bits_to_join(marks[0], first);
        if (bits == 0) return false;
        found_.level = finest + bits;
        count();
        return true;
    }

    // How many bits of the marked cells to drop until there are at most kMost.
    static int bits_to_join(const Array<u64>& marks, i64 first) {
        size_t count = 0, joins[65] = {};
        i64 before = 0;
        for (size_t w = 0; w < marks.size(); ++w)
            for (u64 rest = marks[w]; rest != 0; rest &= rest - 1) {
                const i64 cell = first + static_cast<i64>(w) * 64 + std::countr_zero(rest);
                if (count++ > 0) ++joins[std::bit_width(static_cast<u64>(before ^ cell))];
                before = cell;
            }
        int bits = 0;
        while (count > Marginal::kMost) count -= joins[++bits];
        return bits;
    }

    void count() {
        const double inverse = std::ldexp(1.0, -found_.level);
        const i64 first = static_cast<i64>(cell_of(found_.low * inverse));
        const i64 cells = static_cast<i64>(cell_of(found_.high * inverse)) - first + 1;
        count_cells(first, cells, [&](double x) { return static_cast<i64>(cell_of(x * inverse)); });
    }

    template <class CellOf>
    void count_cells(i64 first, i64 cells, CellOf&& cell_at) {
        std::vector<Array<u64>> weights(static_cast<size_t>(team_),
                                        Array<u64>(static_cast<size_t>(cells), 0));
        column_.each(team_, [&](int t, double x, u64 weight) { weights[t][cell_at(x) - first] += weight; });
        for (i64 k = 0; k < cells; ++k) {
            u64 sum = 0;
            for (const Array<u64>& each : weights) sum += each[k];
            if (sum > 0) found_.entries.push_back({first + k, sum});
        }
    }

    void hash() {
        std::vector<CellTable> tables(static_cast<size_t>(team_));
        column_.each(team_, [&](int t, double x, u64 weight) { tables[t].add(x, weight); });
        for (int t = 1; t < team_; ++t) tables[0].add(tables[t]);
        found_.entries = tables[0].entries();
        found_.level = tables[0].level();
    }

    Marginal periodic(double period) {
        constexpr i64 kCells = static_cast<i64>(Marginal::kMost);
        count_cells(0, kCells, [&](double x) {
            const double turns = x / period, part = turns - std::floor(turns);
            return static_cast<i64>(part * static_cast<double>(kCells)) % kCells;  // part may round up to 1
        });
        find_range([&](double x) { return x - std::floor(x / period) * period; });
        return std::move(found_);
    }

    Column<T> column_;
    int team_;
    Marginal found_{0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), {}};
};

}  // namespace detail

// Throws BadInput for the first value that is not finite.
template <class T>
void check_finite(const Points& points, int n_threads) {
    const int team = team_size(points.n, 1 << 16, n_threads);
    parallel(team, [&](int t) {
        each_of(part(points.n, t, team), points.d, [&](i64 i) {
            for (int j = 0; j < points.d; ++j)
                if (const double x = widen<T>(points, i, j); !std::isfinite(x)) reject(i, j, x, 1.0);
        });
    });
}

// The marginals of all axes. IN weights (n,), null for 1 each: points of weight 0 do not count; period (d,),
// 0 for none. Throws BadInput for a value that is not finite.
inline std::vector<Marginal> make_marginals(const Points& points, const u64* weights, const double* period,
                                            int n_threads) {
    std::vector<Marginal> found;
    with_type(points.dtype, [&](auto type) {
        using T = decltype(type);
        check_finite<T>(points, n_threads);
        for (int j = 0; j < points.d; ++j)
            found.push_back(detail::MarginalFinder<T>({points, weights, j}, n_threads).run(period[j]));
    });
    return found;
}

}  // namespace mspp
