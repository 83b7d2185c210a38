// Points to a table of sums.

#include "hash.cuh"

enum { DENSE, HASHED, GIVEN };  // how a point's row is found; GIVEN: its id is the row already

// What a pass over the points has to say: how many were outside the box, and whether a hash table was full.
struct Report {
    u64 outside, full;
};

// Notes a point outside the box in a list; its id says where.
__device__ inline i32 note_outside(i64 i, i64* outside, i64 capacity, Report* report) {
    const u64 k = atomicAdd(&report->outside, 1ull);
    if (k < static_cast<u64>(capacity)) outside[k] = i;
    return static_cast<i32>(-1 - static_cast<i64>(k < 0x7FFFFFFFull ? k : 0x7FFFFFFEull));
}

template <int D>
__device__ inline void add_to_row(u64* table, u64 key, u64 weight, const u64* offset) {
    u64* row = table + key * (D + 1);
    atomicAdd(row, weight);
    for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, weight * offset[j]);
}

// Sums into a table in global memory. IN ids where WAY is GIVEN, else OUT (or null); weights may be null.
template <class T, int D, int WAY>
__global__ void bin_global(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers,
                           const u64* weights, u64* keys, u64 mask, u64* table, i32* ids, i64* outside,
                           i64 capacity, Report* report) {
    const Box<D> box(numbers);
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        T point[D];
        u64 key, offset[D];
        load<T, D>(points, i, row_stride, column_stride, point);
        if (!split<T, D>(point, box, key, offset)) {
            const i32 id = note_outside(i, outside, capacity, report);
            if (ids) ids[i] = id;
            continue;
        }
        if (WAY == HASHED) key = claim(keys, mask, key);
        if (WAY == GIVEN) key = static_cast<u64>(ids[i]);
        if (WAY == HASHED && key == NONE) {
            report->full = 1;
            continue;
        }
        const u64 w = weights ? weights[i] : 1;
        if (w) add_to_row<D>(table, key, w, offset);
        if (WAY != GIVEN && ids) ids[i] = static_cast<i32>(key);
    }
}

// A block's sums of the cells it met first, in shared memory: an offset as two halves of 16 bits in 32-bit
// sums.
template <int D>
struct Cached {
    u32* tags;  // key + 1; 0: free
    u32* sums;  // field by field: count, then low and high half for each axis
    int entries;

    // OUT the place of a key, one of two side by side; false where other keys have both.
    __device__ bool find(u32 key, u32& at) const {
        const u32 tag = key + 1;
        at = __umulhi(key * 0x9E3779B1u, static_cast<u32>(entries));
        for (int place = 0; place < 2; ++place, at ^= 1) {
            u32 there = *static_cast<volatile u32*>(tags + at);
            if (there == 0) there = atomicCAS(tags + at, 0u, tag);
            if (there == 0 || there == tag) return true;
        }
        return false;
    }

    __device__ void add(u32 at, const u64* offset) const {
        atomicAdd(sums + at, 1u);
        for (int j = 0; j < D; ++j) {
            atomicAdd(sums + (2 * j + 1) * entries + at, static_cast<u32>(offset[j]) & 0xFFFFu);
            atomicAdd(sums + (2 * j + 2) * entries + at, static_cast<u32>(offset[j] >> 16));
        }
    }

    // Adds all sums to the table, and sets them to 0; by the whole block.
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
                atomicAdd(row + 1 + j, *low + (static_cast<u64>(*high) << 16));
                *low = *high = 0;
            }
        }
    }
};

// The same as bin_global for a dense table of few cells, with sums in shared memory, which are added to the
// table before they can overflow.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1)
    bin_cached(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers, u64* table,
               i32* ids, i64* outside, i64 capacity, Report* report, int entries) {
    constexpr int kEach = 4;     // points a thread has under way
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
                id = note_outside(i, outside, capacity, report);
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
