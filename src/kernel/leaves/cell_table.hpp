// A marginal: the occupied cells of one axis, their sum with others, and joining them until few are left.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/limits.hpp"
#include "kernel/base/mix_bits.hpp"
#include "kernel/base/threads.hpp"

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

inline i64 joined(i64 cell, int bits) { return cell >> std::min(bits, 63); }

// Drops bits of cells in rising order, and adds up the weights of those that become one.
inline void join_cells(Array<Marginal::Entry>& entries, int bits) {
    size_t n = 0;
    for (const Marginal::Entry each : entries) {
        const i64 cell = joined(each.cell, bits);
        if (n > 0 && entries[n - 1].cell == cell)
            entries[n - 1].weight += each.weight;
        else
            entries[n++] = {cell, each.weight};
    }
    entries.resize(n);
}

// How many bits of rising cells to drop until at most kMost are left.
class Joins {
  public:
    void add(i64 cell) {
        if (count_++ > 0) ++joins_[std::bit_width(static_cast<u64>(before_ ^ cell))];
        before_ = cell;
    }
    int bits() const {
        size_t left = count_;
        int bits = 0;
        while (left > Marginal::kMost) left -= joins_[++bits];
        return bits;
    }

  private:
    size_t count_ = 0, joins_[65] = {};  // of cells that join the one before when so many bits are dropped
    i64 before_ = 0;
};

// Joins cells until at most kMost are left.
inline void keep_few(Marginal& marginal) {
    if (marginal.entries.size() <= Marginal::kMost) return;
    Joins joins;
    for (const auto& [cell, weight] : marginal.entries) joins.add(cell);
    join_cells(marginal.entries, joins.bits());
    marginal.level += joins.bits();
}

// The occupied cells in a hash table, which joins cells when there are too many.
class CellTable {
  public:
    using Entry = Marginal::Entry;
    // IN level: the least; expected: how many cells to have room for at first.
    explicit CellTable(int level = kLowest, i64 expected = 0)
        : table_(
              std::clamp(std::bit_ceil(2 * static_cast<size_t>(expected)), kFirstSlots, 2 * Marginal::kMost),
              Entry{0, 0}) {
        raise(level - kLowest);
    }
    int level() const { return level_; }
    bool is_empty() const { return size_ == 0; }

    void add(double x, u64 weight) {
        if (weight == 0) return;
        if (std::fabs(x) >= limit_) raise(std::ilogb(x) - Marginal::kBits + 1 - level_);
        put(static_cast<i64>(cell_of(x * inverse_)), weight);
    }

    void add(const CellTable& other) {
        raise(other.level_ - level_);
        for (const Entry& each : other.table_)
            if (each.weight > 0) put(joined(each.cell, level_ - other.level_), each.weight);
    }

    // In rising order.
    Array<Entry> entries() const {
        Array<Entry> found;
        for (const Entry& each : table_)
            if (each.weight > 0) found.push_back(each);
        std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.cell < b.cell; });
        return found;
    }

    static constexpr int kLowest = -1000;  // 2^1000 is finite

  private:
    static constexpr size_t kRoom = Marginal::kMost + Marginal::kMost / 2, kFirstSlots = size_t{1} << 10;

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
        Joins joins;
        for (const i64 cell : cells) joins.add(cell);
        raise(joins.bits());
    }

    int level_ = kLowest;
    double limit_ = std::ldexp(1.0, kLowest + Marginal::kBits), inverse_ = std::ldexp(1.0, -kLowest);
    Array<Entry> table_;
    size_t size_ = 0;
};

}  // namespace detail

// The marginal of all points from those of two parts.
inline Marginal add(Marginal a, Marginal b) {
    if (a.entries.empty() || b.entries.empty()) return a.entries.empty() ? b : a;
    Marginal sum{std::max(a.level, b.level), std::min(a.low, b.low), std::max(a.high, b.high), {}};
    for (Marginal* part : {&a, &b}) detail::join_cells(part->entries, sum.level - part->level);
    sum.entries.resize(a.entries.size() + b.entries.size());
    std::merge(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), sum.entries.begin(),
               [](const Marginal::Entry& s, const Marginal::Entry& t) { return s.cell < t.cell; });
    detail::join_cells(sum.entries, 0);
    detail::keep_few(sum);
    return sum;
}

}  // namespace mspp
