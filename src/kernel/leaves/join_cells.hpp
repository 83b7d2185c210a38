// How much coarser the cells of a tally must be so that few are occupied.
#pragma once

#include <algorithm>

#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/leaves/hash_row.hpp"

namespace mspp {

namespace detail {

// How many cells (n, d) are distinct without their lowest bits, by a hash of 64 bits.
inline size_t count_distinct(const i64* cells, i64 n, size_t d, int shift) {
    Array<u64> hashes;
    std::vector<i64> row(d);
    each_of({0, n}, static_cast<i64>(32 + d), [&](i64 i) {
        for (size_t j = 0; j < d; ++j) row[j] = cells[static_cast<size_t>(i) * d + j] >> shift;
        hashes.push_back(hash_row(row.data(), d));
    });
    std::sort(hashes.begin(), hashes.end());
    return static_cast<size_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
}

}  // namespace detail

// The number of bits to drop from cells (n, d), from `least` to kMostShift, until at most `most` are
// distinct.
inline constexpr int kMostShift = 62;  // cells then have a bit for the sign only
inline int least_shift(const i64* cells, i64 n, size_t d, int least, size_t most) {
    auto are_few = [&](int shift) { return detail::count_distinct(cells, n, d, shift) <= most; };
    if (static_cast<size_t>(n) <= most || are_few(least)) return least;
    int low = least, high = kMostShift;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (are_few(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace mspp
