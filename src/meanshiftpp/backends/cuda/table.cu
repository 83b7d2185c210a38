// From a table of sums to a grid, and from the labels of its rows to the labels of the points.

#include "numbers.cuh"

extern "C" {

// The first row of a block's part of a table.
__device__ inline i64 part(i64 rows, int block) { return rows * block / static_cast<i64>(gridDim.x); }

// OUT counts[block]: the number of occupied rows in the block's part.
__global__ void count_rows(const u64* table, i64 rows, int d, u64* counts) {
    int mine = 0;
    for (i64 i = part(rows, blockIdx.x) + threadIdx.x; i < part(rows, blockIdx.x + 1); i += blockDim.x)
        mine += table[i * (d + 1)] != 0;
    for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_xor_sync(~0u, mine, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(counts + blockIdx.x, static_cast<u64>(mine));
}

// OUT the cell `at` of a grid: the cell of a key, with the sums of a row.
__device__ inline void write_cell(u64 key, const u64* row, i64 at, int d, const Numbers& box, i64* cells,
                                  u64* counts, u64* sums) {
    counts[at] = row[0];
    for (int j = d - 1; j >= 0; --j) {
        const u64 extent = static_cast<u64>(box.of[2 * d + j]);
        cells[at * d + j] = static_cast<i64>(box.of[d + j]) + static_cast<i64>(key % extent);
        key /= extent;
        sums[at * d + j] = row[1 + j];
    }
}

// OUT the occupied rows in order and, unless `cells` is null, their grid, where a row is its key. IN the
// result of count_rows.
__global__ void list_rows(const u64* table, i64 rows, int d, const u64* in_part, i64* occupied,
                          const __grid_constant__ Numbers box, i64* cells, u64* counts, u64* sums) {
    __shared__ i64 next;
    __shared__ int in_warp[32];
    if (threadIdx.x == 0) next = 0;
    __syncthreads();
    for (int block = threadIdx.x; block < blockIdx.x; block += blockDim.x)
        atomicAdd(reinterpret_cast<u64*>(&next), in_part[block]);
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
        if (mine && cells)
            write_cell(static_cast<u64>(i), table + i * (d + 1), at, d, box, cells, counts, sums);
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) next = at + mine;
        __syncthreads();
    }
}

// OUT the grid of a table's rows: cells, counts, sums. IN the occupied rows in cell order, and the keys of
// all rows, each stored plus `key_shift`.
__global__ void collect(const i64* occupied, const u64* keys, int key_shift, i64 m, int d,
                        const __grid_constant__ Numbers box, const u64* table, i64* cells, u64* counts,
                        u64* sums) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const u64 key = keys[occupied[i]] - static_cast<u64>(key_shift);
    write_cell(key, table + occupied[i] * (d + 1), i, d, box, cells, counts, sums);
}

// OUT value_of_row[occupied[k]] = values[k].
__global__ void spread(const i64* occupied, const i32* values, i64 m, i32* value_of_row) {
    const i64 k = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (k < m) value_of_row[occupied[k]] = values[k];
}

// OUT labels[i] = values[k] where ids[i] == occupied[k], -1 if there is no such k; outside[-1 - id] for a
// negative id. If value_of_row is null, the rows are few and their values are held in shared memory.
__global__ void take(const i32* ids, i64 n, const i64* occupied, const i32* values, i64 m, i32 rows,
                     const i32* value_of_row, const i32* outside, i32* labels) {
    extern __shared__ i32 shared[];
    const bool in_shared = value_of_row == nullptr;
    if (in_shared) {
        for (i32 k = threadIdx.x; k < rows; k += blockDim.x) shared[k] = -1;
        __syncthreads();
        for (i64 k = threadIdx.x; k < m; k += blockDim.x) shared[occupied[k]] = values[k];
        __syncthreads();
    }
    const i64 first = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
    const bool aligned = reinterpret_cast<u64>(ids) % 16 == 0 && reinterpret_cast<u64>(labels) % 16 == 0;
    const i64 fours = aligned ? n / 4 : 0;
    auto label = [&](i32 id) {
        return id < 0 ? outside[-1 - id] : in_shared ? shared[id] : value_of_row[id];
    };
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

}  // extern "C"
