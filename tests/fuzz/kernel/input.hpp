// Bounded input from the bytes of a fuzzer, and REQUIRE, which ends the program if a law is broken.
//
// A harness is one file with one function, FUZZ(input) { ... }. Bytes that are missing read as 0, so every
// string of bytes is an input, and a short one is a simple case.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "kernel/cells/grid.hpp"
#include "kernel/cells/points.hpp"

#define REQUIRE(expression) \
    if (!(expression)) fuzz::fail(#expression, __FILE__, __LINE__)

#define FUZZ(input)                                                            \
    static void run_one(fuzz::Input input);                                    \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) { \
        run_one(fuzz::Input(bytes, size));                                     \
        return 0;                                                              \
    }                                                                          \
    static void run_one(fuzz::Input input)

namespace fuzz {

using namespace mspp;

[[noreturn]] inline void fail(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, expression);
    std::abort();
}

class Input {
  public:
    Input(const uint8_t* bytes, size_t size) : next_(bytes), end_(bytes + size) {}

    uint8_t byte() { return next_ < end_ ? *next_++ : uint8_t{0}; }
    bool flip() { return byte() % 2 == 1; }
    u64 word() {
        u64 bits = 0;
        for (int k = 0; k < 8; ++k) bits = bits << 8 | byte();
        return bits;
    }
    // A whole number from low to high.
    i64 whole(i64 low, i64 high) {
        const u64 values = static_cast<u64>(high - low) + 1;
        const u64 bits = values <= 256 ? byte() : word();
        return low + static_cast<i64>(values == 0 ? bits : bits % values);
    }
    template <class T, size_t N>
    T choice(const T (&values)[N]) {
        return values[static_cast<size_t>(byte()) % N];
    }
    // A finite number: mostly of a few bits, so that cells are shared and edges are hit.
    double finite(double most = 1e300) {
        const uint8_t kind = byte();
        if (kind < 240) return std::clamp(static_cast<double>(static_cast<int8_t>(byte())) / 8, -most, most);
        const double odd[] = {0.3,  -0.0,  0x1p-1074,      1e-9, 1e9,
                              most, -most, most * 0x1p-40, -1.5, 0x1.fffffffffffffp-1};
        if (kind < 248) return std::clamp(choice(odd), -most, most);
        const u64 bits = word();
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value >= -most && value <= most ? value : 0.5;
    }
    // Any double, NaN and infinity too.
    double any() {
        const u64 bits = byte() < 250 ? 0 : word();
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return bits == 0 ? finite() : value;
    }
    // Periods of the axes in cells, 0 for none; each at least as long as a window.
    std::vector<i64> periods(int d, i64 reach) {
        std::vector<i64> cells;
        for (int j = 0; j < d; ++j) cells.push_back(byte() % 4 ? 0 : 2 * reach + 1 + whole(0, 9));
        return cells;
    }
    // A cell within the periods: mostly near 0, rarely as far as cells go.
    std::vector<i64> cell(const std::vector<i64>& periods) {
        std::vector<i64> at;
        const bool far = byte() >= 250;
        for (const i64 period : periods)
            at.push_back(period > 0 ? whole(0, period - 1)
                         : far      ? whole(1 - kMaxCell, kMaxCell - 1)
                                    : whole(-6, 6));
        return at;
    }
    // Sorted and distinct cells with valid counts and sums.
    GridData grid(const std::vector<i64>& periods, i64 most_cells, u64 most_weight) {
        std::map<std::vector<i64>, std::vector<u64>> rows;
        const i64 m = whole(0, most_cells);
        for (i64 k = 0; k < m; ++k) {
            std::vector<u64>& moments = rows[cell(periods)];
            moments.assign(1, 1 + (byte() < 240 ? byte() : word()) % most_weight);
            for (size_t j = 0; j < periods.size(); ++j)
                moments.push_back((static_cast<u64>(byte()) << 24) * moments[0]);
        }
        GridData grid{static_cast<int>(periods.size()), {}, {}, {}};
        for (const auto& [at, moments] : rows) grid.append(at.data(), moments.data());
        return grid;
    }

  private:
    const uint8_t *next_, *end_;
};

inline bool operator==(const GridData& a, const GridData& b) {
    return a.d == b.d && a.cells == b.cells && a.counts == b.counts && a.sums == b.sums;
}

// Points of any type and strides, in memory of their own.
struct AnyPoints {
    static constexpr Dtype kTypes[] = {Dtype::f64, Dtype::f32, Dtype::u8,  Dtype::i8,  Dtype::u16,
                                       Dtype::i16, Dtype::u32, Dtype::i32, Dtype::u64, Dtype::i64};
    std::vector<char> memory;
    Points points;

    // IN value(): the next coordinate, which is converted to an integer if the type is one.
    template <class Fn>
    AnyPoints(Input& input, i64 n, int d, Fn&& value) : points{nullptr, input.choice(kTypes), n, d, 0, 0} {
        with_type(points.dtype, [&](auto zero) {
            using T = decltype(zero);
            const i64 item = sizeof(T), gap = input.byte() % 4 == 0 ? input.whole(0, 9) : 0;
            const bool by_column = input.byte() % 4 == 0;
            points.column_stride = by_column ? item * n + gap : item;
            points.row_stride = by_column ? item : item * d + gap;
            memory.resize(static_cast<size_t>((item + gap) * (n + 1) * (d + 1)));
            points.data = memory.data();
            for (i64 i = 0; i < n; ++i)
                for (int j = 0; j < d; ++j) {
                    T x;
                    if constexpr (std::numeric_limits<T>::is_integer)
                        x = static_cast<T>(input.byte() < 240 ? input.byte() : input.word());
                    else
                        x = static_cast<T>(value());
                    std::memcpy(memory.data() + i * points.row_stride + j * points.column_stride, &x,
                                sizeof x);
                }
        });
    }
    double at(i64 i, int j) const {
        return with_type(points.dtype, [&](auto x) {
            std::memcpy(&x, points.at(i, j), sizeof x);
            return static_cast<double>(x);
        });
    }
};

}  // namespace fuzz
