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
    const Box<D, u64> box(numbers);
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        T point[D];
        u64 at, offset[D];
        load<T, D>(points, i, row_stride, column_stride, point);
        if (!split(point, box, at, offset)) {
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

// A block's sums in shared memory, of the cells it met first. A sum of offsets is a word and the number of
// its overflows; the count and these numbers are halves of words, which leaves fewer words to add to.
template <int D>
struct Cached {
    static constexpr int kHalf = 16, kWords = D + (D + 2) / 2;
    static_assert(kOffsetBits == 32, "an offset is a word, or its overflow");
    u32* tags;  // key + 1; 0: free
    u32* sums;  // field by field: D sums, then the count and D overflows in halves
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
        u32 halves[kWords - D] = {1};
        for (int j = 0; j < D; ++j) {
            const u32 word = static_cast<u32>(offset[j]), before = atomicAdd(sums + j * entries + at, word);
            const u32 overflows = static_cast<u32>(offset[j] >> 32) + (before + word < before);
            halves[(j + 1) / 2] += overflows << (j + 1) % 2 * kHalf;
        }
        for (int k = 0; k < kWords - D; ++k)
            if (halves[k]) atomicAdd(sums + (D + k) * entries + at, halves[k]);
    }

    __device__ u64 half(int k, int at) const {
        return sums[(D + k / 2) * entries + at] >> k % 2 * kHalf & ((1u << kHalf) - 1);
    }

    // Adds the sums of all cells with at least this count to the table and clears them; called by the whole
    // block.
    __device__ void flush(u64 least, u64* table) const {
        for (int at = threadIdx.x; at < entries; at += blockDim.x) {
            const u64 count = half(0, at);
            if (count < least) continue;
            u64* row = table + static_cast<u64>(tags[at] - 1) * (D + 1);
            atomicAdd(row, count);
            for (int j = 0; j < D; ++j)
                atomicAdd(row + 1 + j, sums[j * entries + at] + (half(j + 1, at) << 32));
            for (int k = 0; k < kWords; ++k) sums[k * entries + at] = 0;
        }
    }
};

// The same as bin_global for a dense table of few cells. Sums are held in shared memory and added to the
// table before they can overflow.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1)
    bin_cached(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers, u64* table,
               i32* ids, i64* outside, i64 capacity, Report* report, int entries) {
    constexpr int kEach = 4;    // points that a thread holds at a time
    constexpr int kRounds = 7;  // of kEach * 1024 points: fewer than kHeavy between two flushes
    constexpr u64 kHeavy = 1ull << (Cached<D>::kHalf - 1);
    extern __shared__ u32 shared[];
    const Cached<D> cached{shared, shared + entries, entries};
    const Box<D, u32> box(numbers);
    for (int k = threadIdx.x; k < entries * (1 + Cached<D>::kWords); k += blockDim.x) shared[k] = 0;
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
            u64 offset[D];
            i32 id;
            u32 key, at;
            if (!split(point[e], box, key, offset)) {
                id = list_outside(i, outside, capacity, report);
            } else {
                id = static_cast<i32>(key);
                if (cached.find(key, at))
                    cached.add(at, offset);
                else
                    add_to_row<D>(table, key, 1, offset);
            }
            if (ids) ids[i] = id;
        }
        const bool last = t + gridDim.x >= tiles;
        if (++rounds == kRounds || last) {
            rounds = 0;
            __syncthreads();
            cached.flush(last ? 1 : kHeavy, table);
            __syncthreads();
        }
    }
}
