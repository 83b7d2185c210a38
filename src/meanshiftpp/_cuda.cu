// The loops for NVIDIA GPUs, compiled by NVRTC when first used; _cuda.py launches them.
//
// The same numbers as in src/kernel: cells by a true division, 32-bit offsets, integer sums modulo 2^64. So no
// order of adding matters, atomics may come in any order, and every result equals the CPU's, bit for bit. To be
// compiled with --fmad=false: a fused multiplication would round differently.
//
// A box of cells is numbered in mixed radix: key = sum over the axes of (cell - low) * stride. A key's row of
// sums is the key itself (dense), or where a hash table keeps the key.

typedef long long i64;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned int u32;

#define NONE 0xFFFFFFFFFFFFFFFFull  // no key, or no row

enum { DENSE, HASHED, GIVEN };  // how a point's row is found; GIVEN: its id is the row already

// ---- the numbers -----------------------------------------------------------------------------------------

// What _cuda.py hands over by value. For points: bandwidths, lows, extents and strides of a box, D of each; for
// cells: strides and lows.
struct Numbers {
    double of[24];
};
struct Layout {
    i64 of[12];
};

template <int D>
struct Box {
    double h[D], inverse[D], low[D], extent[D], stride[D];
    __device__ explicit Box(const Numbers& from) {
        for (int j = 0; j < D; ++j) {
            h[j] = from.of[j];
            inverse[j] = h[j] > 0x1p-500 && h[j] < 0x1p500 ? 1.0 / h[j] : 0.0;
            low[j] = from.of[D + j];
            extent[j] = from.of[2 * D + j];
            stride[j] = from.of[3 * D + j];
        }
    }
};

// x / h, correctly rounded, from the correctly rounded 1 / h: the first correction makes the product faithful, and
// of a faithful quotient the second makes the true one (Markstein). Numbers so small that a remainder would
// underflow are divided.
template <class T>
__device__ inline double quotient(T value, double h, double inverse) {
    const double x = static_cast<double>(value);
    const bool tiny = sizeof(T) == 8 && fabs(x) < 0x1p-400 && x != 0;
    if (inverse == 0 || tiny) return x / h;
    const double product = x * inverse;
    const double q = __fma_rn(__fma_rn(-product, h, x), inverse, product);
    return __fma_rn(__fma_rn(-q, h, x), inverse, q);
}

// A fraction in [0, 1] as 32-bit fixed point, rounded to nearest, ties to even: the addition itself rounds.
__device__ inline u64 offset_of(double fraction) {
    return __double_as_longlong(fraction + 0x1p20) - __double_as_longlong(0x1p20);
}

__device__ inline u64 nearest(double x) {
    return __double_as_longlong(x + 0x1p52) - __double_as_longlong(0x1p52);
}

// OUT the key of a point and its offsets; false where it is outside the box or not finite.
template <class T, int D>
__device__ inline bool split(const T* point, const Box<D>& box, u64& key, u64* offset) {
    bool inside = true;
    double sum = 0;
    for (int j = 0; j < D; ++j) {
        const double q = quotient(point[j], box.h[j], box.inverse[j]);
        const double cell = floor(q);
        const double in_box = cell - box.low[j];
        inside = inside && in_box >= 0 && in_box < box.extent[j];
        offset[j] = offset_of(q - cell);
        sum += in_box * box.stride[j];
    }
    key = inside ? static_cast<u64>(sum) : NONE;
    return inside;
}

template <class T, int D>
__device__ inline void load(const T* points, i64 i, i64 row_stride, i64 column_stride, T* point) {
    for (int j = 0; j < D; ++j) point[j] = points[i * row_stride + j * column_stride];
}

// ---- hash tables: keys with linear probing, stored one higher so that 0 is free --------------------------

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

// ---- binning ---------------------------------------------------------------------------------------------

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

// OUT low and high cell of points taken evenly, by one block.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1) sample_box(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers,
                                                                i64 step, double* low_high) {
    __shared__ double low[D], high[D];
    if (threadIdx.x < D) {
        low[threadIdx.x] = 0x1p51;
        high[threadIdx.x] = -0x1p51;
    }
    __syncthreads();
    double my_low[D], my_high[D];
    for (int j = 0; j < D; ++j) {
        my_low[j] = 0x1p51;
        my_high[j] = -0x1p51;
    }
    for (i64 i = threadIdx.x * step; i < n; i += blockDim.x * step)
        for (int j = 0; j < D; ++j) {
            const double q = static_cast<double>(points[i * row_stride + j * column_stride]) / numbers.of[j];
            const double cell = isfinite(q) ? floor(fmin(fmax(q, -0x1p51), 0x1p51)) : 0.0;
            my_low[j] = fmin(my_low[j], cell);
            my_high[j] = fmax(my_high[j], cell);
        }
    for (int j = 0; j < D; ++j) {
        for (int lane = 16; lane > 0; lane /= 2) {
            my_low[j] = fmin(my_low[j], __shfl_xor_sync(~0u, my_low[j], lane));
            my_high[j] = fmax(my_high[j], __shfl_xor_sync(~0u, my_high[j], lane));
        }
        for (int warp = 0; warp < blockDim.x / 32; ++warp) {
            if (threadIdx.x == warp * 32) {
                low[j] = fmin(low[j], my_low[j]);
                high[j] = fmax(high[j], my_high[j]);
            }
            __syncthreads();
        }
    }
    if (threadIdx.x < D) {
        low_high[threadIdx.x] = low[threadIdx.x];
        low_high[D + threadIdx.x] = high[threadIdx.x];
    }
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
        u64* row = table + key * (D + 1);
        if (w) {
            atomicAdd(row, w);
            for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, w * offset[j]);
        }
        if (WAY != GIVEN && ids) ids[i] = static_cast<i32>(key);
    }
}

// The same for a dense table of few cells: each block sums the cells it meets first in shared memory, an
// offset as two halves of 16 bits in 32-bit sums, which are added to the table before they can overflow.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1)
    bin_cached(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers, u64* table,
               i32* ids, i64* outside, i64 capacity, Report* report, int entries) {
    constexpr int kEach = 4;      // points a thread has under way
    constexpr int kRounds = 15;   // of kEach * 1024 points: fewer than 2^16 between two flushes
    extern __shared__ u32 shared[];
    u32* tags = shared;             // key + 1; 0: free
    u32* sums = shared + entries;   // field by field: count, then low and high half for each axis
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
            if (split<T, D>(point[e], box, key, offset)) {
                id = static_cast<i32>(key);
                const u32 tag = static_cast<u32>(key) + 1;
                u32 at = __umulhi(static_cast<u32>(key) * 0x9E3779B1u, static_cast<u32>(entries));
                u32 there = *static_cast<volatile u32*>(tags + at);
                if (there == 0) there = atomicCAS(tags + at, 0u, tag);
                if (there != 0 && there != tag) {  // a second place, beside the first
                    at ^= 1;
                    there = *static_cast<volatile u32*>(tags + at);
                    if (there == 0) there = atomicCAS(tags + at, 0u, tag);
                }
                if (there == 0 || there == tag) {
                    atomicAdd(sums + at, 1u);
                    for (int j = 0; j < D; ++j) {
                        atomicAdd(sums + (2 * j + 1) * entries + at, static_cast<u32>(offset[j]) & 0xFFFFu);
                        atomicAdd(sums + (2 * j + 2) * entries + at, static_cast<u32>(offset[j] >> 16));
                    }
                } else {
                    u64* row = table + key * (D + 1);
                    atomicAdd(row, 1ull);
                    for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, offset[j]);
                }
            } else {
                id = note_outside(i, outside, capacity, report);
            }
            if (ids) ids[i] = id;
        }
        if (++rounds == kRounds || t + gridDim.x >= tiles) {
            rounds = 0;
            __syncthreads();
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
            __syncthreads();
        }
    }
}

// OUT keys, NONE where a point is outside the box: for sorting.
template <class T, int D>
__global__ void keys_of(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers,
                        u64* keys) {
    const Box<D> box(numbers);
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        T point[D];
        u64 offset[D];
        load<T, D>(points, i, row_stride, column_stride, point);
        split<T, D>(point, box, keys[i], offset);
    }
}

// Any number of axes, any cell. OUT cells (n, d) and the first row that holds no usable number.
template <class T>
__global__ void cells_of(const T* points, i64 n, int d, i64 row_stride, i64 column_stride, const double* h,
                         i64* cells, i64* first_bad) {
    for (i64 k = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; k < n * d;
         k += static_cast<i64>(gridDim.x) * blockDim.x) {
        const i64 i = k / d;
        const int j = static_cast<int>(k % d);
        const double q = static_cast<double>(points[i * row_stride + j * column_stride]) / h[j];
        const bool good = fabs(q) < 0x1p51;
        if (!good) atomicMin(first_bad, i);
        cells[k] = good ? static_cast<i64>(floor(q)) : 0;
    }
}

// Sums into the row each point's id names.
template <class T>
__global__ void add_rows(const T* points, i64 n, int d, i64 row_stride, i64 column_stride, const double* h,
                         const u64* weights, const i32* ids, u64* table) {
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        const u64 w = weights ? weights[i] : 1;
        u64* row = table + static_cast<i64>(ids[i]) * (d + 1);
        if (w == 0) continue;
        atomicAdd(row, w);
        for (int j = 0; j < d; ++j) {
            const double q = static_cast<double>(points[i * row_stride + j * column_stride]) / h[j];
            atomicAdd(row + 1 + j, w * offset_of(q - floor(q)));
        }
    }
}

extern "C" {

// Each block's part of a table.
__device__ inline i64 part(i64 rows, int block) { return rows * block / static_cast<i64>(gridDim.x); }

// OUT counts[block]: the occupied rows in its part.
__global__ void count_rows(const u64* table, i64 rows, int d, u64* counts) {
    int mine = 0;
    for (i64 i = part(rows, blockIdx.x) + threadIdx.x; i < part(rows, blockIdx.x + 1); i += blockDim.x)
        mine += table[i * (d + 1)] != 0;
    for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_xor_sync(~0u, mine, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(counts + blockIdx.x, static_cast<u64>(mine));
}

// OUT the occupied rows in order. IN what count_rows said.
__global__ void list_rows(const u64* table, i64 rows, int d, const u64* counts, i64* occupied) {
    __shared__ i64 next;
    __shared__ int in_warp[32];
    if (threadIdx.x == 0) next = 0;
    __syncthreads();
    for (int block = threadIdx.x; block < blockIdx.x; block += blockDim.x)
        atomicAdd(reinterpret_cast<u64*>(&next), counts[block]);
    const i64 end = part(rows, blockIdx.x + 1);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (i64 tile = part(rows, blockIdx.x); tile < end; tile += blockDim.x) {
        const i64 i = tile + threadIdx.x;
        const bool mine = i < end && table[i * (d + 1)] != 0;
        const u32 votes = __ballot_sync(~0u, mine);
        if (lane == 0) in_warp[warp] = __popc(votes);
        __syncthreads();
        i64 at = next + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < warp; ++w) at += in_warp[w];
        if (mine) occupied[at] = i;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) next = at + mine;
        __syncthreads();
    }
}

// From rows of a table to a grid. IN the occupied rows in cell order, and keys, stored as in a hash table with
// `lift` 1; OUT cells, counts, sums.
__global__ void collect(const i64* occupied, const u64* keys, int lift, i64 m, int d, Numbers box,
                        const u64* table, i64* cells, u64* counts, u64* sums) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const u64* row = table + occupied[i] * (d + 1);
    u64 key = keys ? keys[occupied[i]] - lift : static_cast<u64>(occupied[i]);
    counts[i] = row[0];
    for (int j = 0; j < d; ++j) {
        const u64 stride = static_cast<u64>(box.of[3 * d + j]);
        cells[i * d + j] = static_cast<i64>(box.of[d + j]) + static_cast<i64>(key / stride);
        key %= stride;
        sums[i * d + j] = row[1 + j];
    }
}

// Adds up rows of grids that belong to the same cell: row i goes to place[i].
__global__ void merge_rows(const i32* place, const i64* cells, const u64* counts, const u64* sums, i64 m, int d,
                           i64* to_cells, u64* to_counts, u64* to_sums) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const i64 to = place[i];
    atomicAdd(to_counts + to, counts[i]);
    for (int j = 0; j < d; ++j) {
        to_cells[to * d + j] = cells[i * d + j];
        atomicAdd(to_sums + to * d + j, sums[i * d + j]);
    }
}

// OUT of[occupied[k]] = values[k]: a value for each row of a table.
__global__ void spread(const i64* occupied, const i32* values, i64 m, i32* of) {
    const i64 k = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (k < m) of[occupied[k]] = values[k];
}

// OUT labels[i] = of[ids[i]]; a table of few rows is kept in shared memory. Points outside have their own.
__global__ void take(const i32* ids, i64 n, const i32* of, i32 rows, int keep, const i32* outside, i32* labels) {
    extern __shared__ i32 kept[];
    if (keep) {
        for (i32 k = threadIdx.x; k < rows; k += blockDim.x) kept[k] = of[k];
        __syncthreads();
    }
    const i64 first = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
    const bool wide = reinterpret_cast<u64>(ids) % 16 == 0 && reinterpret_cast<u64>(labels) % 16 == 0;
    const i64 fours = wide ? n / 4 : 0;
    auto label = [&](i32 id) { return id < 0 ? outside[-1 - id] : keep ? kept[id] : of[id]; };
    for (i64 i = first; i < fours; i += step) {
        int4 four = reinterpret_cast<const int4*>(ids)[i];
        four.x = label(four.x);
        four.y = label(four.y);
        four.z = label(four.z);
        four.w = label(four.w);
        reinterpret_cast<int4*>(labels)[i] = four;
    }
    for (i64 i = fours * 4 + first; i < n; i += step) labels[i] = label(ids[i]);
}

// OUT the box of the cells and the sum of the counts, in numbers that start at 0 and only rise: for each axis the
// complement of the lowest cell, then the highest, both with the sign bit flipped.
__global__ void extent_of(const i64* cells, const u64* counts, i64 m, int d, u64* box_and_total) {
    const u64 sign = 1ull << 63;
    for (int j = 0; j <= d; ++j) {
        u64 low = 0, high = 0, sum = 0;
        for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < m;
             i += static_cast<i64>(gridDim.x) * blockDim.x) {
            if (j == d) {
                sum += counts ? counts[i] : 0;
            } else {
                const u64 cell = static_cast<u64>(cells[i * d + j]) ^ sign;
                low = ~cell > low ? ~cell : low;
                high = cell > high ? cell : high;
            }
        }
        for (int lane = 16; lane > 0; lane /= 2) {
            const u64 other_low = __shfl_xor_sync(~0u, low, lane), other_high = __shfl_xor_sync(~0u, high, lane);
            low = other_low > low ? other_low : low;
            high = other_high > high ? other_high : high;
            sum += __shfl_xor_sync(~0u, sum, lane);
        }
        if (threadIdx.x % 32 != 0) continue;
        if (j == d) {
            atomicAdd(box_and_total + 2 * d, sum);
        } else {
            atomicMax(box_and_total + j, low);
            atomicMax(box_and_total + d + j, high);
        }
    }
}

// The label each cell ended with: the group it was, followed to the one that took it in last.
__global__ void end_labels(const u32* parent, i64 m, const i32* label_of_group, i32* labels) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u32 group = static_cast<u32>(i);
    while (parent[group] != group) group = parent[group];
    labels[i] = label_of_group[group];
}

}  // extern "C"

// ---- the search ------------------------------------------------------------------------------------------
//
// All steps in one launch: blocks that run at the same time, with a barrier between the phases of a step. What
// is where is kept in two tables of rows (count, then sums of absolute positions modulo 2^64), for this step
// and the next; a list names the occupied rows, so that the cost follows the cells that are left.

// Displacements of a step, in units of tol / 2^32: see Movement in seek.hpp.
struct Tally {
    u64 bound, moved;
    u32 bound_exceeds, moved_exceeds, in_motion, unused;
};

struct State {
    u64 barrier;     // arrivals so far
    u64 length[2];   // occupied rows of either table
    u64 before;      // occupied rows of the step before; 0 in the first step
    Tally tally[2];  // of this step, and of the next
    u32 steps, now;  // steps taken; which table is this step's
    u32 at_rest, full;  // full: the hash table overflowed, and the result is void
};

// The arrays of a search, as _cuda.py lays them out.
struct Arrays {
    u64 *keys[2], *rows[2];  // keys only where hashed
    u64* list[2];            // occupied rows
    u32* group[2];           // per list entry: the group that stands for all that met there
    u64* position[2];        // per list entry and axis: where it goes; alternating, so the last one is kept
    u64* weight[2];          // per list entry: its count
    u32* arrived;            // per list entry of the step before: the entry it is in now
    u64* target;             // per list entry: the key it goes to, then the row
    u32* entry;              // per row of the next table: its list entry
    u32* parent;             // per group: the one it met, or itself
};

__device__ inline void barrier(State* state) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const u64 ticket = atomicAdd(&state->barrier, 1ull);
        const u64 all = (ticket / gridDim.x + 1) * gridDim.x;
        while (*reinterpret_cast<volatile u64*>(&state->barrier) < all) {
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ inline void add_movement(double distance, double tol, u64* parts, u32* exceeds) {
    if (distance >= tol) {
        if (distance > 0) *exceeds = 1;
    } else if (distance > 0) {
        atomicAdd(parts, static_cast<u64>(distance / tol * 0x1p32));
    }
}

template <class T>
__device__ inline T fresh(const T& value) {
    return *static_cast<const volatile T*>(&value);
}

__device__ inline u64 divide(u64 a, u64 b) {
    return (a | b) >> 32 ? a / b : static_cast<u32>(a) / static_cast<u32>(b);
}

// OUT the sums over the window around a key. REACH is how far it goes, or 0 where only `reach` knows.
template <int D, bool HASH, int REACH>
__device__ inline void window_sums(const u64* keys, const u64* rows, u64 mask, u64 key, const u64* stride,
                                   int reach, u64* sums) {
    const int r = REACH ? REACH : reach, side = 2 * r + 1;
    int around = 1;  // _cuda.py sees to it that this is not much
    for (int j = 0; j < D - 1; ++j) around *= side;
#pragma unroll(REACH == 1 && D <= 3 ? 9 : 1)
    for (int w = 0; w < around; ++w) {
        u64 row_key = key - r;
        for (int j = D - 2, rest = w; j >= 0; --j) {
            row_key += static_cast<u64>(static_cast<i64>(rest % side - r)) * stride[j];
            rest /= side;
        }
        for (int k = 0; k < side; ++k) {
            const u64 near = HASH ? find(keys, mask, row_key + k) : row_key + k;
            if (HASH && near == NONE) continue;
            for (int j = 0; j <= D; ++j) sums[j] += rows[near * (D + 1) + j];
        }
    }
}

// Where an occupied cell goes: the mean of its window.
template <int D, bool HASH, int REACH>
__device__ inline void shift(const Arrays& arrays, Tally& tally, int now, u64 i, u64 mask, const u64* stride,
                             int reach, int bits, double tol) {
    const u64* rows = arrays.rows[now];
    const u64 place = arrays.list[now][i], key = HASH ? arrays.keys[now][place] - 1 : place;
    u64 sums[D + 1] = {};
    window_sums<D, HASH, REACH>(arrays.keys[now], rows, mask, key, stride, reach, sums);
    const u64* own = rows + place * (D + 1);
    const u64 n = sums[0], count = own[0];
    u64 strays = n - count, to = 0, left = key;
    double square = 0;
    for (int j = 0; j < D; ++j) {
        const u64 coordinate = divide(left, stride[j]), below = coordinate - reach, corner = below << bits;
        left -= coordinate * stride[j];
        const double mean = static_cast<double>(static_cast<i64>(sums[j + 1] - n * corner)) / static_cast<double>(n);
        const u64 p = nearest(mean), position = corner + p;
        arrays.position[now][i * D + j] = position;
        to += (below + (p >> bits)) * stride[j];
        strays |= (p >> bits) ^ static_cast<u64>(reach);
        const double delta =
            static_cast<double>(static_cast<i64>(own[j + 1] - count * position)) / static_cast<double>(count);
        square += delta * delta;
    }
    arrays.target[i] = to;
    arrays.weight[now][i] = count;
    if (strays) tally.in_motion = 1;
    if (!fresh(tally.bound_exceeds))
        add_movement(static_cast<double>(count) * sqrt(square) * ldexp(1.0, -bits), tol, &tally.bound,
                     &tally.bound_exceeds);
}

// The same to the other table, where what meets is added up; the first to come makes an entry of the list.
template <int D, bool HASH>
__device__ inline void arrive(State* state, const Arrays& arrays, int now, u64 i, u64 mask) {
    const u64 key = arrays.target[i], n = arrays.weight[now][i];
    const u64 to = HASH ? claim(arrays.keys[1 - now], mask, key) : key;
    if (HASH && to == NONE) {
        state->full = 1;
        return;
    }
    u64* row = arrays.rows[1 - now] + to * (D + 1);
    for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, n * arrays.position[now][i * D + j]);
    arrays.target[i] = to;
    if (atomicAdd(row, n) != 0) return;
    const u64 entry = atomicAdd(&state->length[1 - now], 1ull);
    arrays.list[1 - now][entry] = to;
    arrays.entry[to] = static_cast<u32>(entry);
    arrays.group[1 - now][entry] = arrays.group[now][i];
}

// After all have arrived: groups that met know of each other, and the table they left is emptied.
template <int D, bool HASH>
__device__ inline void leave(const Arrays& arrays, int now, u64 i) {
    const u32 entry = arrays.entry[arrays.target[i]], own = arrays.group[now][i];
    const u32 host = arrays.group[1 - now][entry];
    arrays.arrived[i] = entry;
    if (host != own) arrays.parent[own] = host;
    const u64 place = arrays.list[now][i];
    for (int j = 0; j <= D; ++j) arrays.rows[now][place * (D + 1) + j] = 0;
    if (HASH) arrays.keys[now][place] = 0;
}

// How far a group of the step before moves in this one; see `settled` in seek.hpp.
template <int D>
__device__ inline void count_movement(const Arrays& arrays, Tally& tally, int now, u64 k, int bits, double tol) {
    const u64* position = arrays.position[now] + static_cast<u64>(arrays.arrived[k]) * D;
    double square = 0;
    for (int j = 0; j < D; ++j) {
        const u64 off = position[j] - arrays.position[1 - now][k * D + j];
        const double delta = static_cast<double>(static_cast<i64>(off));
        square += delta * delta;
    }
    const double weight = static_cast<double>(arrays.weight[1 - now][k]);
    add_movement(weight * sqrt(square) * ldexp(1.0, -bits), tol, &tally.moved, &tally.moved_exceeds);
}

template <int D, bool HASH, int REACH>
__global__ void __launch_bounds__(256, 3)
    search(State* state, const __grid_constant__ Arrays arrays, u64 mask, Layout layout, int reach, int bits, double tol, u32 until) {
    u64 stride[D];
    for (int j = 0; j < D; ++j) stride[j] = static_cast<u64>(layout.of[j]);
    const u64 first = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
    const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
    u32 now = state->now, steps = state->steps;
    u64 before = state->before, length = state->length[now];
    bool at_rest = false;
    while (true) {
        Tally& tally = state->tally[steps % 2];
        for (u64 i = first; i < length; i += step)
            shift<D, HASH, REACH>(arrays, tally, now, i, mask, stride, reach, bits, tol);
        barrier(state);

        at_rest = !fresh(tally.in_motion);
        if (!at_rest && before && !fresh(tally.bound_exceeds) && fresh(tally.bound) >> 32 == 0) {
            for (u64 k = first; k < before; k += step) count_movement<D>(arrays, tally, now, k, bits, tol);
            barrier(state);
            at_rest = !fresh(tally.moved_exceeds) && fresh(tally.moved) >> 32 == 0;
        }

        for (u64 i = first; i < length; i += step) arrive<D, HASH>(state, arrays, now, i, mask);
        if (first == 0) {
            state->length[now] = 0;  // everyone knows it by now
            state->tally[(steps + 1) % 2] = Tally{};
        }
        barrier(state);

        for (u64 i = first; i < length; i += step) leave<D, HASH>(arrays, now, i);
        now = 1 - now;
        before = length;
        length = fresh(state->length[now]);
        at_rest = at_rest || fresh(state->full);
        if (++steps == until || at_rest) break;
    }
    if (first == 0) {
        state->now = now;
        state->steps = steps;
        state->before = before;
        state->at_rest = at_rest;
    }
}

// The first state: rows and list from a grid. IN layout: D strides, D lows; OUT list, rows, groups.
template <int D, bool HASH>
__global__ void set_out(const i64* cells, const u64* counts, const u64* sums, i64 m, const __grid_constant__ Arrays arrays,
                        u64 mask, Layout layout, int reach, int bits, State* state) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i == 0) state->length[0] = static_cast<u64>(m);
    if (i >= m) return;
    u64 key = 0;
    for (int j = 0; j < D; ++j)
        key += static_cast<u64>(cells[i * D + j] - layout.of[D + j] + reach) * static_cast<u64>(layout.of[j]);
    const u64 place = HASH ? claim(arrays.keys[0], mask, key) : key;
    if (HASH && place == NONE) {
        state->full = 1;
        return;
    }
    u64* row = arrays.rows[0] + place * (D + 1);
    row[0] = counts[i];
    const int drop = 32 - bits;
    for (int j = 0; j < D; ++j) {
        const u64 sum = sums[i * D + j];
        const u64 offsets = drop == 0 ? sum : (sum + (1ull << (drop - 1))) >> drop;
        const u64 corner = static_cast<u64>(cells[i * D + j] - layout.of[D + j] + reach) << bits;
        row[1 + j] = offsets + counts[i] * (corner + (1ull << (bits - 20)));
    }
    arrays.list[0][i] = place;
    arrays.group[0][i] = arrays.parent[i] = static_cast<u32>(i);
}

// The modes as they are left in the table. OUT per list entry: its key and count, to be ranked by.
template <int D, bool HASH>
__global__ void list_modes(const __grid_constant__ Arrays arrays, int now, i64 k, u64* keys, u64* counts) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= k) return;
    const u64 place = arrays.list[now][i];
    keys[i] = HASH ? arrays.keys[now][place] - 1 : place;
    counts[i] = arrays.rows[now][place * (D + 1)];
}

// OUT per mode: its weight, its cell and its place in that cell; per group, its label. The heaviest mode is first,
// of equals the first in cell order. IN the rank of each list entry; where there are few, it is found here.
template <int D, bool HASH>
__global__ void read_modes(const __grid_constant__ Arrays arrays, int now, i64 k, Layout layout, int reach,
                           int bits, const u64* keys, const u64* counts, const i64* ranks, u64* weights, i64* cells,
                           double* fractions, i32* label_of_group) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= k) return;
    u64 key = keys[i];
    const u64 count = counts[i];
    i64 rank = 0;
    if (ranks)
        rank = ranks[i];
    else
        for (i64 other = 0; other < k; ++other)
            rank += counts[other] > count || (counts[other] == count && keys[other] < key);
    const u64* row = arrays.rows[now] + arrays.list[now][i] * (D + 1);
    weights[rank] = count;
    label_of_group[arrays.group[now][i]] = static_cast<i32>(rank);
    for (int j = 0; j < D; ++j) {
        const u64 stride = static_cast<u64>(layout.of[j]), coordinate = key / stride;
        key %= stride;
        const u64 sum = row[1 + j] - count * (coordinate << bits);
        const double mean = static_cast<double>(static_cast<i64>(sum)) / static_cast<double>(count);
        cells[rank * D + j] = static_cast<i64>(coordinate) - reach + layout.of[D + j];
        fractions[rank * D + j] = ldexp(mean, -bits) - 0x1p-20;
    }
}

// ---- new points ------------------------------------------------------------------------------------------

// A table of a grid's cells: keys, and behind each the cell's index.
template <int D>
__global__ void index_cells(const i64* cells, i64 m, Layout layout, u64* keys, u64 mask, u32* index) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u64 key = 0;
    for (int j = 0; j < D; ++j)
        key += static_cast<u64>(cells[i * D + j] - layout.of[D + j]) * static_cast<u64>(layout.of[j]);
    index[claim(keys, mask, key)] = static_cast<u32>(i);
}

// The w-th of the keys around a key.
template <int D>
__device__ inline u64 neighbour(u64 key, int w, int reach, const Layout& layout) {
    for (int j = D - 1, rest = w; j >= 0; --j) {
        key += static_cast<u64>(static_cast<i64>(rest % (2 * reach + 1) - reach) * layout.of[j]);
        rest /= 2 * reach + 1;
    }
    return key;
}

// OUT found[q]: the index of the query cell; else of the heaviest cell around it, the first of equals; else -1.
template <int D>
__global__ void near_cells(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask, const u32* index,
                           const u64* counts, int reach, i64* found) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u64 key = 0;
    int window = 1;
    for (int j = 0; j < D; ++j) {
        key += static_cast<u64>(query[i * D + j] - layout.of[D + j]) * static_cast<u64>(layout.of[j]);
        window *= 2 * reach + 1;
    }
    const u64 same = find(keys, mask, key);
    i64 best = same == NONE ? -1 : static_cast<i64>(index[same]);
    u64 weight = 0;
    for (int w = 0; same == NONE && w < window; ++w) {
        const u64 at = find(keys, mask, neighbour<D>(key, w, reach, layout));
        if (at == NONE) continue;
        const i64 k = index[at];
        if (counts[k] > weight || (counts[k] == weight && k < best)) {
            weight = counts[k];
            best = k;
        }
    }
    found[i] = best;
}

// OUT the sum of the counts of the cells around each query cell.
template <int D>
__global__ void window_counts(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask, const u32* index,
                              const u64* counts, int reach, u64* found) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u64 key = 0, sum = 0;
    int window = 1;
    for (int j = 0; j < D; ++j) {
        key += static_cast<u64>(query[i * D + j] - layout.of[D + j]) * static_cast<u64>(layout.of[j]);
        window *= 2 * reach + 1;
    }
    for (int w = 0; w < window; ++w) {
        const u64 at = find(keys, mask, neighbour<D>(key, w, reach, layout));
        if (at != NONE) sum += counts[index[at]];
    }
    found[i] = sum;
}

// OUT the nearest of k modes to each place, both in cells; the first of equals. 0 is no period.
extern "C" __global__ void nearest_mode(const double* places, i64 n, int d, const double* period,
                                        const double* modes, i64 k, i32* labels) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    double least = 0;
    i32 best = -1;
    for (i64 c = 0; c < k; ++c) {
        double square = 0;
        for (int j = 0; j < d; ++j) {
            double delta = fabs(places[i * d + j] - modes[c * d + j]);
            if (period[j] > 0) delta = fmin(delta, period[j] - delta);
            square += delta * delta;
        }
        if (best < 0 || square < least) {
            least = square;
            best = static_cast<i32>(c);
        }
    }
    labels[i] = best;
}
