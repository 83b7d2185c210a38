// Colour spaces: sRGB in, three floats a pixel out.
//
// Lab and Luv are CIE 1976 under D65, in their usual units (L from 0 to 100); HSV is given as a point on its
// cone, see below. Computed pixel by pixel, so the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/points.hpp"
#include "kernel/threads.hpp"

namespace mspp {

enum class Space { rgb, lab, luv, hsv };

inline constexpr float kWhiteX = 0.95047f, kWhiteZ = 1.08883f;  // D65, Y = 1

// The sRGB curve from [0, 1] to light.
inline double linear_light(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }

// A curve over [0, 1], read between evenly spaced points of it.
class Curve {
  public:
    template <class Fn>
    explicit Curve(Fn&& fn) {
        for (int k = 0; k <= kSteps; ++k) at_[k] = static_cast<float>(fn(static_cast<double>(k) / kSteps));
        at_[kSteps + 1] = at_[kSteps];
    }
    float operator()(float x) const {
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

inline Colour lab_of(Colour light, const Curve& curve) {
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

// Hue is an angle and means nothing where there is no colour: chroma at that angle, and value, are a point on
// a cone, on which hue 359 lies beside hue 1. All three are in units of 0 to 100.
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

// IN points (n, 3) of a type whose full scale is `white`; OUT colours (n, 3).
inline void convert(const Points& points, Space space, double white, float* colours, int n_threads) {
    static const Curve lab([](double t) { return lab_curve(t); });
    const int team = team_size(points.n, 1 << 14, n_threads);
    with_type(points.dtype, [&](auto zero) {
        using T = decltype(zero);
        const bool bytes = std::is_same_v<T, uint8_t>;
        std::array<float, 256> light_of_byte{}, value_of_byte{};
        for (int v = 0; v < 256 && bytes; ++v) {
            value_of_byte[v] = static_cast<float>(v / white);
            light_of_byte[v] = static_cast<float>(linear_light(v / white));
        }
        const bool wants_light = space == Space::lab || space == Space::luv;
        auto read = [&](i64 i, int j) {
            T raw;
            std::memcpy(&raw, points.at(i, j), sizeof raw);
            if constexpr (std::is_same_v<T, uint8_t>)
                return wants_light ? light_of_byte[raw] : value_of_byte[raw];
            const double v = static_cast<double>(raw) / white;
            if (!std::isfinite(v)) reject(i, j, v, white);
            return static_cast<float>(wants_light ? linear_light(v) : v);
        };
        parallel(team, [&](int t) {
            const Range range = part(points.n, t, team);
            for (i64 i = range.begin; i < range.end; ++i) {
                const Colour in{read(i, 0), read(i, 1), read(i, 2)};
                const Colour out = space == Space::lab   ? lab_of(in, lab)
                                   : space == Space::luv ? luv_of(in, lab)
                                   : space == Space::hsv ? hsv_of(in)
                                                         : Colour{in.a * 255, in.b * 255, in.c * 255};
                colours[3 * i] = out.a;
                colours[3 * i + 1] = out.b;
                colours[3 * i + 2] = out.c;
            }
        });
    });
}

}  // namespace mspp
