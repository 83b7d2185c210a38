// Ranks: the position of each key among the sorted distinct keys.
//
// If keys are numbers below a few times their count, a bitmap gives ranks without sorting: mark every key,
// count the marks before each word once, and the rank of a key is that count plus the marks below it in its
// word. Other keys are sorted by radix.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/rank_word.hpp"

namespace mspp {

class BitRank {
  public:
    // Whether a bitmap of so many slots is small enough for so many items: visiting all of its words must not
    // dominate.
    static bool is_worthwhile(u64 slots, i64 items) {
        return slots / 64 <= static_cast<u64>(items) * 3 + 1024;
    }

    void reset(u64 slots) { words_.assign(static_cast<size_t>(slots / 64 + 1), RankWord{0, 0}); }
    void mark(u64 slot) { words_[slot / 64].marks |= u64{1} << (slot % 64); }
    void mark_word(i64 word, u64 marks) { words_[word].marks |= marks; }
    bool is_marked(u64 slot) const { return words_[slot / 64].marks >> (slot % 64) & 1; }
    // Counts the marks and enables rank_of; to be called after the last mark.
    i64 count() {
        u64 before = 0;
        for (RankWord& word : words_) {
            word.before = before;
            before += static_cast<u64>(std::popcount(word.marks));
        }
        return static_cast<i64>(before);
    }
    u32 rank_of(u64 slot) const {
        const RankWord& word = words_[slot / 64];
        return static_cast<u32>(word.before) +
               static_cast<u32>(std::popcount(word.marks & ((u64{1} << (slot % 64)) - 1)));
    }
    const Array<RankWord>& words() const { return words_; }

  private:
    Array<RankWord> words_;
};

// A radix sort that keeps its buffers from one call to the next.
class RadixSort {
  public:
    // OUT ranks[i]: the rank of keys[i], of which there is at least one. Returns the number of distinct keys.
    i64 rank(const u64* keys, i64 m, u32* ranks) {
        sort(keys, m);
        u32 rank = 0;
        each_of({0, m}, [&](i64 k) {
            rank += k > 0 && a_[k].key != a_[k - 1].key;
            ranks[a_[k].index] = rank;
        });
        return i64{rank} + 1;
    }

  private:
    struct Entry {
        u64 key;
        u32 index;
    };
    static constexpr int kDigitBits = 11, kDigits = (64 + kDigitBits - 1) / kDigitBits,
                         kBins = 1 << kDigitBits;

    // Least significant digit first; a digit that all keys share is skipped.
    void sort(const u64* keys, i64 m) {
        a_.resize(static_cast<size_t>(m));
        u64 any = 0, all = ~0ull;
        each_of({0, m}, [&](i64 i) {
            a_[i] = {keys[i], static_cast<u32>(i)};
            any |= keys[i];
            all &= keys[i];
        });
        if (m <= 256) {
            std::sort(a_.begin(), a_.end(), [](const Entry& x, const Entry& y) { return x.key < y.key; });
            return;
        }
        b_.resize(static_cast<size_t>(m));
        std::vector<u32> start(kBins);
        for (int digit = 0; digit < kDigits; ++digit) {
            const int shift = digit * kDigitBits;
            if ((((any ^ all) >> shift) & (kBins - 1)) == 0) continue;
            std::fill(start.begin(), start.end(), 0u);
            each_of({0, m}, [&](i64 i) { ++start[(a_[i].key >> shift) & (kBins - 1)]; });
            u32 sum = 0;
            for (u32& s : start) sum += std::exchange(s, sum);
            each_of({0, m}, [&](i64 i) { b_[start[(a_[i].key >> shift) & (kBins - 1)]++] = a_[i]; });
            a_.swap(b_);
        }
    }

    Array<Entry> a_, b_;
};

}  // namespace mspp
