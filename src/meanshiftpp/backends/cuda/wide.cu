// From points to sums without keys: for any number of axes and any box.

#include "numbers.cuh"

// OUT cells (n, d) and the first row with a value that has no cell.
template <class T>
__global__ void cells_of(const T* points, i64 n, int d, i64 row_stride, i64 column_stride,
                         const double* cell_size, i64* cells, i64* first_bad) {
    for (i64 k = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; k < n * d;
         k += static_cast<i64>(gridDim.x) * blockDim.x) {
        const i64 i = k / d;
        const int j = static_cast<int>(k % d);
        const double q = quotient(points[i * row_stride + j * column_stride], cell_size[j]);
        const bool good = has_cell(q);
        if (!good) atomicMin(first_bad, i);
        cells[k] = good ? static_cast<i64>(cell_of(q)) : 0;
    }
}

// Adds each point to the row of the table that is its id.
template <class T>
__global__ void add_points(const T* points, i64 n, int d, i64 row_stride, i64 column_stride,
                           const double* cell_size, const u64* weights, const i32* ids, u64* table) {
    for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<i64>(gridDim.x) * blockDim.x) {
        const u64 w = weights ? weights[i] : 1;
        u64* row = table + static_cast<i64>(ids[i]) * (d + 1);
        if (w == 0) continue;
        atomicAdd(row, w);
        for (int j = 0; j < d; ++j) {
            const double q = quotient(points[i * row_stride + j * column_stride], cell_size[j]);
            atomicAdd(row + 1 + j, w * offset_of(q));
        }
    }
}
