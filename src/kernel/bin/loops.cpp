// The loops of loops.hpp. MSPP_ISA names the instruction set that this file is compiled for.
#include "kernel/bin/loops.hpp"

#include <cstring>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/prefetch.hpp"

namespace mspp::MSPP_ISA {

namespace {

inline int count_bits(uint64_t x) {
#if !defined(_MSC_VER)
    return __builtin_popcountll(x);
#elif defined(_M_X64)
    return static_cast<int>(__popcnt64(x));
#else  // sums of 2, 4 and 8 bits, then of all bytes into the top one
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<int>((x * 0x0101010101010101u) >> 56);
#endif
}

// Eight points at once: elementwise over their 8 d interleaved coordinates.
template <class T, int D>
inline bool split_eight(const T* points, const BoxPattern& box, double* keys, uint64_t* offsets) {
    double part[8 * D];
    // The sign bit is set by a cell below the box, and by one at or above its end; NaN sets one of the two.
    uint64_t signs = 0;
    for (int k = 0; k < 8 * D; ++k) {
        const double q = quotient_of(static_cast<double>(points[k]), box.cell_size[k]);
        const double cell = cell_of(q);
        const double in_box = cell - box.low[k];
        signs |= bits_of(in_box) | ~bits_of(in_box - box.extent[k]);
        offsets[k] = offset_of(q, cell);
        part[k] = in_box * box.stride[k];
    }
    for (int i = 0; i < 8; ++i) {
        double key = part[i * D];
        for (int j = 1; j < D; ++j) key += part[i * D + j];
        keys[i] = key;
    }
    return signs >> 63 == 0;
}

template <class T, int D>
bool split(const T* points, int n, const BoxPattern& box, double* keys, uint64_t* offsets) {
    bool inside = true;
    int i = 0;
    for (; i + 8 <= n; i += 8) inside &= split_eight<T, D>(points + i * D, box, keys + i, offsets + i * D);
    if (i < n) {  // the rest, padded with its first point
        T rest[8 * D];
        double rest_keys[8];
        uint64_t rest_offsets[8 * D];
        for (int k = 0; k < 8; ++k)
            std::memcpy(rest + k * D, points + (i + (k < n - i ? k : 0)) * D, D * sizeof(T));
        inside &= split_eight<T, D>(rest, box, rest_keys, rest_offsets);
        std::memcpy(keys + i, rest_keys, static_cast<size_t>(n - i) * sizeof(double));
        std::memcpy(offsets + i * D, rest_offsets, static_cast<size_t>((n - i) * D) * sizeof(uint64_t));
    }
    return inside;
}

template <int D>
void split_bytes(const uint8_t* points, int n, const ByteTables& tables, double* keys, uint64_t* offsets) {
    for (int i = 0; i < n; ++i) {
        double key = 0;
        for (int j = 0; j < D; ++j) {
            const uint8_t value = points[i * D + j];
            key += tables.key[j][value];
            offsets[i * D + j] = tables.offset[j][value];
        }
        keys[i] = key;
    }
}

// Rows are prefetched: in a large table each one is a cache miss.
template <int D>
void add(const int32_t* ids, const uint64_t* offsets, int n, uint64_t* table) {
    constexpr int kAhead = 16;
    for (int i = 0; i < n; ++i) {
        const int ahead = i + kAhead < n ? i + kAhead : i;
        MSPP_PREFETCH(table + static_cast<int64_t>(ids[ahead]) * (D + 1));
        uint64_t* row = table + static_cast<int64_t>(ids[i]) * (D + 1);
        row[0] += 1;
        for (int j = 0; j < D; ++j) row[j + 1] += offsets[i * D + j];
    }
}

// W numbers added at once; compilers do not vectorise this on their own.
#ifdef _MSC_VER
template <int W>
struct Lanes {
    uint64_t of[W];
    Lanes& operator+=(const Lanes& other) {
        for (int k = 0; k < W; ++k) of[k] += other.of[k];
        return *this;
    }
    uint64_t first() const { return of[0]; }
};
#else
template <int W>
struct Lanes {
    typedef uint64_t Vector __attribute__((vector_size(W * 8)));
    Vector of;
    Lanes& operator+=(const Lanes& other) {
        of += other.of;
        return *this;
    }
    uint64_t first() const {
        uint64_t first;
        std::memcpy(&first, &of, sizeof first);
        return first;
    }
};
#endif

template <int D>
inline int32_t add_byte_row(const uint8_t* point, const uint64_t* rows, uint64_t* table) {
    constexpr int kWidth = byte_row_width(D);
    using Row = Lanes<kWidth>;
    Row row, sum;
    std::memcpy(&row, rows + point[0] * kWidth, sizeof row);
    for (int j = 1; j < D; ++j) {
        Row more;
        std::memcpy(&more, rows + (j * 256 + point[j]) * kWidth, sizeof more);
        row += more;
    }
    const int32_t key = static_cast<int32_t>(row.first() >> 32);
    uint64_t* at = table + static_cast<int64_t>(key) * kWidth;
    std::memcpy(&sum, at, sizeof sum);
    sum += row;
    std::memcpy(at, &sum, sizeof sum);
    return key;
}

template <int D>
void add_bytes(const uint8_t* points, int n, const uint64_t* rows, uint64_t* tables, int64_t copy,
               int32_t* ids) {
    int i = 0;
    for (; i + kCopies <= n; i += kCopies)
        for (int k = 0; k < kCopies; ++k)
            ids[i + k] = add_byte_row<D>(points + (i + k) * D, rows, tables + k * copy);
    for (; i < n; ++i) ids[i] = add_byte_row<D>(points + i * D, rows, tables);
}

void ids_of_keys(const double* keys, int n, int32_t* ids) {
    for (int i = 0; i < n; ++i) ids[i] = static_cast<int32_t>(keys[i]);
}

void mark(const double* keys, int n, uint64_t* bitmap) {
    for (int i = 0; i < n; ++i) {
        const uint64_t key = static_cast<uint64_t>(static_cast<int64_t>(keys[i]));
        const uint64_t bit = uint64_t{1} << (key % 64);
        if (!(bitmap[key / 64] & bit)) bitmap[key / 64] |= bit;  // usually set already: saves the store
    }
}

void rank(const double* keys, int n, const RankWord* words, int64_t rows, int32_t* ids) {
    const int32_t last = static_cast<int32_t>(rows) - 1;
    for (int i = 0; i < n; ++i) MSPP_PREFETCH(words + static_cast<int64_t>(keys[i]) / 64);
    for (int i = 0; i < n; ++i) {
        const int64_t key = static_cast<int64_t>(keys[i]);
        const RankWord& word = words[key / 64];
        const uint64_t below = word.marks & ((uint64_t{1} << (key % 64)) - 1);
        const int32_t rank = static_cast<int32_t>(word.before) + count_bits(below);
        ids[i] = rank < last ? rank : last;
    }
}

}  // namespace

extern const BlockLoops loops;
const BlockLoops loops = {
    {nullptr, split<float, 1>, split<float, 2>, split<float, 3>, split<float, 4>, split<float, 5>,
     split<float, 6>, split<float, 7>, split<float, 8>, split<float, 9>, split<float, 10>},
    {nullptr, split<double, 1>, split<double, 2>, split<double, 3>, split<double, 4>, split<double, 5>,
     split<double, 6>, split<double, 7>, split<double, 8>, split<double, 9>, split<double, 10>},
    {nullptr, split_bytes<1>, split_bytes<2>, split_bytes<3>, split_bytes<4>, split_bytes<5>, split_bytes<6>,
     split_bytes<7>, split_bytes<8>, split_bytes<9>, split_bytes<10>},
    {nullptr, add<1>, add<2>, add<3>, add<4>, add<5>, add<6>, add<7>, add<8>, add<9>, add<10>},
    {nullptr, add_bytes<1>, add_bytes<2>, add_bytes<3>, add_bytes<4>, add_bytes<5>, add_bytes<6>,
     add_bytes<7>, add_bytes<8>, add_bytes<9>, add_bytes<10>},
    ids_of_keys,
    mark,
    rank,
};

}  // namespace mspp::MSPP_ISA
