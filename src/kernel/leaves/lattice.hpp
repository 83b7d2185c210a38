// The lattice of a tree: whole coordinates of points, and their code along the Morton curve.
#pragma once

#include <array>
#include <bit>

#include "kernel/base/cell_rule.hpp"
#include "kernel/leaves/columns.hpp"

namespace mspp {

// From a value x of axis j to its coordinate: floor(x / cell_size) less the first cell `low`, without the
// lowest `shift` bits. Values beyond the `extent` are outside. On an axis with a period, cells are numbered
// modulo cells_per_period, and none is outside.
struct Lattice {
    int d;
    const double* cell_size;
    const i64* cells_per_period;  // 0 for an axis without a period
    const i64* low;
    const i64* extent;  // in cells
    const i64* shift;

    static constexpr int kMaxBits = 30;  // of a coordinate

    // OUT coordinates (d, kColumnRows) of a block of rows, and which rows are inside; the coordinates of
    // others are undefined.
    template <class T>
    void place(const Points& points, i64 first, int count, i32* coordinates, i32* inside) const {
        double values[kColumnRows];
        std::fill_n(inside, count, 1);
        for (int j = 0; j < d; ++j, coordinates += kColumnRows) {
            if (!load_column<T>(points, first, count, j, values))
                check_rows<T>(points, {first, first + count});
            if (cells_per_period[j] > 0)
                place_in_period(values, count, first, j, coordinates);
            else
                place_in_extent(values, count, j, coordinates, inside);
        }
    }

  private:
    // Vectorised: coordinates are computed as doubles, which hold them exactly.
    void place_in_extent(const double* values, int count, int j, i32* coordinates, i32* inside) const {
        const double size = cell_size[j], from = static_cast<double>(low[j]),
                     last = static_cast<double>(extent[j]),
                     scale = std::ldexp(1.0, -static_cast<int>(shift[j]));
        double cells[kColumnRows];
        for (int k = 0; k < count; ++k) cells[k] = cell_of(quotient_of(values[k], size)) - from;
        for (int k = 0; k < count; ++k)
            inside[k] &= static_cast<i32>(cells[k] >= 0) & static_cast<i32>(cells[k] < last);
        for (int k = 0; k < count; ++k) {
            const double cell = cells[k] < last ? cells[k] : 0.0;
            coordinates[k] = static_cast<i32>(cell_of((cell >= 0 ? cell : 0.0) * scale));
        }
    }
    void place_in_period(const double* values, int count, i64 first, int j, i32* coordinates) const {
        const i64 period = cells_per_period[j];
        for (int k = 0; k < count; ++k) {
            const double cell = cell_of(quotient_of(values[k], cell_size[j]));
            if (!(std::fabs(cell) < static_cast<double>(kMaxCell)))
                throw BadInput("is " + digits(values[k]) +
                                   ", more than 2**21 periods from 0; subtract whole periods first",
                               first + k, j);
            const i64 turned = static_cast<i64>(cell) % period;
            coordinates[k] = static_cast<i32>((turned < 0 ? turned + period : turned) >> shift[j]);
        }
    }
};

// The place of a box on the Morton curve: the highest bits of all coordinates first. W words, the most
// significant first.
template <int W>
struct Code {
    std::array<u64, W> words{};
    // Not <=>, which std::array lacks in the library of emscripten 3.1.6.
    bool operator<(const Code& other) const { return words < other.words; }
    bool operator==(const Code& other) const {  // std::array calls memcmp
        u64 differences = 0;
        for (int w = 0; w < W; ++w) differences |= words[w] ^ other.words[w];
        return differences == 0;
    }
};

// The number of the highest bit in which two codes differ, from 1; 0 if they are equal.
template <int W>
int first_difference(const Code<W>& a, const Code<W>& b) {
    for (int w = 0; w < W; ++w)
        if (const u64 bits = a.words[w] ^ b.words[w]; bits != 0)
            return (W - 1 - w) * 64 + static_cast<int>(std::bit_width(bits));
    return 0;
}

// `digit` bits of a code above the lowest `shift`. IN digit: at most 32.
template <int W>
u32 bits_of(const Code<W>& code, int shift, int digit) {
    const int word = W - 1 - shift / 64, within = shift % 64;
    u64 bits = code.words[word] >> within;
    if (within > 0 && word > 0) bits |= code.words[word - 1] << (64 - within);
    return static_cast<u32>(bits & ((u64{1} << digit) - 1));
}

// A code with its lowest bits set to 0.
template <int W>
Code<W> without_lowest(Code<W> code, int bits) {
    for (int w = W - 1; w >= 0 && bits > 0; --w, bits -= 64)
        code.words[w] = bits >= 64 ? 0 : code.words[w] >> bits << bits;
    return code;
}

// Between coordinates and codes.
template <int W>
class Interleave {
  public:
    explicit Interleave(int d)
        : axes_(std::min(d, 64 * W)),
          bits_(std::min(Lattice::kMaxBits, 64 * W / axes_)),
          chunk_(std::max(1, std::min(8, 64 / axes_))),
          spread_(size_t{1} << chunk_, 0) {
        for (size_t value = 0; value < spread_.size(); ++value)
            for (int b = 0; b < chunk_ && axes_ <= 64; ++b)
                spread_[value] |= static_cast<u64>(value >> b & 1) << b * axes_;
        for (int j = 0; j < axes_; ++j)
            for (int b = 0; b < bits_; ++b) add_place(j, b, b * axes_ + axes_ - 1 - j);
        for (const Field& field : fields_) most_ = std::min(most_, field.most(axes_));
        for (int stride = axes_; stride < 64; stride *= 2) {
            u64 even = 0;
            for (int at = 0; at < 64; at += 2 * stride) even |= ((u64{1} << stride) - 1) << at;
            evens_.push_back(even);
        }
    }

    // The bits of all coordinates. More axes than bits are not part of the code.
    int total_bits() const { return bits_ * axes_; }

    // IN coordinates below 2^bits(d), `step` apart.
    template <class Whole>
    Code<W> code(const Whole* coordinates, i64 step = 1) const {
        Code<W> code;
        if (axes_ > 64) return code_of_many(coordinates, step);
        const u32 mask = (u32{1} << chunk_) - 1;
        for (int low = 0; low < bits_; low += chunk_) {
            u64 part = 0;  // of a few bits of all axes
            for (int j = 0; j < axes_; ++j)
                part = part << 1 | spread_[static_cast<u32>(coordinates[j * step]) >> low & mask];
            put(code, part, low * axes_);
        }
        return code;
    }

    // Adds weight times each coordinate to sums.
    void add_coordinates(const Code<W>& code, u64 weight, u64* sums) const {
        for (const Field& field : fields_) sums[field.axis] += weight * value_of(field, field.bits(code));
    }
    // Adds the coordinates of some rows to sums. The bits of an axis are axes_ apart, so those of many rows
    // are added before they are moved together.
    template <class Row>
    void add_coordinates(const Row* rows, size_t count, u64* sums) const {
        for (size_t begin = 0; begin < count; begin += most_) {
            const size_t end = std::min(count, begin + most_);
            for (const Field& field : fields_) {
                u64 sum = 0;
                for (size_t i = begin; i < end; ++i) sum += field.bits(rows[i].code);
                sums[field.axis] += value_of(field, sum);
            }
        }
    }

  private:
    // The bits of one axis in one word of a code.
    struct Field {
        int axis, word, shift, lowest,
            count;  // `count` bits, the first of which is `lowest` of the coordinate
        u64 mask;
        u64 bits(const Code<W>& code) const { return code.words[word] >> shift & mask; }
        // How many rows can be added before a sum of bits reaches the next bit.
        size_t most(int stride) const {
            const int room = std::min({stride, 64 - (count - 1) * stride, 16});
            return (size_t{1} << room) - 1;
        }
    };

    void add_place(int j, int b, int place) {
        const int word = W - 1 - place / 64, at = place % 64;
        if (fields_.empty() || fields_.back().axis != j || fields_.back().word != word)
            fields_.push_back({j, word, at, b, 0, 0});
        Field& field = fields_.back();
        field.mask |= u64{1} << (at - field.shift);
        ++field.count;
    }

    // The value of bits, or of sums of bits, that are axes_ apart: neighbours are joined, then pairs, ...
    u64 value_of(const Field& field, u64 bits) const {
        int stride = axes_, joined = 1;
        for (size_t level = 0; joined < field.count; ++level, stride *= 2, joined *= 2)
            bits = (bits & evens_[level]) + ((bits >> stride & evens_[level]) << joined);
        return bits << field.lowest;
    }

    static void put(Code<W>& code, u64 part, int place) {
        const int word = W - 1 - place / 64, shift = place % 64;
        code.words[word] |= part << shift;
        if (shift > 0 && word > 0) code.words[word - 1] |= part >> (64 - shift);
    }
    template <class Whole>
    Code<W> code_of_many(const Whole* coordinates, i64 step) const {
        Code<W> code;
        for (int j = 0; j < axes_; ++j)
            for (int b = 0; b < bits_; ++b)
                put(code, static_cast<u64>(coordinates[j * step] >> b & 1), b * axes_ + axes_ - 1 - j);
        return code;
    }

    int axes_, bits_, chunk_;  // bits of a coordinate that a look-up spreads
    std::vector<u64> spread_;
    std::vector<Field> fields_;
    size_t most_ = UINT16_MAX;
    std::vector<u64> evens_;  // masks of every second stretch of axes_, 2 axes_, ... bits
};

// Calls fn with the number of words whose codes have at least 20 bits for each of d axes, or the most there
// is.
template <class Fn>
auto with_words([[maybe_unused]] int d, Fn&& fn) {
#ifdef MSPP_THREE_AXES  // of the web page, whose code must be small
    return fn(std::integral_constant<int, 1>{});
#else
    if (d <= 3) return fn(std::integral_constant<int, 1>{});
    if (d <= 6) return fn(std::integral_constant<int, 2>{});
    if (d <= 12) return fn(std::integral_constant<int, 4>{});
    return fn(std::integral_constant<int, 8>{});
#endif
}

}  // namespace mspp
