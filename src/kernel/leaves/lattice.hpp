// The lattice of a tree: whole coordinates of points, and their code along the Morton curve.
#pragma once

#include <array>
#include <bit>

#include "kernel/base/cell_rule.hpp"
#include "kernel/cells/points.hpp"

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

    // OUT coordinates (d,) of a row. Returns whether it is inside; then only the coordinates are all set.
    template <class T>
    bool locate(const Points& points, i64 row, u32* coordinates) const {
        bool inside = true;
        for (int j = 0; j < d; ++j) {
            const double x = widen<T>(points, row, j);
            if (!std::isfinite(x)) reject(row, j, x, cell_size[j]);
            inside = place(x, row, j, coordinates[j]) && inside;
        }
        return inside;
    }

  private:
    bool place(double x, i64 row, int j, u32& coordinate) const {
        const double cell = cell_of(quotient_of(x, cell_size[j]));
        if (const i64 period = cells_per_period[j]; period > 0) {
            if (!(std::fabs(cell) < static_cast<double>(kMaxCell)))
                throw BadInput("is more than 2**21 periods from 0; subtract whole periods first", row, j);
            const i64 turned = static_cast<i64>(cell) % period;
            coordinate = static_cast<u32>((turned < 0 ? turned + period : turned) >> shift[j]);
            return true;
        }
        const double from_low = cell - static_cast<double>(low[j]);
        if (!(from_low >= 0 && from_low < static_cast<double>(extent[j]))) return false;
        coordinate = static_cast<u32>(static_cast<i64>(from_low) >> shift[j]);
        return true;
    }
};

// The place of a box on the Morton curve: the highest bits of all coordinates first. W words, the most
// significant first.
template <int W>
struct Code {
    std::array<u64, W> words{};
    // Not <=>, which std::array lacks in the library of emscripten 3.1.6.
    bool operator<(const Code& other) const { return words < other.words; }
    bool operator==(const Code& other) const { return words == other.words; }
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

// Between coordinates and codes, byte by byte from tables.
template <int W>
class Interleave {
  public:
    explicit Interleave(int d)
        : axes_(std::min(d, 64 * W)),
          bits_(std::min(Lattice::kMaxBits, 64 * W / axes_)),
          slots_(std::min(axes_, 8)),
          encode_(static_cast<size_t>(axes_) * 4),
          decode_(static_cast<size_t>(8 * W * 256 * slots_), 0) {
        for (int j = 0; j < axes_; ++j)
            for (int b = 0; b < bits_; ++b) add_place(j, b, b * axes_ + axes_ - 1 - j);
    }

    // The bits of all coordinates. More axes than bits are not part of the code.
    int total_bits() const { return bits_ * axes_; }

    // IN coordinates below 2^bits(d).
    Code<W> code(const u32* coordinates) const {
        Code<W> code;
        for (int j = 0; j < axes_; ++j)
            for (int byte = 0; byte < 4; ++byte) {
                const Code<W>& part =
                    encode_[static_cast<size_t>(4 * j + byte)][coordinates[j] >> 8 * byte & 255];
                for (int w = 0; w < W; ++w) code.words[w] |= part.words[w];
            }
        return code;
    }

    // Adds weight times each coordinate to sums.
    void add_coordinates(const Code<W>& code, u64 weight, u64* sums) const {
        for (int byte = 0; byte < 8 * W; ++byte) {
            const u32 value = code.words[W - 1 - byte / 8] >> 8 * (byte % 8) & 255;
            const u32* parts = &decode_[static_cast<size_t>((byte * 256 + value) * slots_)];
            for (int slot = 0, j = first_axis(byte); slot < slots_; ++slot) {
                sums[j] += weight * parts[slot];
                j = j == 0 ? axes_ - 1 : j - 1;
            }
        }
    }

  private:
    // The axis of the lowest bit of a byte; those of the next bits are before it, in turn.
    int first_axis(int byte) const { return axes_ - 1 - 8 * byte % axes_; }

    void add_place(int j, int b, int place) {
        const int byte = place / 8, slot = (first_axis(byte) - j + axes_) % axes_;
        for (u32 value = 0; value < 256; ++value) {
            if (value >> b % 8 & 1)
                encode_[static_cast<size_t>(4 * j + b / 8)][value].words[W - 1 - place / 64] |= u64{1}
                                                                                                << place % 64;
            if (value >> place % 8 & 1)
                decode_[(static_cast<size_t>(byte) * 256 + value) * static_cast<size_t>(slots_) +
                        static_cast<size_t>(slot)] |= u32{1} << b;
        }
    }

    int axes_, bits_, slots_;
    std::vector<std::array<Code<W>, 256>> encode_;
    std::vector<u32> decode_;
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
