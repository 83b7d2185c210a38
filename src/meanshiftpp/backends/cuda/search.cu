// From cells to modes.
//
// One launch does many steps: all blocks run at the same time, with a barrier between the phases of a step.
// Two tables of rows (count, then sums of absolute positions modulo 2^64) hold this step's cells and the next
// step's. A list holds the occupied rows, so that the cost follows the number of cells that are left.

#include "buckets.cuh"

// Where the rows of cells are, and how windows are summed: by looking up each cell, or by buckets.
enum { DENSE, HASH, BUCKETS };

// The rest rule; see src/kernel/seek/rest.hpp. Steps count from 1.
struct RestRule {
    u64 first, longest;  // limits of moves, in units of positions
    __device__ u64 limit(u32 step) const {
        if (step <= kFreeSteps) return 0;
        const u32 doublings = min((step - kFreeSteps - 1) / kDoublingSteps, 63u);
        return first > longest >> doublings ? longest : first << doublings;
    }
};

// a / b; a 32-bit division is faster.
__device__ inline u64 divide(u64 a, u64 b) {
    return (a | b) >> 32 ? a / b : static_cast<u32>(a) / static_cast<u32>(b);
}

// OUT the sums over the window around a key. REACH is `reach` if it is known at compile time, else 0.
template <int D, bool HASHED, int REACH>
__device__ inline void window_sums(const u64* keys, const u64* rows, u64 mask, u64 key, const u64* stride,
                                   int reach, u64* sums) {
    const int r = REACH ? REACH : reach, side = 2 * r + 1;
    int window_rows = 1;  // fewer than MAX_WINDOW_CELLS of fallback.py
    for (int j = 0; j < D - 1; ++j) window_rows *= side;
#pragma unroll(REACH == 1 && D <= 3 ? 9 : 1)
    for (int w = 0; w < window_rows; ++w) {
        u64 row_key = key - r;
        for (int j = D - 2, rest = w; j >= 0; --j) {
            row_key += static_cast<u64>(static_cast<i64>(rest % side - r)) * stride[j];
            rest /= side;
        }
        for (int k = 0; k < side; ++k) {
            const u64 at = HASHED ? find_key(keys, mask, row_key + k) : row_key + k;
            if (HASHED && at == kNone) continue;
            for (int j = 0; j <= D; ++j) sums[j] += rows[at * (D + 1) + j];
        }
    }
}

// OUT the position of an occupied cell after a step: the mean of `sums`. Returns the key of its cell.
template <int D>
__device__ inline u64 aim(const u64* sums, u64 key, const u64* stride, int reach, int bits, u64* position) {
    const u64 n = sums[0];
    u64 to = 0, left = key;
    for (int j = 0; j < D; ++j) {
        const u64 coordinate = divide(left, stride[j]), below = coordinate - reach, corner = below << bits;
        left -= coordinate * stride[j];
        const double mean =
            static_cast<double>(static_cast<i64>(sums[j + 1] - n * corner)) / static_cast<double>(n);
        const u64 p = nearest(mean);
        position[j] = corner + p;
        to += (below + (p >> bits)) * stride[j];
    }
    return to;
}

// OUT the target of an occupied cell: the mean of its window, or its own if it rests.
template <int D, int WAY, int REACH>
__device__ inline void shift(State* state, const Arrays& arrays, u32& moving, int now, u64 i, u64 mask,
                             const u64* stride, int reach, int bits, u64 limit) {
    const u64* rows = arrays.rows[now];
    const u64 at = arrays.list[now][i], key = WAY != DENSE ? arrays.keys[now][at] - 1 : at;
    u64 sums[D + 1] = {}, position[D];
    if constexpr (WAY == BUCKETS)
        for (int j = 0; j <= D; ++j) sums[j] = arrays.buckets.window[i * (D + 1) + j];
    else
        window_sums<D, WAY == HASH, REACH>(arrays.keys[now], rows, mask, key, stride, reach, sums);
    const u64* own = rows + at * (D + 1);
    const u64 count = own[0], longest = count * limit;
    u64 to = aim<D>(sums, key, stride, reach, bits, position);
    const bool alone = sums[0] == count;
    bool rests = !alone;
    for (int j = 0; j < D; ++j)  // a move from -longest to longest is short
        rests = rests && own[j + 1] - count * position[j] + longest <= 2 * longest;
    if (rests) {
        state->rested = 1;
        if (limit > 0) to = aim<D>(own, key, stride, reach, bits, position);
    }
    if (to != key || !(alone || rests)) moving = 1;
    for (int j = 0; j < D; ++j) arrays.position[i * D + j] = position[j];
    arrays.target[i] = to;
    arrays.weight[i] = count;
}

// Adds a list entry to its target in the next table; the first one there makes the target's list entry.
template <int D, bool HASHED>
__device__ inline void move_to_target(State* state, const Arrays& arrays, int now, u64 i, u64 mask) {
    const u64 key = arrays.target[i], n = arrays.weight[i];
    const u64 to = HASHED ? insert_key(arrays.keys[1 - now], mask, key) : key;
    if (HASHED && to == kNone) {
        state->overflow = 1;
        return;
    }
    u64* row = arrays.rows[1 - now] + to * (D + 1);
    for (int j = 0; j < D; ++j) atomicAdd(row + 1 + j, n * arrays.position[i * D + j]);
    arrays.target[i] = to;
    if (atomicAdd(row, n) != 0) return;
    const u64 entry = atomicAdd(&state->length[1 - now], 1ull);
    arrays.list[1 - now][entry] = to;
    arrays.entry[to] = static_cast<u32>(entry);
    arrays.group[1 - now][entry] = arrays.group[now][i];
}

// After all entries have moved: links the groups that merged, and clears the row that the entry left.
template <int D, bool HASHED>
__device__ inline void link_and_clear(const Arrays& arrays, int now, u64 i) {
    const u32 entry = arrays.entry[arrays.target[i]], own = arrays.group[now][i];
    const u32 merged = arrays.group[1 - now][entry];
    if (merged != own) arrays.parent[own] = merged;
    const u64 at = arrays.list[now][i];
    for (int j = 0; j <= D; ++j) arrays.rows[now][at * (D + 1) + j] = 0;
    if (HASHED) arrays.keys[now][at] = 0;
}

// Takes steps until step number `until`, or until the search is done.
template <int D, int WAY, int REACH>
__global__ void __launch_bounds__(256, 3)
    search(State* state, const __grid_constant__ Arrays arrays, u64 mask,
           const __grid_constant__ Packing packing, const __grid_constant__ Layout layout, int reach,
           int bits, const __grid_constant__ RestRule rule, u32 until) {
    u64 stride[D];
    for (int j = 0; j < D; ++j) stride[j] = static_cast<u64>(layout.of[j]);
    const u64 first = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
    const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
    u32 now = state->now, steps = state->steps;
    u64 length = state->length[now];
    bool done = false;
    while (true) {
        u32& moving = state->moving[steps % 2];
        const u64 limit = rule.limit(steps + 1);
        if constexpr (WAY == BUCKETS) {
            sum_windows<D>(state, arrays, packing, stride, now, length, reach);
            if (fresh(state->overflow)) break;
        }
        for (u64 i = first; i < length; i += step)
            shift<D, WAY, REACH>(state, arrays, moving, now, i, mask, stride, reach, bits, limit);
        barrier(state);

        done = !fresh(moving);
        for (u64 i = first; i < length; i += step)
            move_to_target<D, WAY != DENSE>(state, arrays, now, i, mask);
        if (first == 0) {
            state->length[now] = 0;  // every thread has read it
            state->moving[(steps + 1) % 2] = 0;
        }
        barrier(state);

        for (u64 i = first; i < length; i += step) link_and_clear<D, WAY != DENSE>(arrays, now, i);
        now = 1 - now;
        length = fresh(state->length[now]);
        done = done || fresh(state->overflow);
        if (++steps == until || done) break;
    }
    if (first == 0) {
        state->now = now;
        state->steps = steps;
        state->done = done;
    }
}

// OUT the first state: rows, list and groups of a grid. IN layout: D strides, D lows.
template <int D, bool HASHED>
__global__ void start_search(const i64* cells, const u64* counts, const u64* sums, i64 m,
                             const __grid_constant__ Arrays arrays, u64 mask, Layout layout, int reach,
                             int bits, State* state) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i == 0) state->length[0] = static_cast<u64>(m);
    if (i >= m) return;
    const u64 key = key_of<D>(cells + i * D, layout, reach);
    const u64 at = HASHED ? insert_key(arrays.keys[0], mask, key) : key;
    if (HASHED && at == kNone) {
        state->overflow = 1;
        return;
    }
    u64* row = arrays.rows[0] + at * (D + 1);
    row[0] = counts[i];
    const int drop = kOffsetBits - bits;
    for (int j = 0; j < D; ++j) {
        const u64 sum = sums[i * D + j];
        const u64 offsets = drop == 0 ? sum : (sum + (1ull << (drop - 1))) >> drop;
        const u64 corner = static_cast<u64>(cells[i * D + j] - layout.of[D + j] + reach) << bits;
        row[1 + j] = offsets + counts[i] * (corner + tie_of(bits));
    }
    arrays.list[0][i] = at;
    arrays.group[0][i] = arrays.parent[i] = static_cast<u32>(i);
}

// OUT the key and the count of a mode, by which modes are ranked.
template <int D, bool HASHED>
__device__ inline void read_mode(const Arrays& arrays, int now, i64 i, u64& key, u64& count) {
    const u64 at = arrays.list[now][i];
    key = HASHED ? arrays.keys[now][at] - 1 : at;
    count = arrays.rows[now][at * (D + 1)];
}

template <int D, bool HASHED>
__global__ void list_modes(const __grid_constant__ Arrays arrays, int now, i64 k, u64* keys, u64* counts) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i < k) read_mode<D, HASHED>(arrays, now, i, keys[i], counts[i]);
}

// OUT per mode: its weight, its cell and its position in that cell; per group: its label. The heaviest mode
// is first, of equals the first in cell order. IN the rank of each list entry; if `ranks` is null, the modes
// are few and each is compared with all others.
template <int D, bool HASHED>
__global__ void write_modes(const __grid_constant__ Arrays arrays, int now, i64 k, Layout layout, int reach,
                            int bits, const i64* ranks, double* weights, i64* cells, double* fractions,
                            i32* label_of_group) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= k) return;
    u64 key, count;
    read_mode<D, HASHED>(arrays, now, i, key, count);
    i64 rank = ranks ? ranks[i] : 0;
    for (i64 other = 0; !ranks && other < k; ++other) {
        u64 other_key, other_count;
        read_mode<D, HASHED>(arrays, now, other, other_key, other_count);
        rank += other_count > count || (other_count == count && other_key < key);
    }
    const u64* row = arrays.rows[now] + arrays.list[now][i] * (D + 1);
    weights[rank] = static_cast<double>(count);
    label_of_group[arrays.group[now][i]] = static_cast<i32>(rank);
    for (int j = 0; j < D; ++j) {
        const u64 stride = static_cast<u64>(layout.of[j]), coordinate = key / stride;
        key %= stride;
        const u64 sum = row[1 + j] - count * (coordinate << bits);
        const double mean = static_cast<double>(static_cast<i64>(sum)) / static_cast<double>(count);
        cells[rank * D + j] = static_cast<i64>(coordinate) - reach + layout.of[D + j];
        fractions[rank * D + j] = ldexp(mean, -bits) - kTie;
    }
}

// OUT the label of each cell: that of the group into which the cell's group finally merged.
extern "C" __global__ void label_cells(const u32* parent, i64 m, const i32* label_of_group, i32* labels) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u32 group = static_cast<u32>(i);
    while (parent[group] != group) group = parent[group];
    labels[i] = label_of_group[group];
}
