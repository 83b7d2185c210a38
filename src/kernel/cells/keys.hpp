// Keys: cells in a form that compares and sorts quickly.
//
// If the box of all cells is small enough, a cell is one 64-bit number with a bit field per axis, the first
// axis on top, so that keys sort as cells do. Otherwise (Keys<0>) a cell stays a row of d integers; d and the
// extent of the box then have no limit.
#pragma once

#include <array>
#include <bit>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernel/base/threads.hpp"
#include "kernel/cells/rank.hpp"

namespace mspp {

// The smallest box of cells around all that were added.
struct Box {
    std::vector<i64> low, high;
    explicit Box(int d) : low(static_cast<size_t>(d), INT64_MAX), high(static_cast<size_t>(d), INT64_MIN) {}
    void add(const i64* cells, i64 m) {
        const size_t d = low.size();
        each_of({0, m}, static_cast<i64>(d), [&](i64 i) {
            for (size_t j = 0; j < d; ++j) {
                low[j] = std::min(low[j], cells[i * d + j]);
                high[j] = std::max(high[j], cells[i * d + j]);
            }
        });
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

// Cells of D axes, each a 64-bit key. Coordinates are relative to the box and start at 1: the spare cell
// below it is 0.
template <int D>
class Keys {
  public:
    explicit Keys(const Box& box) {
        int shift = 0;
        double slots = 1;
        for (int j = D - 1; j >= 0; --j) {
            const int bits = std::bit_width(box.extent(j));
            shift_[j] = shift;
            mask_[j] = (1ull << bits) - 1;
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

    // OUT ranks[i]: the rank of cell i among the distinct cells, of which there is at least one. Returns
    // their number.
    i64 rank(Array<u32>& ranks, int team) {
        const i64 m = size();
        ranks.resize(static_cast<size_t>(m));
        if (!BitRank::is_worthwhile(slots_, m)) return sort_.rank(keys_.data(), m, ranks.data());
        marks_.reset(slots_);
        each_of({0, m}, [&](i64 i) { marks_.mark(slot(i)); });
        const i64 distinct = marks_.count();
        parallel(team, [&](int t) {
            each_of(part(m, t, team), [&](i64 i) { ranks[i] = marks_.rank_of(slot(i)); });
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
    i64 rank(Array<u32>& ranks, int) {
        const i64 m = size();
        ranks.resize(static_cast<size_t>(m));
        std::vector<u32> order(static_cast<size_t>(m));
        std::iota(order.begin(), order.end(), 0u);
        Poller poll;
        std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
            poll(64);  // two random rows
            return std::lexicographical_compare(row(a), row(a) + d_, row(b), row(b) + d_);
        });
        u32 rank = 0;
        each_of({0, m}, [&](i64 k) {
            rank += k > 0 && !equal(order[k - 1], *this, order[k]);
            ranks[order[k]] = rank;
        });
        return i64{rank} + 1;
    }

  private:
    const i64* row(i64 i) const { return cells_.data() + i * d_; }
    int d_;
    Array<i64> cells_;
};

// Calls fn(std::integral_constant<int, D>) with D = d if 64-bit keys can hold the cells of the box, else with
// D = 0.
template <int D = 1, class Fn>
auto with_keys(const Box& box, Fn&& fn) {
    if (box.low.size() == D && box.key_bits() <= 64) return fn(std::integral_constant<int, D>{});
    if constexpr (D < kMaxKeyAxes)
        return with_keys<D + 1>(box, fn);
    else
        return fn(std::integral_constant<int, 0>{});
}

template <int D>
Keys<D> make_keys(const i64* cells, i64 m, const Box& box) {
    Keys<D> keys(box);
    keys.resize(m);
    const int d = keys.axes();
    std::vector<i64> cell(static_cast<size_t>(d));
    each_of({0, m}, d, [&](i64 i) {
        for (int j = 0; j < d; ++j) cell[j] = cells[i * d + j] - box.low[j] + 1;
        keys.set(i, cell.data());
    });
    return keys;
}

}  // namespace mspp
