// Eight floats at a time: compilers do not find the vectors in loops over eight by themselves.
//
// Only for files that are compiled once per instruction set: each has its own copy of these functions, so
// that the linker never replaces one by that of another set.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mspp::MSPP_ISA {
namespace {

#if defined(__AVX2__)
constexpr int kAtOnce = 8;
#else
constexpr int kAtOnce = 4;
#endif

// As many floats as the processor adds at once.
#if defined(__GNUC__)
struct Vector {
    typedef float Floats __attribute__((vector_size(kAtOnce * 4)));
    typedef int32_t Bits __attribute__((vector_size(kAtOnce * 4)));
    Floats v;
    static Vector all(float x) { return {x - Floats{}}; }
    static Vector load(const float* x) {
        Vector result;
        std::memcpy(&result.v, x, sizeof result.v);
        return result;
    }
    static Vector difference(const int32_t* a, int32_t b) {
        Bits x;
        std::memcpy(&x, a, sizeof x);
        return {__builtin_convertvector(x - b, Floats)};
    }
    // The shorter of the ways round a circle.
    static Vector difference(const int32_t* a, int32_t b, int32_t period) {
        Bits x;
        std::memcpy(&x, a, sizeof x);
        x = x - b;
        x = x < 0 ? -x : x;
        const Bits other = period - x;
        return {__builtin_convertvector(x < other ? x : other, Floats)};
    }
    void store(float* x) const { std::memcpy(x, &v, sizeof v); }
    Vector operator+(Vector b) const { return {v + b.v}; }
    Vector operator-(Vector b) const { return {v - b.v}; }
    Vector operator*(Vector b) const { return {v * b.v}; }
    Vector magnitude() const { return {(Floats)((Bits)v & INT32_MAX)}; }
    Vector or_zero() const { return {v < 0 ? Floats{} : v}; }  // the larger of both; NaN stays
    unsigned at_most(Vector b) const {
        const Bits mask = v <= b.v;
#if defined(__AVX2__)
        return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
#else
        int32_t each[kAtOnce];
        std::memcpy(each, &mask, sizeof mask);
        unsigned bits = 0;
        for (int c = 0; c < kAtOnce; ++c) bits |= static_cast<unsigned>(each[c] & 1) << c;
        return bits;
#endif
    }
    bool any_at_most(Vector b) const {
        const Bits mask = v <= b.v;
        uint64_t words[kAtOnce / 2], any = 0;
        std::memcpy(words, &mask, sizeof mask);
        for (const uint64_t word : words) any |= word;
        return any != 0;
    }
};
#else
struct Vector {
    float v[kAtOnce];
    template <class Fn>
    static Vector each(Fn&& fn) {
        Vector result;
        for (int c = 0; c < kAtOnce; ++c) result.v[c] = fn(c);
        return result;
    }
    static Vector all(float x) {
        return each([&](int) { return x; });
    }
    static Vector load(const float* x) {
        return each([&](int c) { return x[c]; });
    }
    static Vector difference(const int32_t* a, int32_t b) {
        return each([&](int c) { return static_cast<float>(a[c] - b); });
    }
    static Vector difference(const int32_t* a, int32_t b, int32_t period) {
        return each([&](int c) {
            const int32_t gap = a[c] < b ? b - a[c] : a[c] - b;
            return static_cast<float>(gap < period - gap ? gap : period - gap);
        });
    }
    void store(float* x) const { std::memcpy(x, v, sizeof v); }
    Vector operator+(const Vector& b) const {
        return each([&](int c) { return v[c] + b.v[c]; });
    }
    Vector operator-(const Vector& b) const {
        return each([&](int c) { return v[c] - b.v[c]; });
    }
    Vector operator*(const Vector& b) const {
        return each([&](int c) { return v[c] * b.v[c]; });
    }
    Vector magnitude() const {
        return each([&](int c) { return v[c] < 0 ? -v[c] : v[c]; });
    }
    Vector or_zero() const {
        return each([&](int c) { return v[c] < 0 ? 0.0f : v[c]; });
    }
    unsigned at_most(const Vector& b) const {
        unsigned bits = 0;
        for (int c = 0; c < kAtOnce; ++c) bits |= static_cast<unsigned>(v[c] <= b.v[c]) << c;
        return bits;
    }
    bool any_at_most(const Vector& b) const { return at_most(b) != 0; }
};
#endif

// As many integers.
#if defined(__GNUC__)
struct Integers {
    Vector::Bits v;
    static Integers load(const int32_t* x) {
        Integers result;
        std::memcpy(&result.v, x, sizeof result.v);
        return result;
    }
    void store(int32_t* x) const { std::memcpy(x, &v, sizeof v); }
    Integers operator+(Integers b) const { return {v + b.v}; }
    // Adds 1 where b is larger than x.
    void count(Integers b, int32_t x) { v -= b.v > x; }
};
#else
struct Integers {
    int32_t v[kAtOnce];
    static Integers load(const int32_t* x) {
        Integers result;
        std::memcpy(result.v, x, sizeof result.v);
        return result;
    }
    void store(int32_t* x) const { std::memcpy(x, v, sizeof v); }
    Integers operator+(const Integers& b) const {
        Integers result;
        for (int c = 0; c < kAtOnce; ++c) result.v[c] = v[c] + b.v[c];
        return result;
    }
    void count(const Integers& b, int32_t x) {
        for (int c = 0; c < kAtOnce; ++c) v[c] += b.v[c] > x;
    }
};
#endif

// Eight as two times four.
struct Pair {
    using Half = Vector;
    Half low, high;
    static Pair all(float x) { return {Half::all(x), Half::all(x)}; }
    static Pair load(const float* x) { return {Half::load(x), Half::load(x + 4)}; }
    template <class... Period>
    static Pair difference(const int32_t* a, int32_t b, Period... period) {
        return {Half::difference(a, b, period...), Half::difference(a + 4, b, period...)};
    }
    void store(float* x) const { low.store(x), high.store(x + 4); }
    Pair operator+(const Pair& b) const { return {low + b.low, high + b.high}; }
    Pair operator-(const Pair& b) const { return {low - b.low, high - b.high}; }
    Pair operator*(const Pair& b) const { return {low * b.low, high * b.high}; }
    Pair magnitude() const { return {low.magnitude(), high.magnitude()}; }
    Pair or_zero() const { return {low.or_zero(), high.or_zero()}; }
    unsigned at_most(const Pair& b) const { return low.at_most(b.low) | high.at_most(b.high) << 4; }
    bool any_at_most(const Pair& b) const { return low.any_at_most(b.low) || high.any_at_most(b.high); }
};

#if defined(__AVX2__)
using Lanes = Vector;
#else
using Lanes = Pair;
#endif

}  // namespace
}  // namespace mspp::MSPP_ISA
