// The box of a sample of the points, and the key of each point in a box.

#include "numbers.cuh"

// OUT the least low and the greatest high of the lanes of a warp, in every lane.
__device__ inline void warp_extent(double& low, double& high) {
    for (int lane = 16; lane > 0; lane /= 2) {
        low = fmin(low, __shfl_xor_sync(~0u, low, lane));
        high = fmax(high, __shfl_xor_sync(~0u, high, lane));
    }
}

// OUT the lowest and the highest cell of every step-th point, by one block of 32 warps.
template <class T, int D>
__global__ void __launch_bounds__(1024, 1)
    sample_box(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers, i64 step,
               double* low_high) {
    __shared__ double low[D][32], high[D][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double my_low[D], my_high[D];
    for (int j = 0; j < D; ++j) {
        my_low[j] = kMaxCell;
        my_high[j] = -kMaxCell;
    }
#pragma unroll 4
    for (i64 i = threadIdx.x * step; i < n; i += blockDim.x * step)
        for (int j = 0; j < D; ++j) {
            const double q = quotient(points[i * row_stride + j * column_stride], numbers.of[j]);
            const double cell = isfinite(q) ? cell_of(fmin(fmax(q, -kMaxCell), kMaxCell)) : 0.0;
            my_low[j] = fmin(my_low[j], cell);
            my_high[j] = fmax(my_high[j], cell);
        }
    for (int j = 0; j < D; ++j) {
        warp_extent(my_low[j], my_high[j]);
        if (lane == 0) {
            low[j][warp] = my_low[j];
            high[j][warp] = my_high[j];
        }
    }
    __syncthreads();
    if (warp >= D) return;  // one warp per axis
    double lowest = low[warp][lane], highest = high[warp][lane];
    warp_extent(lowest, highest);
    if (lane == 0) {
        low_high[warp] = lowest;
        low_high[D + warp] = highest;
    }
}

// OUT the key of each point, for sorting; kNone if the point is outside the box.
template <class T, int D>
__global__ void keys_of(const T* points, i64 n, i64 row_stride, i64 column_stride, Numbers numbers,
                        u64* keys) {
    const Box<D, u64> box(numbers);
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        T point[D];
        u64 key, offset[D];
        load<T, D>(points, i, row_stride, column_stride, point);
        keys[i] = split(point, box, key, offset) ? key : kNone;
    }
}
