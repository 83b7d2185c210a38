// Hash tables from cells or keys to consecutive ids, with open addressing.
#pragma once

#include <algorithm>
#include <bit>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/prefetch.hpp"

namespace mspp {

// Ids of whole cells, rows of d integers, with a row of moments (count and d sums) for each.
class CellTable {
  public:
    explicit CellTable(int d) : d_(d), slots_(64, kFree) {}
    i64 size() const { return static_cast<i64>(cells.size()) / d_; }
    u32 id_of(const i64* cell) {
        size_t slot = hash(cell) & (slots_.size() - 1);
        for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1))
            if (std::equal(cell, cell + d_, &cells[i64{slots_[slot]} * d_])) return slots_[slot];
        const u32 id = static_cast<u32>(size());
        slots_[slot] = id;
        cells.insert(cells.end(), cell, cell + d_);
        moments.resize(moments.size() + d_ + 1, 0);
        if (2 * static_cast<size_t>(id) > slots_.size()) grow();
        return id;
    }
    Array<i64> cells;
    Array<u64> moments;

  private:
    static constexpr u32 kFree = UINT32_MAX;
    size_t hash(const i64* cell) const {
        u64 h = 0;
        for (int j = 0; j < d_; ++j)
            h = (std::rotl(h, 23) ^ static_cast<u64>(cell[j])) * 0x9E3779B97F4A7C15ull;
        return static_cast<size_t>((h ^ (h >> 32)) * 0x9E3779B97F4A7C15ull >> 20);  // depends on all bits
    }
    void grow() {
        slots_.assign(slots_.size() * 4, kFree);
        for (i64 id = 0; id < size(); ++id) {
            size_t slot = hash(&cells[id * d_]) & (slots_.size() - 1);
            while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<u32>(id);
        }
    }
    int d_;
    Array<u32> slots_;
};

// Ids of keys below 2^53.
class KeyTable {
  public:
    KeyTable() : slots_(size_t{1} << (64 - kFirstShift), Slot{kFree, 0}) {}

    // OUT ids of a block of keys. Slots are prefetched, because each may be a cache miss.
    void ids_of(const double* keys, int n, i32* ids) {
        for (int i = 0; i < n; ++i) MSPP_PREFETCH(&slots_[hash(static_cast<u64>(keys[i]))]);
        for (int i = 0; i < n; ++i) ids[i] = static_cast<i32>(id_of(static_cast<u64>(keys[i])));
    }
    Array<u64> keys;  // of each id

  private:
    struct Slot {
        u64 key;
        u32 id;
    };
    static constexpr u64 kFree = UINT64_MAX;
    static constexpr int kFirstShift = 64 - 12;

    u32 id_of(u64 key) {
        size_t slot = hash(key);
        for (; slots_[slot].key != key; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].key != kFree) continue;
            slots_[slot] = {key, static_cast<u32>(keys.size())};
            keys.push_back(key);
            if (2 * keys.size() > slots_.size()) grow();
            return static_cast<u32>(keys.size() - 1);
        }
        return slots_[slot].id;
    }
    size_t hash(u64 key) const { return static_cast<size_t>((key * 0x9E3779B97F4A7C15ull) >> shift_); }
    void grow() {
        shift_ -= 2;
        slots_.assign(slots_.size() * 4, Slot{kFree, 0});
        for (size_t id = 0; id < keys.size(); ++id) {
            size_t slot = hash(keys[id]);
            while (slots_[slot].key != kFree) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = {keys[id], static_cast<u32>(id)};
        }
    }
    Array<Slot> slots_;
    int shift_ = kFirstShift;
};

}  // namespace mspp
