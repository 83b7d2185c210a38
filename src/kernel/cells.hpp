// Occupied cells: sorting them, merging equal ones, and walking each row of cells with its neighbouring rows.
//
// Sorted lexicographically, cells form a trie: values of the first axis, below each those of the second, and
// so on; the last level are the cells, and cells that differ in the last axis only are a row, contiguous in
// memory. The rows next to a row are found on the way down, by pointers that only move forward. The cost
// follows the occupied cells: it is never 3^d where fewer cells than that are there, and d needs no upper
// limit.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "kernel/fixed.hpp"
#include "kernel/threads.hpp"

namespace mspp {

// The number of axes: known to the compiler for D > 0, to the object for D = 0.
template <int D>
struct Axes {
    explicit Axes(int) {}
    constexpr int operator()() const { return D; }
};
template <>
struct Axes<0> {
    explicit Axes(int d) : d(d) {}
    int operator()() const { return d; }
    int d;
};

// Cells as one 64-bit key each: a bit field per axis, the first axis on top, so that keys sort as cells do.
template <int D>
class Keys {
  public:
    using Key = u64;
    explicit Keys(const std::vector<int>& bits) : axes_(D) {
        int shift = 0;
        for (int j = D - 1; j >= 0; --j) {
            shift_[j] = shift;
            mask_[j] = bits[j] == 64 ? ~0ull : (1ull << bits[j]) - 1;
            shift += bits[j];
        }
    }
    static bool fits(const std::vector<int>& bits) {
        return std::accumulate(bits.begin(), bits.end(), 0) <= 64;
    }

    int axes() const { return D; }
    i64 size() const { return static_cast<i64>(keys_.size()); }
    void resize(i64 m) { keys_.resize(static_cast<size_t>(m)); }
    void reserve(i64 m) { keys_.reserve(static_cast<size_t>(m)); }
    void clear() { keys_.clear(); }
    i64 at(i64 i, int j) const { return static_cast<i64>((keys_[i] >> shift_[j]) & mask_[j]); }
    void set(i64 i, const i64* cell) {
        u64 key = 0;
        for (int j = 0; j < D; ++j) key |= static_cast<u64>(cell[j]) << shift_[j];
        keys_[i] = key;
    }
    bool equal(i64 i, i64 k) const { return keys_[i] == keys_[k]; }
    // The first axis in which two different cells differ.
    int first_difference(i64 i, i64 k) const {
        const u64 x = keys_[i] ^ keys_[k];
        int j = 0;
        while ((x >> shift_[j]) == 0) ++j;
        return j;
    }
    void push(const Keys& from, i64 i) { keys_.push_back(from.keys_[i]); }
    std::vector<u32> sorted_order() const;

  private:
    Axes<D> axes_;
    std::array<int, D> shift_{};
    std::array<u64, D> mask_{};
    std::vector<u64> keys_;
};

// Cells as rows of d integers, for any d and any extent.
template <>
class Keys<0> {
  public:
    explicit Keys(const std::vector<int>& bits) : d_(static_cast<int>(bits.size())) {}
    static bool fits(const std::vector<int>&) { return true; }

    int axes() const { return d_; }
    i64 size() const { return static_cast<i64>(cells_.size()) / d_; }
    void resize(i64 m) { cells_.resize(static_cast<size_t>(m * d_)); }
    void reserve(i64 m) { cells_.reserve(static_cast<size_t>(m * d_)); }
    void clear() { cells_.clear(); }
    i64 at(i64 i, int j) const { return cells_[i * d_ + j]; }
    void set(i64 i, const i64* cell) { std::copy(cell, cell + d_, cells_.begin() + i * d_); }
    bool equal(i64 i, i64 k) const { return std::equal(row(i), row(i) + d_, row(k)); }
    int first_difference(i64 i, i64 k) const {
        return static_cast<int>(std::mismatch(row(i), row(i) + d_, row(k)).first - row(i));
    }
    void push(const Keys& from, i64 i) { cells_.insert(cells_.end(), from.row(i), from.row(i) + d_); }
    std::vector<u32> sorted_order() const {
        std::vector<u32> order(static_cast<size_t>(size()));
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
            const int order = compare(a, b);
            return order < 0 || (order == 0 && a < b);
        });
        return order;
    }

  private:
    const i64* row(i64 i) const { return cells_.data() + i * d_; }
    int compare(i64 a, i64 b) const {
        for (int j = 0; j < d_; ++j)
            if (at(a, j) != at(b, j)) return at(a, j) < at(b, j) ? -1 : 1;
        return 0;
    }
    int d_;
    std::vector<i64> cells_;
};

// Least-significant-digit radix sort of (key, index) pairs; digits that all keys share cost nothing.
inline std::vector<u32> radix_order(const u64* keys, i64 m) {
    constexpr int kDigitBits = 11, kDigits = (64 + kDigitBits - 1) / kDigitBits, kBins = 1 << kDigitBits;
    struct Entry {
        u64 key;
        u32 index;
    };
    std::vector<Entry> a(static_cast<size_t>(m)), b(static_cast<size_t>(m));
    u64 any = 0, all = ~0ull;
    for (i64 i = 0; i < m; ++i) {
        a[i] = {keys[i], static_cast<u32>(i)};
        any |= keys[i];
        all &= keys[i];
    }
    std::vector<u32> start(kBins);
    for (int digit = 0; digit < kDigits; ++digit) {
        const int shift = digit * kDigitBits;
        if ((((any ^ all) >> shift) & (kBins - 1)) == 0) continue;
        std::fill(start.begin(), start.end(), 0u);
        for (i64 i = 0; i < m; ++i) ++start[(a[i].key >> shift) & (kBins - 1)];
        u32 sum = 0;
        for (u32& s : start) sum += std::exchange(s, sum);
        for (i64 i = 0; i < m; ++i) b[start[(a[i].key >> shift) & (kBins - 1)]++] = a[i];
        a.swap(b);
    }
    std::vector<u32> order(static_cast<size_t>(m));
    for (i64 i = 0; i < m; ++i) order[i] = a[i].index;
    return order;
}

template <int D>
std::vector<u32> Keys<D>::sorted_order() const {
    if (size() > 256) return radix_order(keys_.data(), size());
    std::vector<u32> order(keys_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return keys_[a] < keys_[b]; });
    return order;
}

// Which bit fields hold the cells of [low, high] with one spare cell on either side.
struct Box {
    std::vector<i64> low, high;
    explicit Box(int d) : low(static_cast<size_t>(d), INT64_MAX), high(static_cast<size_t>(d), INT64_MIN) {}
    void add(const i64* cell) {
        for (size_t j = 0; j < low.size(); ++j) {
            low[j] = std::min(low[j], cell[j]);
            high[j] = std::max(high[j], cell[j]);
        }
    }
    std::vector<int> bits() const {
        std::vector<int> bits;
        for (size_t j = 0; j < low.size(); ++j)
            bits.push_back(std::bit_width(static_cast<u64>(high[j] - low[j]) + 3));
        return bits;
    }
};

// Calls fn(std::integral_constant<int, D>) with D = d where a 64-bit key can hold the cells of the box, else
// D = 0.
template <class Fn>
auto with_keys(const Box& box, Fn&& fn) {
    const auto bits = box.bits();
    const size_t d = Keys<1>::fits(bits) ? bits.size() : 0;
    switch (d) {
        case 1:
            return fn(std::integral_constant<int, 1>{});
        case 2:
            return fn(std::integral_constant<int, 2>{});
        case 3:
            return fn(std::integral_constant<int, 3>{});
        case 4:
            return fn(std::integral_constant<int, 4>{});
        case 5:
            return fn(std::integral_constant<int, 5>{});
        case 6:
            return fn(std::integral_constant<int, 6>{});
        default:
            return fn(std::integral_constant<int, 0>{});
    }
}

// The keys of cells given as rows of d integers, relative to the box, which leaves the spare cell below at 0.
template <int D>
Keys<D> make_keys(const i64* cells, i64 m, const Box& box) {
    Keys<D> keys(box.bits());
    keys.resize(m);
    const int d = keys.axes();
    std::vector<i64> cell(static_cast<size_t>(d));
    for (i64 i = 0; i < m; ++i) {
        for (int j = 0; j < d; ++j) cell[j] = cells[i * d + j] - box.low[j] + 1;
        keys.set(i, cell.data());
    }
    return keys;
}

// The inner levels of the trie over sorted, distinct cells.
class Trie {
  public:
    template <class K>
    explicit Trie(const K& keys) : levels_(static_cast<size_t>(keys.axes() - 1)) {
        const i64 m = keys.size();
        for (i64 i = 0; i < m; ++i) {
            const int from = i == 0 ? 0 : keys.first_difference(i - 1, i);
            for (int l = from; l < keys.axes() - 1; ++l) {
                const bool last = l == keys.axes() - 2;
                levels_[l].first_child.push_back(static_cast<u32>(last ? i : levels_[l + 1].value.size()));
                levels_[l].value.push_back(keys.at(i, l));
            }
        }
        for (size_t l = 0; l < levels_.size(); ++l) {
            const bool last = l + 1 == levels_.size();
            levels_[l].first_child.push_back(static_cast<u32>(last ? m : levels_[l + 1].value.size()));
        }
    }
    struct Level {
        std::vector<i64> value;
        std::vector<u32> first_child;  // one more than values: the end of the last one's children
    };
    const std::vector<Level>& levels() const { return levels_; }

  private:
    std::vector<Level> levels_;
};

struct Span {
    u32 begin, end;
};

// For every row of query cells within a range of them: row(first, last, rows), rows being the spans of target
// cells whose first d-1 coordinates are each at most one away from the row's.
template <class RowFn>
class Walk {
  public:
    Walk(const Trie& query, const Trie& target, RowFn row)
        : query_(query), target_(target), row_(std::move(row)) {
        near_.resize(query.levels().size() + 1);
    }

    void run(Range cells, i64 n_target) {
        if (cells.size() == 0 || n_target == 0) return;
        const auto& levels = query_.levels();
        bounds_.assign(levels.size() + 1, {});
        Span span{static_cast<u32>(cells.begin), static_cast<u32>(cells.end)};
        bounds_.back() = span;
        for (size_t l = levels.size(); l-- > 0;) {
            const auto& first = levels[l].first_child;
            auto holder = [&](u32 child) {
                return static_cast<u32>(std::upper_bound(first.begin(), first.end() - 1, child) -
                                        first.begin() - 1);
            };
            span = {holder(span.begin), holder(span.end - 1) + 1};
            bounds_[l] = span;
        }
        const u32 top =
            levels.empty() ? static_cast<u32>(n_target) : static_cast<u32>(target_.levels()[0].value.size());
        near_[0].assign(1, {0, top});
        visit(0, bounds_[0]);
    }

  private:
    void visit(size_t l, Span nodes) {
        nodes = {std::max(nodes.begin, bounds_[l].begin), std::min(nodes.end, bounds_[l].end)};
        if (l == query_.levels().size()) return row_(nodes.begin, nodes.end, near_[l]);
        const auto& query = query_.levels()[l];
        const auto& target = target_.levels()[l];
        for (u32 q = nodes.begin; q < nodes.end; ++q) {
            const i64 v = query.value[q];
            near_[l + 1].clear();
            for (Span& span : near_[l]) {
                while (span.begin < span.end && target.value[span.begin] < v - 1) ++span.begin;
                for (u32 k = span.begin; k < span.end && target.value[k] <= v + 1; ++k)
                    near_[l + 1].push_back({target.first_child[k], target.first_child[k + 1]});
            }
            visit(l + 1, {query.first_child[q], query.first_child[q + 1]});
        }
    }

    const Trie& query_;
    const Trie& target_;
    RowFn row_;
    std::vector<Span> bounds_;  // per level: the nodes that hold the range of cells asked for
    std::vector<std::vector<Span>>
        near_;  // per level: what is left to see of each neighbouring node's children
};

// Occupied cells with what is in them: rows of 1 + d lanes, the count and d sums.
struct CellTable {
    int d;
    std::vector<i64> cells;
    std::vector<u64> lanes;
    explicit CellTable(int d) : d(d) {}
    i64 size() const { return static_cast<i64>(cells.size()) / d; }
};

// Sorts the table and adds up rows of the same cell; place[i] becomes where row i went.
inline void sort_and_merge(CellTable& table, std::vector<u32>& place) {
    const int d = table.d;
    const i64 m = table.size();
    Box box(d);
    for (i64 i = 0; i < m; ++i) box.add(&table.cells[i * d]);
    place.resize(static_cast<size_t>(m));
    if (m == 0) return;
    with_keys(box, [&](auto D) {
        const auto keys = make_keys<D>(table.cells.data(), m, box);
        const auto order = keys.sorted_order();
        CellTable merged(d);
        merged.cells.reserve(table.cells.size());
        merged.lanes.reserve(table.lanes.size());
        for (i64 k = 0; k < m; ++k) {
            const i64 i = order[k];
            const u64* lanes = &table.lanes[i * (d + 1)];
            if (k > 0 && keys.equal(order[k - 1], i)) {
                u64* sum = &merged.lanes[merged.lanes.size() - (d + 1)];
                for (int j = 0; j <= d; ++j) sum[j] += lanes[j];
            } else {
                merged.cells.insert(merged.cells.end(), &table.cells[i * d], &table.cells[i * d] + d);
                merged.lanes.insert(merged.lanes.end(), lanes, lanes + d + 1);
            }
            place[i] = static_cast<u32>(merged.size() - 1);
        }
        table = std::move(merged);
    });
}

}  // namespace mspp
