// Eight floats at a time: compilers do not find the vectors in loops over eight by themselves.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mspp {

// Four floats, which every processor adds at once.
#if defined(__GNUC__)
struct Four {
    typedef float Vector __attribute__((vector_size(16)));
    typedef int32_t Bits __attribute__((vector_size(16)));
    Vector v;
    static Four all(float x) { return {Vector{x, x, x, x}}; }
    static Four difference(const int32_t* a, int32_t b) {
        Bits x;
        std::memcpy(&x, a, sizeof x);
        return {__builtin_convertvector(x - b, Vector)};
    }
    friend bool any_at_most(Four a, Four b) {
        const Bits mask = a.v <= b.v;
        uint64_t halves[2];
        std::memcpy(halves, &mask, sizeof mask);
        return (halves[0] | halves[1]) != 0;
    }
    friend Four operator+(Four a, Four b) { return {a.v + b.v}; }
    friend Four operator-(Four a, Four b) { return {a.v - b.v}; }
    friend Four operator*(Four a, Four b) { return {a.v * b.v}; }
    friend Four magnitude(Four a) { return {(Vector)((Bits)a.v & INT32_MAX)}; }
    friend Four larger(Four a, Four b) {
        a.v = a.v > b.v ? a.v : b.v;
        return a;
    }
};
#else
struct Four {
    float v[4];
    template <class Fn>
    static Four each(Fn&& fn) {
        return {fn(0), fn(1), fn(2), fn(3)};
    }
    static Four all(float x) { return {x, x, x, x}; }
    static Four difference(const int32_t* a, int32_t b) {
        return each([&](int c) { return static_cast<float>(a[c] - b); });
    }
    friend bool any_at_most(const Four& a, const Four& b) {
        return a.v[0] <= b.v[0] || a.v[1] <= b.v[1] || a.v[2] <= b.v[2] || a.v[3] <= b.v[3];
    }
    friend Four operator+(const Four& a, const Four& b) {
        return each([&](int c) { return a.v[c] + b.v[c]; });
    }
    friend Four operator-(const Four& a, const Four& b) {
        return each([&](int c) { return a.v[c] - b.v[c]; });
    }
    friend Four operator*(const Four& a, const Four& b) {
        return each([&](int c) { return a.v[c] * b.v[c]; });
    }
    friend Four magnitude(const Four& a) {
        return each([&](int c) { return std::abs(a.v[c]); });
    }
    friend Four larger(const Four& a, const Four& b) {
        return each([&](int c) { return a.v[c] > b.v[c] ? a.v[c] : b.v[c]; });
    }
};
#endif

struct Lanes {
    static constexpr int kWidth = 8;
    Four low, high;
    static Lanes all(float x) { return {Four::all(x), Four::all(x)}; }
    static Lanes load(const float* x) {
        Lanes result;
        std::memcpy(&result.low, x, sizeof(Four));
        std::memcpy(&result.high, x + 4, sizeof(Four));
        return result;
    }
    // Eight integers minus one, none of which may overflow.
    static Lanes difference(const int32_t* a, int32_t b) {
        return {Four::difference(a, b), Four::difference(a + 4, b)};
    }
    void store(float* x) const {
        std::memcpy(x, &low, sizeof(Four));
        std::memcpy(x + 4, &high, sizeof(Four));
    }
    friend Lanes operator+(const Lanes& a, const Lanes& b) { return {a.low + b.low, a.high + b.high}; }
    friend Lanes operator-(const Lanes& a, const Lanes& b) { return {a.low - b.low, a.high - b.high}; }
    friend Lanes operator*(const Lanes& a, const Lanes& b) { return {a.low * b.low, a.high * b.high}; }
    friend Lanes magnitude(const Lanes& a) { return {magnitude(a.low), magnitude(a.high)}; }
    // Whether one of the values is at most that of b.
    friend bool any_at_most(const Lanes& a, const Lanes& b) {
        return any_at_most(a.low, b.low) || any_at_most(a.high, b.high);
    }
    // The larger of two, or b if one is NaN.
    friend Lanes larger(const Lanes& a, const Lanes& b) {
        return {larger(a.low, b.low), larger(a.high, b.high)};
    }
};

}  // namespace mspp
