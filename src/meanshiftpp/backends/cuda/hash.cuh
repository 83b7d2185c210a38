// Hash tables of keys with linear probing. A key is stored plus one, so that 0 marks a free slot.

#include "numbers.cuh"

__device__ inline u64 hash_of(u64 key) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ (key >> 29);
}

// The slot of a key, or kNone.
__device__ inline u64 find_key(const u64* keys, u64 mask, u64 key) {
    for (u64 slot = hash_of(key) & mask;; slot = (slot + 1) & mask) {
        const u64 stored = keys[slot];
        if (stored == key + 1) return slot;
        if (stored == 0) return kNone;
    }
}

// The slot of a key, which is inserted if it is new; kNone if no slot was free within 512.
__device__ inline u64 insert_key(u64* keys, u64 mask, u64 key) {
    u64 slot = hash_of(key) & mask;
    for (int tries = 0; tries < 512; ++tries, slot = (slot + 1) & mask) {
        u64 stored = *reinterpret_cast<volatile u64*>(keys + slot);
        if (stored == 0) stored = atomicCAS(keys + slot, 0ull, key + 1);
        if (stored == 0 || stored == key + 1) return slot;
    }
    return kNone;
}
