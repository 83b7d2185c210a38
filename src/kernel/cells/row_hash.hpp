// A hash of each point's coordinates: a sample by hash does not depend on the order of the points.
#pragma once

#include <bit>

#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

// Mixes the bits of x (the finaliser of SplitMix64).
inline u64 mix_bits(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

struct HashedRows {
    Array<i64> rows;
    Array<u64> hashes;
};

// The rows whose hash is at least `least`, in order. Equal values have equal hashes, whatever their type; 0
// and -0 are equal.
inline HashedRows hash_rows(const Points& points, u64 least, int n_threads) {
    const int team = team_size(points.n, 1 << 16, n_threads);
    std::vector<HashedRows> parts(static_cast<size_t>(team));
    with_type(points.dtype, [&](auto type) {
        parallel(team, [&](int t) {
            HashedRows& found = parts[static_cast<size_t>(t)];
            each_of(part(points.n, t, team), 4 * points.d, [&](i64 i) {
                u64 hash = 0;
                for (int j = 0; j < points.d; ++j) {
                    const double value = widen<decltype(type)>(points, i, j) + 0.0;
                    hash = mix_bits((hash ^ std::bit_cast<u64>(value)) + 0x9E3779B97F4A7C15);
                }
                if (hash < least) return;
                found.rows.push_back(i);
                found.hashes.push_back(hash);
            });
        });
    });
    HashedRows all = std::move(parts[0]);
    for (int t = 1; t < team; ++t) {
        all.rows.insert(all.rows.end(), parts[t].rows.begin(), parts[t].rows.end());
        all.hashes.insert(all.hashes.end(), parts[t].hashes.begin(), parts[t].hashes.end());
    }
    return all;
}

}  // namespace mspp
