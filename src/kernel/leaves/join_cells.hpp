// How much coarser the cells of a tally must be so that few are occupied.
#pragma once

#include <algorithm>
#include <bit>

#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/leaves/hash_row.hpp"

namespace mspp {

namespace detail {

// A set of 64-bit hashes of at most so many cells.
class HashSet {
  public:
    explicit HashSet(size_t most) : slots_(std::bit_ceil(2 * most + 2)), mask_(slots_.size() - 1) {}

    void clear() {
        std::fill(slots_.begin(), slots_.end(), u64{0});
        size_ = 0;
    }
    void add(u64 hash) {
        hash += hash == 0;  // 0 is an empty slot
        size_t k = hash & mask_;
        while (slots_[k] != 0 && slots_[k] != hash) k = (k + 1) & mask_;
        size_ += slots_[k] == 0;
        slots_[k] = hash;
    }
    size_t size() const { return size_; }

  private:
    Array<u64> slots_;
    size_t mask_, size_ = 0;
};

// Whether at most so many of the cells (n, d), every so-many-th of them, are distinct without their lowest
// bits, by a hash of 64 bits.
inline bool are_few(const i64* cells, i64 n, size_t d, i64 every, int shift, size_t most, HashSet& set) {
    std::vector<i64> row(d);
    Poller poll;
    set.clear();
    for (i64 i = 0; i < n && set.size() <= most; i += every) {
        poll(static_cast<i64>(32 + d));
        for (size_t j = 0; j < d; ++j) row[j] = cells[static_cast<size_t>(i) * d + j] >> shift;
        set.add(hash_row(row.data(), d));
    }
    return set.size() <= most;
}

}  // namespace detail

// The number of bits to drop from cells (n, d), from `least` to kMostShift, until at most `most` are
// distinct. A small sample guesses it first, because a pass over all cells takes long.
inline constexpr int kMostShift = 62;  // cells then have a bit for the sign only
inline int least_shift(const i64* cells, i64 n, size_t d, int least, size_t most) {
    constexpr i64 kEvery = 64;
    if (static_cast<size_t>(n) <= most) return least;
    detail::HashSet some(most / kEvery + 1), all(most);
    int shift = least;
    while (shift < kMostShift && !detail::are_few(cells, n, d, kEvery, shift, most / kEvery + 1, some))
        ++shift;
    while (shift < kMostShift && !detail::are_few(cells, n, d, 1, shift, most, all)) ++shift;
    while (shift > least && detail::are_few(cells, n, d, 1, shift - 1, most, all)) --shift;
    return shift;
}

}  // namespace mspp
