// The size of the object: a correlation filter over copies of the window at several scales.
#pragma once

#include <numbers>

#include "kernel/track/edges.hpp"
#include "kernel/track/settings.hpp"

namespace mspp {

class SizeFilter {
  public:
    explicit SizeFilter(const TrackSettings& settings) : settings_(settings) {
        for (i64 k = 0; k < kScales; ++k) {
            for (i64 f = 0; f < kFrequencies; ++f) {
                const double turn = -2 * std::numbers::pi * static_cast<double>(f * k) / kScales;
                cos_[f][k] = static_cast<float>(std::cos(turn)),
                sin_[f][k] = static_cast<float>(std::sin(turn));
            }
            fade_[k] = static_cast<float>(
                0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) / kScales));
            scales_[k] = std::pow(settings.scale_step, static_cast<double>(k - kScales / 2));
        }
        for (i64 f = 0; f < kFrequencies; ++f)
            for (i64 k = -(kScales / 2); k <= kScales / 2; ++k)
                peak_[f] +=
                    static_cast<float>(std::exp(-static_cast<double>(k * k) / 2)) * cos_[f][std::abs(k)];
    }

    void start(const Frame& frame, const Window& window) {
        learn(frame, window, 1);
        float sum = 0;
        for (float power : power_) sum += power;
        ridge_ = std::max(static_cast<float>(settings_.scale_ridge) * sum / kFrequencies, 1e-6f);
    }

    void learn(const Frame& frame, const Window& window, double rate) {
        read(frame, window);
        const float add = static_cast<float>(rate), keep = static_cast<float>(1 - rate);
        for (i64 f = 0; f < kFrequencies; ++f) {
            float power = 0;
            for (i64 d = f * kValues; d < (f + 1) * kValues; ++d) {
                const float re = re_[d], im = im_[d];
                filter_re_[d] = keep * filter_re_[d] + add * peak_[f] * re;
                filter_im_[d] = keep * filter_im_[d] + add * peak_[f] * im;
                power += re * re + im * im;
            }
            power_[f] = keep * power_[f] + add * power;
        }
    }

    // Returns the object's scale relative to the window's; 1 without a response.
    double find(const Frame& frame, const Window& window) {
        read(frame, window);
        std::array<double, kScales> response{};
        for (i64 f = 0; f < kFrequencies; ++f) {
            float re = 0, im = 0;
            for (i64 d = f * kValues; d < (f + 1) * kValues; ++d) {
                re += filter_re_[d] * re_[d] + filter_im_[d] * im_[d];
                im += filter_re_[d] * im_[d] - filter_im_[d] * re_[d];
            }
            const double scale = (f == 0 ? 1.0 : 2.0) / (kScales * static_cast<double>(power_[f] + ridge_));
            for (i64 k = 0; k < kScales; ++k) {
                const i64 away = k - kScales / 2;
                const float sine = away < 0 ? -sin_[f][-away] : sin_[f][away];
                response[k] += scale * (re * cos_[f][std::abs(away)] + im * sine);
            }
        }
        const i64 best = std::max_element(response.begin(), response.end()) - response.begin();
        if (!(response[best] > 0)) return 1;
        double at = static_cast<double>(best - kScales / 2);
        if (best > 0 && best < kScales - 1) {
            const double before = response[best - 1], after = response[best + 1];
            const double bend = before - 2 * response[best] + after;
            if (bend < 0) at += (before - after) / (2 * bend);
        }
        return std::pow(settings_.scale_step, at);
    }

  private:
    static constexpr i64 kScales = 17, kFrequencies = kScales / 2 + 1;
    static constexpr i64 kCells = 6;
    using Edges = EdgeCells<kCells, 4>;
    static constexpr i64 kValues = Edges::kSize * Edges::kDirections;

    // Sets the spectrum along the scales of each value of a cell. Scales at either side of the middle have
    // the same cosines and opposite sines.
    void read(const Frame& frame, const Window& window) {
        constexpr i64 middle = kScales / 2;
        for (i64 k = 0; k < kScales; ++k)
            edges_.read(frame, {window.x, window.w * scales_[k], frame.width, frame.column},
                        {window.y, window.h * scales_[k], frame.height, frame.row}, cells_[k]);
        const float* at_middle = values(middle);
        for (i64 f = 0; f < kFrequencies; ++f)
            for (i64 d = 0; d < kValues; ++d) re_[f * kValues + d] = at_middle[d], im_[f * kValues + d] = 0;
        for (i64 k = 1; k <= middle; ++k) {
            const float fade = fade_[middle + k];
            const float *larger = values(middle + k), *smaller = values(middle - k);
            std::array<float, kValues> even, odd;
            for (i64 d = 0; d < kValues; ++d) {
                even[d] = fade * (larger[d] + smaller[d]);
                odd[d] = fade * (larger[d] - smaller[d]);
            }
            for (i64 f = 0; f < kFrequencies; ++f) {
                const float c = cos_[f][k], s = sin_[f][k];
                for (i64 d = 0; d < kValues; ++d) {
                    re_[f * kValues + d] += c * even[d];
                    im_[f * kValues + d] += s * odd[d];
                }
            }
        }
    }

    const float* values(i64 scale) const { return cells_[scale][0].data(); }

    const TrackSettings& settings_;
    Edges edges_;
    std::array<std::array<float, kScales>, kFrequencies> cos_, sin_;  // by the distance from the middle
    std::array<typename Edges::Planes, kScales> cells_;
    std::array<float, kFrequencies> peak_{}, power_{};  // of each frequency
    std::array<float, kScales> fade_;
    std::array<double, kScales> scales_;
    std::array<float, kFrequencies * kValues> re_, im_, filter_re_{}, filter_im_{};
    float ridge_ = 0;
};

}  // namespace mspp
