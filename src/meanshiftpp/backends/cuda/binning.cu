// From points to a table of sums.

#include "hash.cuh"

enum { DENSE, HASH, SORTED };  // where a point's row comes from; SORTED: its id is already the row

// The result of a pass over the points: how many were outside the box, and whether a hash table overflowed.
struct Report {
    u64 outside, overflow;
};

// Appends a point outside the box to a list and returns its id, -1 - (position in the list).
__device__ inline i32 list_outside(i64 i, i64* outside, i64 capacity, Report* report) {
    const u64 k = atomicAdd(&report->outside, 1ull);
    if (k < static_cast<u64>(capacity)) outside[k] = i;
    return static_cast<i32>(-1 - static_cast<i64>(k < 0x7FFFFFFFull ? k : 0x7FFFFFFEull));
}

template <int D>
__device__ inline void add_to_row(u64* table, u64 at, u64 weight, const u64* offset) {
    u64* row = table + at * (D + 1);
    atomicAdd(row, weight);
    for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, weight * offset[j]);
}

// Adds points to a table in global memory. IN ids if STRATEGY is SORTED, else OUT (or null); weights may be
// null.
template <class T, int D, int STRATEGY>
__global__ void bin_global(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers,
                           const u64* weights, u64* keys, u64 mask, u64* table, i32* ids, i64* outside,
                           i64 capacity, Report* report) {
    const Box<D> box(numbers);
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        T point[D];
        u64 at, offset[D];
        load<T, D>(points, i, row_stride, column_stride, point);
        if (!split<T, D>(point, box, at, offset)) {
            const i32 id = list_outside(i, outside, capacity, report);
            if (ids) ids[i] = id;
            continue;
        }
        if (STRATEGY == HASH) at = insert_key(keys, mask, at);
        if (STRATEGY == SORTED) at = static_cast<u64>(ids[i]);
        if (STRATEGY == HASH && at == kNone) {
            report->overflow = 1;
            continue;
        }
        const u64 w = weights ? weights[i] : 1;
        if (w) add_to_row<D>(table, at, w, offset);
        if (STRATEGY != SORTED && ids) ids[i] = static_cast<i32>(at);
    }
}

constexpr int kHalfBits = kOffsetBits / 2;

// A block's sums in shared memory, of the cells it met first. Offsets are summed in two halves of 16 bits,
// each in a 32-bit sum.
template <int D>
struct Cached {
    u32* tags;  // key + 1; 0: free
    u32* sums;  // field by field: count, then low and high half for each axis
    int entries;

    // OUT the entry of a key, one of two neighbours; false if other keys have both.
    __device__ bool find(u32 key, u32& at) const {
        const u32 tag = key + 1;
        at = __umulhi(key * 0x9E3779B1u, static_cast<u32>(entries));
        for (int tries = 0; tries < 2; ++tries, at ^= 1) {
            u32 stored = *static_cast<volatile u32*>(tags + at);
            if (stored == 0) stored = atomicCAS(tags + at, 0u, tag);
            if (stored == 0 || stored == tag) return true;
        }
        return false;
    }

    __device__ void add(u32 at, const u64* offset) const {
        constexpr u32 kLowHalf = (1u << kHalfBits) - 1;
        atomicAdd(sums + at, 1u);
        for (int j = 0; j < D; ++j) {
            atomicAdd(sums + (2 * j + 1) * entries + at, static_cast<u32>(offset[j]) & kLowHalf);
            atomicAdd(sums + (2 * j + 2) * entries + at, static_cast<u32>(offset[j] >> kHalfBits));
        }
    }

    // Adds all sums to the table and clears them; called by the whole block.
    __device__ void flush(u64* table) const {
        for (int at = threadIdx.x; at < entries; at += blockDim.x) {
            const u32 count = sums[at];
            if (count == 0) continue;
            u64* row = table + static_cast<u64>(tags[at] - 1) * (D + 1);
            atomicAdd(row, static_cast<u64>(count));
            sums[at] = 0;
            for (int j = 0; j < D; ++j) {
                u32* low = sums + (2 * j + 1) * entries + at;
                u32* high = low + entries;
                atomicAdd(row + 1 + j, *low + (static_cast<u64>(*high) << kHalfBits));
                *low = *high = 0;
            }
        }
    }
};

// The same as bin_global for a dense table of few cells. Sums are held in shared memory and added to the
// table before they can overflow.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1)
    bin_cached(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers, u64* table,
               i32* ids, i64* outside, i64 capacity, Report* report, int entries) {
    constexpr int kEach = 4;     // points that a thread holds at a time
    constexpr int kRounds = 15;  // of kEach * 1024 points: fewer than 2^16 between two flushes
    extern __shared__ u32 shared[];
    const Cached<D> cached{shared, shared + entries, entries};
    const Box<D> box(numbers);
    for (int k = threadIdx.x; k < entries * (2 * D + 2); k += blockDim.x) shared[k] = 0;
    __syncthreads();
    const i64 tile = static_cast<i64>(blockDim.x) * kEach, tiles = (n + tile - 1) / tile;
    int rounds = 0;
    for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        T point[kEach][D];
        for (int e = 0; e < kEach; ++e) {
            const i64 i = t * tile + e * blockDim.x + threadIdx.x;
            if (i < n) load<T, D>(points, i, row_stride, column_stride, point[e]);
        }
        for (int e = 0; e < kEach; ++e) {
            const i64 i = t * tile + e * blockDim.x + threadIdx.x;
            if (i >= n) break;
            u64 key, offset[D];
            i32 id;
            u32 at;
            if (!split<T, D>(point[e], box, key, offset)) {
                id = list_outside(i, outside, capacity, report);
            } else {
                id = static_cast<i32>(key);
                if (cached.find(static_cast<u32>(key), at))
                    cached.add(at, offset);
                else
                    add_to_row<D>(table, key, 1, offset);
            }
            if (ids) ids[i] = id;
        }
        if (++rounds == kRounds || t + gridDim.x >= tiles) {
            rounds = 0;
            __syncthreads();
            cached.flush(table);
            __syncthreads();
        }
    }
}
