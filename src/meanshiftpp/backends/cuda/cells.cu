// Rows of grids: merging rows of the same cell, and the box of the cells.

#include "numbers.cuh"

extern "C" {

// Adds row i of a grid to row position[i] of another.
__global__ void merge_rows(const i32* position, const i64* cells, const u64* counts, const u64* sums, i64 m,
                           int d, i64* to_cells, u64* to_counts, u64* to_sums) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const i64 to = position[i];
    atomicAdd(to_counts + to, counts[i]);
    for (int j = 0; j < d; ++j) {
        to_cells[to * d + j] = cells[i * d + j];
        atomicAdd(to_sums + to * d + j, sums[i * d + j]);
    }
}

// Whether one cell is before another in lexicographic order.
__device__ inline bool before(const i64* a, const i64* b, int d) {
    for (int j = 0; j < d; ++j)
        if (a[j] != b[j]) return a[j] < b[j];
    return false;
}

// OUT the place of each of k cells among m sorted ones: twice the number of cells before it, plus 1 if it is
// among them.
__global__ void locate(const i64* cells, i64 m, int d, const i64* others, i64 k, i64* places) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= k) return;
    const i64* other = others + i * d;
    i64 low = 0, high = m;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (before(cells + middle * d, other, d))
            low = middle + 1;
        else
            high = middle;
    }
    places[i] = 2 * low + (low < m && !before(other, cells + low * d, d));
}

// OUT m sorted rows with room for k others, and the new position of each row. IN inserted: the number of rows
// before each of the others, rising.
__global__ void move_rows(const i64* cells, const u64* counts, const u64* sums, i64 m, int d,
                          const i64* inserted, i64 k, i32* position, i64* to_cells, u64* to_counts,
                          u64* to_sums) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    i64 low = 0, high = k;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (inserted[middle] <= i)
            low = middle + 1;
        else
            high = middle;
    }
    const i64 to = i + low;
    position[i] = static_cast<i32>(to);
    to_counts[to] = counts[i];
    for (int j = 0; j < d; ++j) {
        to_cells[to * d + j] = cells[i * d + j];
        to_sums[to * d + j] = sums[i * d + j];
    }
}

// OUT the box of the cells and the sum of the counts, as numbers that start at 0 and only rise: for each axis
// the complement of the lowest cell, then for each axis the highest cell, both with the sign bit flipped.
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
            const u64 other_low = __shfl_xor_sync(~0u, low, lane),
                      other_high = __shfl_xor_sync(~0u, high, lane);
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

}  // extern "C"
