// Numbers on a GPU, the same as in src/kernel: cells by a correctly rounded division, fixed-point offsets,
// integer sums modulo 2^64. Integer sums do not depend on the order of adding, so atomics may come in any
// order, and every result is bit-identical to the CPU's. Compile with --fmad=false: a fused multiplication
// would round differently.
//
// The cells of a box are numbered in mixed radix: key = sum over the axes of (cell - low) * stride. The row
// of a key in a table of sums is the key itself (dense) or the slot of the key in a hash table.

typedef long long i64;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned int u32;

// launch.py defines MSPP_*: the limits of src/kernel/base/limits.hpp, and the number of axes of these
// kernels.
constexpr int kOffsetBits = MSPP_OFFSET_BITS;
constexpr int kTieBits = MSPP_TIE_BITS;
constexpr u32 kFreeSteps = MSPP_FREE_STEPS;
constexpr u32 kDoublingSteps = MSPP_DOUBLING_STEPS;
constexpr int kMaxAxes = MSPP_MAX_AXES;
constexpr double kMaxCell = MSPP_MAX_CELL;

constexpr double kOffsetMagic = 1ull << (52 - kOffsetBits);  // its ulp is one unit of offset
constexpr double kTie = 1.0 / (1ull << kTieBits);            // in cells
constexpr u64 kNone = ~0ull;                                 // not a key, not a row

// Structs that the host passes by value. For points: cell sizes, lows and extents of a box, D of each; for
// cells: strides and lows.
struct Numbers {
    double of[3 * kMaxAxes];
};
struct Layout {
    i64 of[2 * kMaxAxes];
};

// A box whose keys are of type K.
template <int D, class K>
struct Box {
    double cell_size[D], inverse[D];
    double shift[D];  // a cell of the box plus this is 2^52 or more, where doubles are integers
    K extent[D];
    __device__ explicit Box(const Numbers& from) {
        for (int j = 0; j < D; ++j) {
            cell_size[j] = from.of[j];
            inverse[j] = 1.0 / from.of[j];
            shift[j] = 0x1p52 - from.of[D + j];
            extent[j] = static_cast<K>(from.of[2 * D + j]);
        }
    }
};

// A number as a double. CuPy has the compiler flush subnormal floats to zero, which would put a negative one
// into the wrong cell; the instruction itself does not flush.
__device__ inline double widen(float value) {
    double x;
    asm("cvt.f64.f32 %0, %1;" : "=d"(x) : "f"(value));
    return x;
}
template <class T>
__device__ inline double widen(T value) {
    return static_cast<double>(value);
}

// Rounds to the nearest integer, ties to even; for 0 <= x < 2^51.
__device__ inline u64 nearest(double x) {
    return __double_as_longlong(x + 0x1p52) - __double_as_longlong(0x1p52);
}

// -- The cell rule --------------------------------------------------------------------------------------
//
// With q = x / cell_size, a point is in the cell floor(q), at the offset q - floor(q).

// x / cell_size, correctly rounded.
template <class T>
__device__ inline double quotient(T value, double cell_size) {
    return widen(value) / cell_size;
}

// The same from inverse, the correctly rounded 1 / cell_size: the first correction makes the product
// faithful, the second makes a faithful quotient the correctly rounded one (Markstein). Numbers so small that
// a remainder would underflow are divided; box.py accepts no cell size for which others would.
template <class T>
__device__ inline double quotient(T value, double cell_size, double inverse) {
    const double x = widen(value);
    const bool tiny = sizeof(T) == 8 && fabs(x) < 0x1p-400 && x != 0;
    if (tiny) return x / cell_size;
    const double product = x * inverse;
    const double q = __fma_rn(__fma_rn(-product, cell_size, x), inverse, product);
    return __fma_rn(__fma_rn(-q, cell_size, x), inverse, q);
}

// Whether a quotient has a cell; false for NaN.
__device__ inline bool has_cell(double q) { return fabs(q) < kMaxCell; }

__device__ inline double cell_of(double q) { return floor(q); }

// The offset as fixed point, rounded to nearest, ties to even: the addition itself rounds.
__device__ inline u64 offset_in_cell(double fraction) {
    return __double_as_longlong(fraction + kOffsetMagic) - __double_as_longlong(kOffsetMagic);
}

__device__ inline u64 offset_of(double q) { return offset_in_cell(q - cell_of(q)); }

// The tie rule: the cell of a mean y is floor(y + kTie). Positions of a search, which are fixed point of
// `bits` bits, carry this from the start.
__device__ inline u64 tie_of(int bits) { return 1ull << (bits - kTieBits); }

// -- Keys -----------------------------------------------------------------------------------------------

// OUT the key of a point and its offsets; false if the point is outside the box or not finite. Rounding down
// at 2^52 gives the cell, and the bits of that number count from the low end of the box.
template <class T, int D, class K>
__device__ inline bool split(const T* point, const Box<D, K>& box, K& key, u64* offset) {
    bool inside = true;
    key = 0;
    for (int j = 0; j < D; ++j) {
        const double q = quotient(point[j], box.cell_size[j], box.inverse[j]);
        const double shifted = __dadd_rd(q, box.shift[j]), cell = shifted - box.shift[j];
        const u64 in_box = __double_as_longlong(shifted) - __double_as_longlong(0x1p52);
        inside = inside && in_box < box.extent[j];
        offset[j] = offset_in_cell(q - cell);
        key = key * box.extent[j] + static_cast<K>(in_box);
    }
    return inside;
}

// The key of a cell. IN layout: D strides, D lows; `margin`: cells of the layout below the lows.
template <int D>
__device__ inline u64 key_of(const i64* cell, const Layout& layout, int margin = 0) {
    u64 key = 0;
    for (int j = 0; j < D; ++j)
        key += static_cast<u64>(cell[j] - layout.of[D + j] + margin) * static_cast<u64>(layout.of[j]);
    return key;
}

template <class T, int D>
__device__ inline void load(const T* points, i64 i, i64 row_stride, i64 column_stride, T* point) {
    for (int j = 0; j < D; ++j) point[j] = points[i * row_stride + j * column_stride];
}
