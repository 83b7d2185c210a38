// Fourier transforms of small square maps of complex numbers.
//
// A forward transform leaves its frequencies transposed and in bit-reversed order, and an inverse one expects
// them so: neither permutes anything. Spectra are only multiplied frequency by frequency, for which the order
// does not matter.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernel/base/numbers.hpp"

namespace mspp {

constexpr i64 kMapSide = 32;
constexpr i64 kMapSize = kMapSide * kMapSide;

struct ComplexMap {
    alignas(64) std::array<float, kMapSize> re{}, im{};
};

class Fourier {
  public:
    Fourier() {
        for (i64 k = 0; k < kMapSide / 2; ++k) {
            const double angle = -2 * std::numbers::pi * static_cast<double>(k) / kMapSide;
            cos_[k] = static_cast<float>(std::cos(angle)), sin_[k] = static_cast<float>(std::sin(angle));
        }
    }
    void forward(ComplexMap& map) const {
        forward_columns(map);
        transpose(map);
        forward_columns(map);
    }
    // Not scaled.
    void inverse(ComplexMap& map) const {
        inverse_columns(map);
        transpose(map);
        inverse_columns(map);
    }

  private:
    static constexpr i64 n = kMapSide;

    void forward_columns(ComplexMap& map) const {
        for (i64 half = n / 2; half >= 1; half /= 2)
            for (i64 first = 0; first < n; first += 2 * half)
                for (i64 k = 0; k < half; ++k) {
                    const i64 a = (first + k) * n, b = a + half * n, turn = k * (n / 2 / half);
                    split(&map.re[a], &map.im[a], &map.re[b], &map.im[b], cos_[turn], sin_[turn]);
                }
    }
    void inverse_columns(ComplexMap& map) const {
        for (i64 half = 1; half < n; half *= 2)
            for (i64 first = 0; first < n; first += 2 * half)
                for (i64 k = 0; k < half; ++k) {
                    const i64 a = (first + k) * n, b = a + half * n, turn = k * (n / 2 / half);
                    join(&map.re[a], &map.im[a], &map.re[b], &map.im[b], cos_[turn], -sin_[turn]);
                }
    }
    // Rows a and b become a + b and (a - b) (c + i s).
    static void split(float* __restrict ar, float* __restrict ai, float* __restrict br, float* __restrict bi,
                      float c, float s) {
        for (i64 x = 0; x < n; ++x) {
            const float dr = ar[x] - br[x], di = ai[x] - bi[x];
            ar[x] += br[x], ai[x] += bi[x];
            br[x] = dr * c - di * s, bi[x] = dr * s + di * c;
        }
    }
    // Rows a and b become a + b (c + i s) and a - b (c + i s).
    static void join(float* __restrict ar, float* __restrict ai, float* __restrict br, float* __restrict bi,
                     float c, float s) {
        for (i64 x = 0; x < n; ++x) {
            const float tr = br[x] * c - bi[x] * s, ti = br[x] * s + bi[x] * c;
            br[x] = ar[x] - tr, bi[x] = ai[x] - ti;
            ar[x] += tr, ai[x] += ti;
        }
    }
    static void transpose(ComplexMap& map) {
        for (i64 y = 1; y < n; ++y)
            for (i64 x = 0; x < y; ++x) {
                std::swap(map.re[y * n + x], map.re[x * n + y]);
                std::swap(map.im[y * n + x], map.im[x * n + y]);
            }
    }
    std::array<float, kMapSide / 2> cos_, sin_;
};

}  // namespace mspp
