// Numbers on a GPU: the same as in src/kernel. Cells by a true division, 32-bit offsets, integer sums modulo
// 2^64. So no order of adding matters, atomics may come in any order, and every result equals the CPU's, bit
// for bit. To be compiled with --fmad=false: a fused multiplication would round differently.
//
// A box of cells is numbered in mixed radix: key = sum over the axes of (cell - low) * stride. A key's row of
// sums is the key itself (dense), or where a hash table keeps the key.

typedef long long i64;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned int u32;

#define NONE 0xFFFFFFFFFFFFFFFFull  // no key, or no row

// What the host hands over by value. For points: bandwidths, lows, extents and strides of a box, D of each;
// for cells: strides and lows.
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

// A number as a double. Of floats, CuPy has the compiler flush those next to zero, which would put a negative
// one into the wrong cell.
__device__ inline double widen(float value) {
    double x;
    asm("cvt.f64.f32 %0, %1;" : "=d"(x) : "f"(value));
    return x;
}
template <class T>
__device__ inline double widen(T value) {
    return static_cast<double>(value);
}

// x / h, correctly rounded, from the correctly rounded 1 / h: the first correction makes the product
// faithful, and of a faithful quotient the second makes the true one (Markstein). Numbers so small that a
// remainder would underflow are divided.
template <class T>
__device__ inline double quotient(T value, double h, double inverse) {
    const double x = widen(value);
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
