// The caller's points, of any type and with any strides; they are never copied.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "kernel/base/errors.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

enum class Dtype { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

struct Points {
    const char* data;
    Dtype dtype;
    i64 n;
    int d;
    i64 row_stride, column_stride;  // in bytes

    const char* at(i64 row, int column) const { return data + row * row_stride + column * column_stride; }
    // Whether rows of T follow each other without gaps, which the vectorised loops need.
    template <class T>
    bool packed() const {
        return column_stride == sizeof(T) && row_stride == static_cast<i64>(sizeof(T)) * d &&
               reinterpret_cast<uintptr_t>(data) % alignof(T) == 0;
    }
};

// Calls fn with a value of the points' type.
template <class Fn>
auto with_type(Dtype dtype, Fn&& fn) {
    switch (dtype) {
        case Dtype::u8:
            return fn(uint8_t{});
        case Dtype::i8:
            return fn(int8_t{});
        case Dtype::u16:
            return fn(uint16_t{});
        case Dtype::i16:
            return fn(int16_t{});
        case Dtype::u32:
            return fn(uint32_t{});
        case Dtype::i32:
            return fn(int32_t{});
        case Dtype::u64:
            return fn(uint64_t{});
        case Dtype::i64:
            return fn(int64_t{});
        case Dtype::f32:
            return fn(float{});
        default:
            return fn(double{});
    }
}

// Whether a double holds an integer of 64 bits, and no other integer rounds to the same double.
template <class T>
bool is_exact(T x) {
    constexpr T kExact = static_cast<T>(kMaxExact);
    if constexpr (std::numeric_limits<T>::is_signed) return -kExact <= x && x <= kExact;
    return x <= kExact;
}

// The value as a double; throws if a double cannot hold it exactly.
template <class T>
double widen(const Points& points, i64 row, int column) {
    T x;
    std::memcpy(&x, points.at(row, column), sizeof x);
    const double wide = static_cast<double>(x);
    if constexpr (std::numeric_limits<T>::is_integer && sizeof(T) == 8) {
        if (!is_exact(x))
            throw BadInput("is " + std::to_string(x) +
                               ", which float64 cannot hold exactly: integers must lie within +-2**53; "
                               "subtract an offset first",
                           row, column);
    }
    return wide;
}

// Not a stream: when the standard library is linked statically, its streams may not be initialised.
inline std::string digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// Throws BadInput for a value x that has no cell.
[[noreturn]] inline void reject(i64 row, int column, double x, double cell_size) {
    if (std::isnan(x)) throw BadInput("is NaN: every coordinate must be a finite number", row, column);
    if (std::isinf(x))
        throw BadInput(std::string(x < 0 ? "is -inf" : "is inf") +
                           " (infinity): every coordinate must be a finite number",
                       row, column);
    throw BadInput("is " + digits(x) + ", too large for bandwidth " + digits(cell_size) +
                       ": |x / bandwidth| must stay below 2**51; remove the row, subtract an offset or use a "
                       "larger bandwidth",
                   row, column);
}

}  // namespace mspp
