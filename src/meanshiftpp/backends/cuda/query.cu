// Queries for new points: the cells of a grid around their cells, and the nearest mode.

#include "hash.cuh"

// OUT a hash table of a grid's cells: keys, and for each slot the index of its cell; the entry after the last
// slot becomes 1 if the table overflowed.
template <int D>
__global__ void index_cells(const i64* cells, i64 m, Layout layout, u64* keys, u64 mask, u32* index) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const u64 slot = insert_key(keys, mask, key_of<D>(cells + i * D, layout));
    index[slot == kNone ? mask + 1 : slot] = slot == kNone ? 1u : static_cast<u32>(i);
}

// The number of cells in a window.
template <int D>
__device__ inline int window_size(int reach) {
    int size = 1;  // at most MAX_WINDOW_CELLS of fallback.py
    for (int j = 0; j < D; ++j) size *= 2 * reach + 1;
    return size;
}

// The w-th key of the window around a key.
template <int D>
__device__ inline u64 neighbour(u64 key, int w, int reach, const Layout& layout) {
    for (int j = D - 1, rest = w; j >= 0; --j) {
        key += static_cast<u64>(static_cast<i64>(rest % (2 * reach + 1) - reach) * layout.of[j]);
        rest /= 2 * reach + 1;
    }
    return key;
}

// OUT found[i]: the index of the query cell; else of the heaviest cell in its window, the first of equals;
// else -1.
template <int D>
__global__ void find_cells(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask,
                           const u32* index, const u64* counts, int reach, i64* found) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const u64 key = key_of<D>(query + i * D, layout);
    const int window = window_size<D>(reach);
    const u64 same = find_key(keys, mask, key);
    i64 best = same == kNone ? -1 : static_cast<i64>(index[same]);
    u64 weight = 0;
    for (int w = 0; same == kNone && w < window; ++w) {
        const u64 slot = find_key(keys, mask, neighbour<D>(key, w, reach, layout));
        if (slot == kNone) continue;
        const i64 k = index[slot];
        if (counts[k] > weight || (counts[k] == weight && k < best)) {
            weight = counts[k];
            best = k;
        }
    }
    found[i] = best;
}

// OUT found[i]: the sum of the counts in the window of the query cell.
template <int D>
__global__ void window_counts(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask,
                              const u32* index, const u64* counts, int reach, u64* found) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    const u64 key = key_of<D>(query + i * D, layout);
    const int window = window_size<D>(reach);
    u64 sum = 0;
    for (int w = 0; w < window; ++w) {
        const u64 slot = find_key(keys, mask, neighbour<D>(key, w, reach, layout));
        if (slot != kNone) sum += counts[index[slot]];
    }
    found[i] = sum;
}

// OUT the nearest of k modes to each position, the first of equals; both in cells. A period of 0 cells: none.
extern "C" __global__ void nearest_modes(const double* positions, i64 n, int d,
                                         const double* cells_per_period, const double* modes, i64 k,
                                         i32* labels) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    double least = 0;
    i32 best = -1;
    for (i64 c = 0; c < k; ++c) {
        double square = 0;
        for (int j = 0; j < d; ++j) {
            double delta = fabs(positions[i * d + j] - modes[c * d + j]);
            if (cells_per_period[j] > 0) delta = fmin(delta, cells_per_period[j] - delta);
            square += delta * delta;
        }
        if (best < 0 || square < least) {
            least = square;
            best = static_cast<i32>(c);
        }
    }
    labels[i] = best;
}
