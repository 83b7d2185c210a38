// The leaves of a tree: codes of points on the Morton curve, the largest boxes of few points, and the leaf of
// each point; as src/kernel/leaves, for codes of one word.

#include "numbers.cuh"

constexpr int kCodeAxes = 3;

// struct Lattice of leaves.py.
struct Lattice {
    double cell_size[kCodeAxes], low[kCodeAxes], extent[kCodeAxes], period[kCodeAxes], shift[kCodeAxes];
};

__device__ inline i64 first_item() { return blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; }
__device__ inline i64 all_threads() { return static_cast<i64>(gridDim.x) * blockDim.x; }

// The number of the highest bit in which two codes differ, from 1; 0 if they are equal.
__device__ inline int first_difference(u64 a, u64 b) { return 64 - __clzll(static_cast<i64>(a ^ b)); }

template <int D>
constexpr int kTotalBits = D * (64 / D < 30 ? 64 / D : 30);  // of a code

// The bits of a coordinate, D apart.
template <int D>
__device__ inline u64 spread(u64 x) {
    if (D == 2) {
        x = (x | x << 16) & 0x0000ffff0000ffff;
        x = (x | x << 8) & 0x00ff00ff00ff00ff;
        x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
        x = (x | x << 2) & 0x3333333333333333;
        x = (x | x << 1) & 0x5555555555555555;
    } else if (D == 3) {
        x = (x | x << 32) & 0x001f00000000ffff;
        x = (x | x << 16) & 0x001f0000ff0000ff;
        x = (x | x << 8) & 0x100f00f00f00f00f;
        x = (x | x << 4) & 0x10c30c30c30c30c3;
        x = (x | x << 2) & 0x1249249249249249;
    }
    return x;
}
template <int D>
__device__ inline u64 gather(u64 x) {
    if (D == 2) {
        x &= 0x5555555555555555;
        x = (x | x >> 1) & 0x3333333333333333;
        x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
        x = (x | x >> 4) & 0x00ff00ff00ff00ff;
        x = (x | x >> 8) & 0x0000ffff0000ffff;
        x = (x | x >> 16) & 0x00000000ffffffff;
    } else if (D == 3) {
        x &= 0x1249249249249249;
        x = (x | x >> 2) & 0x10c30c30c30c30c3;
        x = (x | x >> 4) & 0x100f00f00f00f00f;
        x = (x | x >> 8) & 0x001f0000ff0000ff;
        x = (x | x >> 16) & 0x001f00000000ffff;
        x = (x | x >> 32) & 0x00000000001fffff;
    }
    return x;
}

// The code of a point, kNone outside of the lattice. OUT bad: whether it has a value without a cell.
template <class T, int D>
__device__ inline u64 code_of(const T* point, const Lattice& lattice, bool& bad) {
    u64 code = 0;
    bool inside = true;
    bad = false;
    for (int j = 0; j < D; ++j) {
        const double x = widen(point[j]), cell = cell_of(x / lattice.cell_size[j]);
        bad = bad || !isfinite(x);
        i64 at;
        if (lattice.period[j] > 0) {
            bad = bad || !has_cell(cell);
            const i64 period = static_cast<i64>(lattice.period[j]);
            at = has_cell(cell) ? static_cast<i64>(cell) % period : 0;
            at = at < 0 ? at + period : at;
        } else {
            const double from_low = cell - lattice.low[j];
            const bool is_in = from_low >= 0 && from_low < lattice.extent[j];
            inside = inside && is_in;
            at = is_in ? static_cast<i64>(from_low) : 0;
        }
        code = code << 1 | spread<D>(static_cast<u64>(at >> static_cast<int>(lattice.shift[j])));
    }
    return inside ? code : kNone;
}

// OUT codes (n,), and the first row with a value that has no cell.
template <class T, int D>
__global__ void codes_of(const T* points, i64 n, i64 row_stride, i64 column_stride, Lattice lattice,
                         u64* codes, i64* first_bad) {
    for (i64 i = first_item(); i < n; i += all_threads()) {
        T point[D];
        bool bad;
        load<T, D>(points, i, row_stride, column_stride, point);
        codes[i] = code_of<T, D>(point, lattice, bad);
        if (bad) atomicMin(first_bad, i);
    }
}

// OUT starts (n,): 1 for the first point of each leaf. IN codes (n,), sorted. The largest box around a point
// that holds at most `limit` points is smaller than all boxes of limit + 1 neighbours on the curve.
template <int D>
__global__ void mark_leaves(const u64* codes, i64 n, i64 limit, i32* starts, unsigned char* bits) {
    for (i64 i = first_item(); i < n; i += all_threads()) {
        int smallest = kTotalBits<D> + 1;  // box that is too heavy
        for (i64 j = i < limit ? 0 : i - limit; j <= i && j + limit < n && smallest > 0; ++j) {
            const int heavy = first_difference(codes[j], codes[j + limit]);
            smallest = heavy < smallest ? heavy : smallest;
        }
        const int own = smallest > 0 ? smallest - 1 : 0;
        bits[i] = static_cast<unsigned char>(own);
        starts[i] = i == 0 || first_difference(codes[i - 1], codes[i]) > own;
    }
}

// OUT sums (leaves, D) of the coordinates; squares (2,): the sum of the squared numbers of equal codes, its
// upper and its lower half. IN first (leaves + 1,), where each leaf begins.
template <int D>
__global__ void sum_leaves(const u64* codes, const i64* first, i64 leaves, u64* sums, u64* squares) {
    u64 high = 0, low = 0;
    for (i64 k = first_item(); k < leaves; k += all_threads()) {
        u64 sum[D] = {};
        for (i64 i = first[k], end; i < first[k + 1]; i = end) {
            end = i + 1;  // beyond the points with the same code
            while (end < first[k + 1] && codes[end] == codes[i]) ++end;
            const u64 equal = static_cast<u64>(end - i), most = equal < 0xffffffff ? equal : 0xffffffff;
            high += most * most >> 32;
            low += most * most & 0xffffffff;
            for (int j = 0; j < D; ++j) sum[j] += equal * gather<D>(codes[i] >> (D - 1 - j));
        }
        for (int j = 0; j < D; ++j) sums[k * D + j] = sum[j];
    }
    if (high) atomicAdd(&squares[0], high);
    if (low) atomicAdd(&squares[1], low);
}

// OUT found (n,): the leaf whose box holds each point, -1 for none; the first row with a value that has no
// cell. IN codes, bits (leaves,) sorted; starts: of the leaves by the highest `digit` bits of a code.
template <class T, int D>
__global__ void find_leaves(const T* points, i64 n, i64 row_stride, i64 column_stride, Lattice lattice,
                            const u64* codes, const unsigned short* bits, const u32* starts, int digit,
                            i32* found, i64* first_bad) {
    for (i64 i = first_item(); i < n; i += all_threads()) {
        T point[D];
        bool bad;
        load<T, D>(points, i, row_stride, column_stride, point);
        const u64 code = code_of<T, D>(point, lattice, bad);
        if (bad) atomicMin(first_bad, i);
        i32 leaf = -1;
        if (code != kNone) {
            const u64 bin = code >> (kTotalBits<D> - digit);
            u32 low = starts[bin],
                high = starts[bin + 1];  // the last leaf that does not begin after the code
            while (low < high) {
                const u32 middle = (low + high) / 2;
                codes[middle] <= code ? void(low = middle + 1) : void(high = middle);
            }
            if (low > 0 && first_difference(codes[low - 1], code) <= bits[low - 1])
                leaf = static_cast<i32>(low) - 1;
        }
        found[i] = leaf;
    }
}

// -- Marginals ------------------------------------------------------------------------------------------

// Doubles as integers in the same order, for atomics.
__device__ inline i64 ordered(double x) {
    const i64 bits = __double_as_longlong(x);
    return bits < 0 ? bits ^ 0x7fffffffffffffff : bits;
}

// OUT ends (d, 2): the least and the greatest value of each axis, as ordered integers; the first row with a
// value that is not finite. One row of blocks per axis.
template <class T>
__global__ void find_ranges(const T* points, i64 n, i64 row_stride, i64 column_stride, const double* period,
                            i64* ends, i64* first_bad) {
    const int j = blockIdx.y;
    const double turn = period[j];
    i64 low = 0x7fffffffffffffff, high = -0x7fffffffffffffff - 1;
    for (i64 i = first_item(); i < n; i += all_threads()) {
        double x = widen(points[i * row_stride + j * column_stride]);
        if (!isfinite(x)) atomicMin(first_bad, i);
        if (turn > 0) x -= floor(x / turn) * turn;
        low = min(low, ordered(x));
        high = max(high, ordered(x));
    }
    for (int lane = 16; lane > 0; lane /= 2) {
        low = min(low, __shfl_xor_sync(~0u, low, lane));
        high = max(high, __shfl_xor_sync(~0u, high, lane));
    }
    if (threadIdx.x % 32 != 0) return;
    atomicMin(&ends[2 * j], low);
    atomicMax(&ends[2 * j + 1], high);
}

// OUT counts (cells,) of the values of one axis in a window; outside: the rows of others, as many as fit, and
// their number. IN inverse of the size of a cell, or with a period the number of its cells.
template <class T>
__global__ void count_cells(const T* points, i64 n, i64 row_stride, double period, double inverse,
                            double first, i64 cells, u32* counts, i64* outside, i64 most_outside,
                            u64* n_outside) {
    for (i64 i = first_item(); i < n; i += all_threads()) {
        const double x = widen(points[i * row_stride]);
        double cell;
        if (period > 0) {
            const double turns = x / period;
            cell = floor((turns - floor(turns)) * inverse);
            cell = cell < inverse ? cell : 0;
        } else {
            cell = floor(x * inverse) - first;
        }
        if (cell >= 0 && cell < static_cast<double>(cells)) {
            atomicAdd(&counts[static_cast<i64>(cell)], 1u);
        } else {
            const u64 place = atomicAdd(n_outside, u64{1});
            if (place < static_cast<u64>(most_outside)) outside[place] = i;
        }
    }
}

// -- Tallies --------------------------------------------------------------------------------------------

// OUT widths (66,): how many neighbours on the curve differ first in each bit. IN codes (n,), sorted.
extern "C" __global__ void count_differences(const u64* codes, i64 n, u64* widths) {
    __shared__ u32 own[66];
    for (int k = threadIdx.x; k < 66; k += blockDim.x) own[k] = 0;
    __syncthreads();
    for (i64 i = first_item() + 1; i < n; i += all_threads())
        atomicAdd(&own[first_difference(codes[i - 1], codes[i])], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 66; k += blockDim.x)
        if (own[k]) atomicAdd(&widths[k], static_cast<u64>(own[k]));
}

// OUT coordinates (n, D) of codes.
template <int D>
__global__ void coordinates_of(const u64* codes, i64 n, i64* coordinates) {
    for (i64 i = first_item(); i < n; i += all_threads())
        for (int j = 0; j < D; ++j)
            coordinates[i * D + j] = static_cast<i64>(gather<D>(codes[i] >> (D - 1 - j)));
}
