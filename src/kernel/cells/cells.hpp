// Occupied cells: their keys, their order, and the walk over each row of cells with its neighbouring rows.
//
// Sorted lexicographically, cells form a trie: values of the first axis, below each those of the second, and
// so on; the last level are the cells, and cells that differ in the last axis only are a row, contiguous in
// memory. The rows next to a row are found on the way down, by pointers that only move forward. The cost
// follows the occupied cells: it is never that of a whole window where fewer cells than that are there, and d
// needs no upper limit.
#pragma once

#include <array>
#include <numeric>

#include "kernel/base/threads.hpp"
#include "kernel/cells/rank.hpp"

namespace mspp {

// Occupied cells with what is in them, as Python holds them.
struct GridView {
    int d;
    i64 m;
    const i64* cells;   // (m, d), distinct and in lexicographic order unless said otherwise
    const u64* counts;  // (m,)
    const u64* sums;    // (m, d)
};

struct GridData {
    int d;
    Array<i64> cells;
    Array<u64> counts, sums;
    i64 size() const { return static_cast<i64>(counts.size()); }
    GridView view() const { return {d, size(), cells.data(), counts.data(), sums.data()}; }
};

// The smallest box of cells around what was added.
struct Box {
    std::vector<i64> low, high;
    explicit Box(int d) : low(static_cast<size_t>(d), INT64_MAX), high(static_cast<size_t>(d), INT64_MIN) {}
    void add(const i64* cells, i64 m) {
        const size_t d = low.size();
        for (i64 i = 0; i < m; ++i)
            for (size_t j = 0; j < d; ++j) {
                low[j] = std::min(low[j], cells[i * d + j]);
                high[j] = std::max(high[j], cells[i * d + j]);
            }
    }
    // Cells along an axis, with one to spare on either side.
    u64 extent(size_t j) const { return static_cast<u64>(high[j] - low[j]) + 3; }
    // Bits of a key that has a field for each axis.
    int key_bits() const {
        int bits = 0;
        for (size_t j = 0; j < low.size(); ++j) bits += std::bit_width(extent(j));
        return bits;
    }
};

// Cells as one 64-bit key each: a bit field per axis, the first axis on top, so that keys sort as cells do.
// Coordinates are relative to the box and start at 1: the spare cell below is 0.
template <int D>
class Keys {
  public:
    explicit Keys(const Box& box) {
        int shift = 0;
        double slots = 1;
        for (int j = D - 1; j >= 0; --j) {
            const int bits = std::bit_width(box.extent(j));
            shift_[j] = shift;
            mask_[j] = bits == 64 ? ~0ull : (1ull << bits) - 1;
            shift += bits;
            stride_[j] = static_cast<u64>(slots);
            slots *= static_cast<double>(box.extent(j));
            if (slots > 0x1p62) slots = 0x1p62;
        }
        slots_ = static_cast<u64>(slots);
    }

    constexpr int axes() const { return D; }
    i64 size() const { return static_cast<i64>(keys_.size()); }
    void resize(i64 m) { keys_.resize(static_cast<size_t>(m)); }
    i64 at(i64 i, int j) const { return static_cast<i64>((keys_[i] >> shift_[j]) & mask_[j]); }
    i64 last(i64 i) const { return static_cast<i64>(keys_[i] & mask_[D - 1]); }
    void set(i64 i, const i64* cell) {
        u64 key = 0;
        for (int j = 0; j < D; ++j) key |= static_cast<u64>(cell[j]) << shift_[j];
        keys_[i] = key;
    }
    void copy(i64 i, const Keys& from, i64 k) { keys_[i] = from.keys_[k]; }
    bool equal(i64 i, const Keys& other, i64 k) const { return keys_[i] == other.keys_[k]; }
    // The first axis in which two different cells differ.
    int first_difference(i64 i, i64 k) const {
        const u64 x = keys_[i] ^ keys_[k];
        int j = 0;
        while ((x >> shift_[j]) == 0) ++j;
        return j;
    }

    // OUT place[i]: the rank of cell i among the distinct cells. Returns their number.
    i64 rank(Array<u32>& place, int team) {
        const i64 m = size();
        place.resize(static_cast<size_t>(m));
        if (!BitRank::suits(slots_, m)) return sort_.rank(keys_.data(), m, place.data());
        marks_.reset(slots_);
        for (i64 i = 0; i < m; ++i) marks_.mark(slot(i));
        const i64 distinct = marks_.count();
        parallel(team, [&](int t) {
            const Range range = part(m, t, team);
            for (i64 i = range.begin; i < range.end; ++i) place[i] = marks_.of(slot(i));
        });
        return distinct;
    }

  private:
    u64 slot(i64 i) const {
        u64 slot = 0;
        for (int j = 0; j < D; ++j) slot += static_cast<u64>(at(i, j)) * stride_[j];
        return slot;
    }
    std::array<int, D> shift_{};
    std::array<u64, D> mask_{}, stride_{};
    u64 slots_ = 0;  // cells in the box
    Array<u64> keys_;
    BitRank marks_;
    RadixSort sort_;
};

// Cells as rows of d integers, for any d and any extent.
template <>
class Keys<0> {
  public:
    explicit Keys(const Box& box) : d_(static_cast<int>(box.low.size())) {}

    int axes() const { return d_; }
    i64 size() const { return static_cast<i64>(cells_.size()) / d_; }
    void resize(i64 m) { cells_.resize(static_cast<size_t>(m * d_)); }
    i64 at(i64 i, int j) const { return cells_[i * d_ + j]; }
    i64 last(i64 i) const { return cells_[i * d_ + d_ - 1]; }
    void set(i64 i, const i64* cell) { std::copy(cell, cell + d_, cells_.begin() + i * d_); }
    void copy(i64 i, const Keys& from, i64 k) { set(i, from.row(k)); }
    bool equal(i64 i, const Keys& other, i64 k) const {
        return std::equal(row(i), row(i) + d_, other.row(k));
    }
    int first_difference(i64 i, i64 k) const {
        return static_cast<int>(std::mismatch(row(i), row(i) + d_, row(k)).first - row(i));
    }
    i64 rank(Array<u32>& place, int) {
        const i64 m = size();
        place.resize(static_cast<size_t>(m));
        std::vector<u32> order(static_cast<size_t>(m));
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
            return std::lexicographical_compare(row(a), row(a) + d_, row(b), row(b) + d_);
        });
        u32 rank = 0;
        for (i64 k = 0; k < m; ++k) {
            rank += k > 0 && !equal(order[k - 1], *this, order[k]);
            place[order[k]] = rank;
        }
        return m == 0 ? 0 : i64{rank} + 1;
    }

  private:
    const i64* row(i64 i) const { return cells_.data() + i * d_; }
    int d_;
    Array<i64> cells_;
};

// Calls fn(std::integral_constant<int, D>) with D = d where a 64-bit key can hold the cells of the box, else
// D = 0.
template <class Fn>
auto with_keys(const Box& box, Fn&& fn) {
    switch (box.key_bits() <= 64 ? box.low.size() : 0) {
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

template <int D>
Keys<D> make_keys(const i64* cells, i64 m, const Box& box) {
    Keys<D> keys(box);
    keys.resize(m);
    const int d = keys.axes();
    std::vector<i64> cell(static_cast<size_t>(d));
    for (i64 i = 0; i < m; ++i) {
        for (int j = 0; j < d; ++j) cell[j] = cells[i * d + j] - box.low[j] + 1;
        keys.set(i, cell.data());
    }
    return keys;
}

// The inner levels of the trie over sorted, distinct cells. Cells can be stirred; so is then every node above
// them.
class Trie {
  public:
    struct Level {
        std::vector<i64> value;
        std::vector<u32> first_child;  // one more than values: the end of the last one's children
        std::vector<char> stirred;
    };

    template <class K>
    void build(const K& keys, const char* stirred = nullptr) {
        const i64 m = keys.size();
        const int inner = keys.axes() - 1;
        levels_.resize(static_cast<size_t>(inner));
        for (Level& level : levels_) {
            level.value.clear();
            level.first_child.clear();
            level.stirred.clear();
        }
        auto below = [&](int l, i64 i) {
            return static_cast<u32>(l == inner - 1 ? i : static_cast<i64>(levels_[l + 1].value.size()));
        };
        for (i64 i = 0; i < m; ++i) {
            for (int l = i == 0 ? 0 : keys.first_difference(i - 1, i); l < inner; ++l) {
                levels_[l].first_child.push_back(below(l, i));
                levels_[l].value.push_back(keys.at(i, l));
                levels_[l].stirred.push_back(0);
            }
            if (!stirred || stirred[i])
                for (Level& level : levels_) level.stirred.back() = 1;
        }
        for (int l = 0; l < inner; ++l) levels_[l].first_child.push_back(below(l, m));
        size_ = m;
    }
    const std::vector<Level>& levels() const { return levels_; }
    // Nodes of the top level, or cells where there is no other level.
    u32 top() const {
        return static_cast<u32>(levels_.empty() ? size_ : static_cast<i64>(levels_[0].value.size()));
    }

  private:
    std::vector<Level> levels_;
    i64 size_ = 0;
};

struct Span {
    u32 begin, end;
};

// For every row of query cells within a range of them: row(first, last, rows), rows being the spans of target
// cells whose first d-1 coordinates are each at most `reach` away from the row's. Branches near which nothing
// is stirred are passed over. With a smaller depth it ends that many levels down: rows are then subtrees.
template <class RowFn>
class Walk {
  public:
    Walk(const Trie& query, const Trie& target, RowFn row, i64 reach = 1)
        : Walk(query, target, std::move(row), reach, query.levels().size()) {}
    Walk(const Trie& query, const Trie& target, RowFn row, i64 reach, size_t depth)
        : query_(query),
          target_(target),
          row_(std::move(row)),
          reach_(reach),
          depth_(depth),
          near_(query.levels().size() + 1) {}

    void run(Range cells) {
        if (cells.size() == 0 || target_.top() == 0) return;
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
        near_[0].assign(1, {0, target_.top()});
        visit(0, bounds_[0]);
    }

  private:
    void visit(size_t l, Span nodes) {
        nodes = {std::max(nodes.begin, bounds_[l].begin), std::min(nodes.end, bounds_[l].end)};
        if (l == depth_) return row_(nodes.begin, nodes.end, near_[l]);
        const auto& query = query_.levels()[l];
        const auto& target = target_.levels()[l];
        for (u32 q = nodes.begin; q < nodes.end; ++q) {
            const i64 v = query.value[q];
            bool stirred = false;
            near_[l + 1].clear();
            for (Span& span : near_[l]) {
                while (span.begin < span.end && target.value[span.begin] < v - reach_) ++span.begin;
                for (u32 k = span.begin; k < span.end && target.value[k] <= v + reach_; ++k) {
                    near_[l + 1].push_back({target.first_child[k], target.first_child[k + 1]});
                    stirred |= target.stirred[k] != 0;
                }
            }
            if (stirred) visit(l + 1, {query.first_child[q], query.first_child[q + 1]});
        }
    }

    const Trie& query_;
    const Trie& target_;
    RowFn row_;
    i64 reach_;
    size_t depth_;
    std::vector<Span> bounds_;  // per level: the nodes that hold the range of cells asked for
    std::vector<std::vector<Span>>
        near_;  // per level: what is left to see of each neighbouring node's children
};

// Sorts rows in any order and adds up those of the same cell; place[i] becomes where row i went.
inline GridData merge(const GridView& rows, Array<u32>& place) {
    const int d = rows.d;
    GridData merged{d, {}, {}, {}};
    Box box(d);
    box.add(rows.cells, rows.m);
    place.clear();
    if (rows.m == 0) return merged;
    with_keys(box, [&](auto D) {
        auto keys = make_keys<D>(rows.cells, rows.m, box);
        const size_t distinct = static_cast<size_t>(keys.rank(place, 1));
        merged.cells.resize(distinct * d);
        merged.counts.assign(distinct, 0);
        merged.sums.assign(distinct * d, 0);
        for (i64 i = 0; i < rows.m; ++i) {
            const i64 to = place[i];
            merged.counts[to] += rows.counts[i];
            for (int j = 0; j < d; ++j) {
                merged.cells[to * d + j] = rows.cells[i * d + j];
                merged.sums[to * d + j] += rows.sums[i * d + j];
            }
        }
    });
    return merged;
}

}  // namespace mspp
