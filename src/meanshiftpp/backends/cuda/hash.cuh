// Hash tables of keys with linear probing, stored one higher so that 0 is free.

#include "numbers.cuh"

__device__ inline u64 scatter(u64 key) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ (key >> 29);
}

// The row of a key, or NONE.
__device__ inline u64 find(const u64* keys, u64 mask, u64 key) {
    for (u64 at = scatter(key) & mask;; at = (at + 1) & mask) {
        const u64 there = keys[at];
        if (there == key + 1) return at;
        if (there == 0) return NONE;
    }
}

// The row of a key, which is put in if it is new; NONE when the table is too full to go on.
__device__ inline u64 claim(u64* keys, u64 mask, u64 key) {
    u64 at = scatter(key) & mask;
    for (int tries = 0; tries < 512; ++tries, at = (at + 1) & mask) {
        u64 there = *reinterpret_cast<volatile u64*>(keys + at);
        if (there == 0) there = atomicCAS(keys + at, 0ull, key + 1);
        if (there == 0 || there == key + 1) return at;
    }
    return NONE;
}
