// Colour spaces: from sRGB to three floats per pixel.
//
// Lab and Luv are CIE 1976 under D65, in their usual units (L from 0 to 100); HSV becomes a point on its cone
// (hsv_of). Each pixel is converted on its own, so the result does not depend on the number of threads.
// Per-pixel code is force-inlined; otherwise the compiler's choice changes with unrelated code in the file.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/base/threads.hpp"
#include "kernel/cells/points.hpp"

namespace mspp {

enum class Space { rgb, lab, luv, hsv };

inline constexpr float kWhiteX = 0.95047f, kWhiteZ = 1.08883f;  // D65, Y = 1

// The sRGB curve, from a value in [0, 1] to linear light.
inline double linear_light(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }

// A curve over [0, 1], interpolated linearly between evenly spaced points.
class Curve {
  public:
    template <class Fn>
    explicit Curve(Fn&& fn) {
        for (int k = 0; k <= kSteps; ++k) at_[k] = static_cast<float>(fn(static_cast<double>(k) / kSteps));
        at_[kSteps + 1] = at_[kSteps];
    }
    [[gnu::always_inline]] float operator()(float x) const {
        const float scaled = std::min(std::max(x, 0.0f), 1.0f) * kSteps;
        const int k = static_cast<int>(scaled);
        return at_[k] + (scaled - static_cast<float>(k)) * (at_[k + 1] - at_[k]);
    }

  private:
    static constexpr int kSteps = 1 << 13;
    std::array<float, kSteps + 2> at_;
};

struct Colour {
    float a, b, c;
};

inline Colour xyz_of(Colour light) {
    return {0.412453f * light.a + 0.357580f * light.b + 0.180423f * light.c,
            0.212671f * light.a + 0.715160f * light.b + 0.072169f * light.c,
            0.019334f * light.a + 0.119193f * light.b + 0.950227f * light.c};
}

inline double lab_curve(double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0; }

[[gnu::always_inline]] inline Colour lab_of(Colour light, const Curve& curve) {
    const Colour xyz = xyz_of(light);
    const float x = curve(xyz.a / kWhiteX), y = curve(xyz.b), z = curve(xyz.c / kWhiteZ);
    return {116.0f * y - 16.0f, 500.0f * (x - y), 200.0f * (y - z)};
}

inline Colour luv_of(Colour light, const Curve& curve) {
    const Colour xyz = xyz_of(light);
    const float whole = xyz.a + 15.0f * xyz.b + 3.0f * xyz.c, white = kWhiteX + 15.0f + 3.0f * kWhiteZ;
    const float L = 116.0f * curve(xyz.b) - 16.0f;
    if (whole <= 0) return {L, 0, 0};
    return {L, 13.0f * L * (4.0f * xyz.a / whole - 4.0f * kWhiteX / white),
            13.0f * L * (9.0f * xyz.b / whole - 9.0f / white)};
}

// Hue is an angle, and undefined for greys. Chroma at that angle and value are a point on a cone, where hue
// 359 is next to hue 1. Chroma and value go from 0 to 100.
inline Colour hsv_of(Colour rgb) {
    const float high = std::max({rgb.a, rgb.b, rgb.c}), low = std::min({rgb.a, rgb.b, rgb.c});
    const float chroma = high - low;
    float sixth = 0;
    if (chroma > 0)
        sixth = high == rgb.a   ? (rgb.b - rgb.c) / chroma
                : high == rgb.b ? 2.0f + (rgb.c - rgb.a) / chroma
                                : 4.0f + (rgb.a - rgb.b) / chroma;
    const float angle = sixth * 1.04719755f;
    return {100.0f * chroma * std::cos(angle), 100.0f * chroma * std::sin(angle), 100.0f * high};
}

// Reads a stored value as a number from 0 to 1, as linear light or unchanged. Bytes have a table.
template <class T>
class Reader {
  public:
    Reader(const Points& points, double white, bool light) : points_(points), white_(white), light_(light) {
        for (int v = 0; v < 256 && std::is_same_v<T, uint8_t>; ++v) table_[v] = convert(v / white);
    }
    [[gnu::always_inline]] float operator()(i64 i, int j) const {
        T raw;
        std::memcpy(&raw, points_.at(i, j), sizeof raw);
        if constexpr (std::is_same_v<T, uint8_t>) return table_[raw];
        return convert(static_cast<double>(raw) / white_);
    }

  private:
    float convert(double v) const { return static_cast<float>(light_ ? linear_light(v) : v); }
    const Points& points_;
    const double white_;
    const bool light_;
    std::array<float, 256> table_{};
};

// IN points (n, 3), whose full scale is `white`; OUT colours (n, 3).
inline void convert(const Points& points, Space space, double white, float* colours, int n_threads) {
    static const Curve curve([](double t) { return lab_curve(t); });
    const int team = team_size(points.n, 1 << 14, n_threads);
    auto each = [&](bool light, auto&& colour_of) {
        with_type(points.dtype, [&](auto zero) {
            const Reader<decltype(zero)> read(points, white, light);
            parallel(team, [&](int t) {
                each_of(part(points.n, t, team), [&](i64 i) {
                    const Colour colour = colour_of(Colour{read(i, 0), read(i, 1), read(i, 2)});
                    colours[3 * i] = colour.a;
                    colours[3 * i + 1] = colour.b;
                    colours[3 * i + 2] = colour.c;
                });
            });
        });
    };
    switch (space) {
        case Space::lab:
            return each(true, [](Colour light) { return lab_of(light, curve); });
        case Space::luv:
            return each(true, [](Colour light) { return luv_of(light, curve); });
        case Space::hsv:
            return each(false, [](Colour rgb) { return hsv_of(rgb); });
        default:
            return each(false, [](Colour rgb) { return Colour{rgb.a * 255, rgb.b * 255, rgb.c * 255}; });
    }
}

}  // namespace mspp
