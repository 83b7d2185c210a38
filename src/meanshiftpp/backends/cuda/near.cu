// New points: what of a grid is around their cells, and which mode is nearest.

#include "hash.cuh"

// A table of a grid's cells: keys, and behind each the cell's index; after the last, whether there was no
// room.
template <int D>
__global__ void index_cells(const i64* cells, i64 m, Layout layout, u64* keys, u64 mask, u32* index) {
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (i >= m) return;
    u64 key = 0;
    for (int j = 0; j < D; ++j)
        key += static_cast<u64>(cells[i * D + j] - layout.of[D + j]) * static_cast<u64>(layout.of[j]);
    const u64 at = claim(keys, mask, key);
    index[at == NONE ? mask + 1 : at] = at == NONE ? 1u : static_cast<u32>(i);
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

// OUT found[q]: the index of the query cell; else of the heaviest cell around it, the first of equals; else
// -1.
template <int D>
__global__ void near_cells(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask,
                           const u32* index, const u64* counts, int reach, i64* found) {
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
__global__ void window_counts(const i64* query, i64 m, Layout layout, const u64* keys, u64 mask,
                              const u32* index, const u64* counts, int reach, u64* found) {
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
