// Points to sums, cell by cell: for any number of axes and any box.

#include "numbers.cuh"

// Any number of axes, any cell. OUT cells (n, d) and the first row that holds no usable number.
template <class T>
__global__ void cells_of(const T* points, i64 n, int d, i64 row_stride, i64 column_stride, const double* h,
                         i64* cells, i64* first_bad) {
    for (i64 k = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; k < n * d;
         k += static_cast<i64>(gridDim.x) * blockDim.x) {
        const i64 i = k / d;
        const int j = static_cast<int>(k % d);
        const double q = widen(points[i * row_stride + j * column_stride]) / h[j];
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
            const double q = widen(points[i * row_stride + j * column_stride]) / h[j];
            atomicAdd(row + 1 + j, w * offset_of(q - floor(q)));
        }
    }
}
