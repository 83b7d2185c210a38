// Sorting by integer keys, in time that grows with the number of items only.
#pragma once

#include <algorithm>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

struct Keyed {
    u64 key;
    u32 item;
};

// Sorts by the keys, which are below 2^bits; items with equal keys keep their order.
inline void sort_by_key(Array<Keyed>& items, int bits) {
    constexpr int kDigit = 11;
    const i64 n = static_cast<i64>(items.size());
    auto rising = [](const Keyed& a, const Keyed& b) { return a.key < b.key; };
    if (std::is_sorted(items.begin(), items.end(), rising)) return;
    if (n <= 512) return std::stable_sort(items.begin(), items.end(), rising);
    Array<Keyed> other(items.size());
    for (int shift = 0; shift < bits; shift += kDigit) {
        u32 place[(1 << kDigit) + 1] = {};
        auto digit = [&](i64 i) { return items[i].key >> shift & ((1 << kDigit) - 1); };
        each_of({0, n}, 1, [&](i64 i) { ++place[digit(i) + 1]; });
        if (place[digit(0) + 1] == n) continue;
        for (int k = 0; k < 1 << kDigit; ++k) place[k + 1] += place[k];
        each_of({0, n}, [&](i64 i) { other[place[digit(i)]++] = items[i]; });
        std::swap(items, other);
    }
}

}  // namespace mspp
