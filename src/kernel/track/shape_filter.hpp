// The shape of the object: a correlation filter on the edges and colours of a square patch around the window.
//
// The filter is the one whose response to the patch is a peak at the window's centre. It is learned and
// applied as a spectrum. Pairs of channels are the real and imaginary parts of one.
#pragma once

#include <vector>

#include "kernel/track/edges.hpp"
#include "kernel/track/fourier.hpp"
#include "kernel/track/settings.hpp"

namespace mspp {

class ShapeFilter {
  public:
    explicit ShapeFilter(const TrackSettings& settings) : settings_(settings) {
        for (i64 k = 0; k < kMapSide; ++k)
            fade_[k] = static_cast<float>(
                0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) / kMapSide));
    }

    void start(const Frame& frame, const Window& window) {
        const double width = settings_.peak_width * kMapSide / settings_.patch;  // in cells
        for (i64 y = 0; y < kMapSide; ++y)
            for (i64 x = 0; x < kMapSide; ++x) {
                const double dx = static_cast<double>(std::min(x, kMapSide - x));
                const double dy = static_cast<double>(std::min(y, kMapSide - y));
                peak_.re[y * kMapSide + x] =
                    static_cast<float>(std::exp(-(dx * dx + dy * dy) / (2 * width * width)));
            }
        peak_.im.fill(0);
        fourier_.forward(peak_);
        learn(frame, window, 1);
        first_ = filter_, first_power_ = power_;
        double sum = 0;
        for (float power : power_) sum += power;
        ridge_ = std::max(static_cast<float>(settings_.shape_ridge * sum / kMapSize), 1e-6f);
    }

    void learn(const Frame& frame, const Window& window, double rate) {
        read(frame, window);
        const float add = static_cast<float>(rate), keep = static_cast<float>(1 - rate);
        for (float& power : power_) power *= keep;
        for (i64 c = 0; c < kChannels; ++c) {
            const ComplexMap& map = maps_[c];
            ComplexMap& filter = filter_[c];
            for (i64 k = 0; k < kMapSize; ++k) {
                const float re = map.re[k], im = map.im[k];
                filter.re[k] = keep * filter.re[k] + add * (peak_.re[k] * re + peak_.im[k] * im);
                filter.im[k] = keep * filter.im[k] + add * (peak_.re[k] * im - peak_.im[k] * re);
                power_[k] += add * (re * re + im * im);
            }
        }
    }

    // Sets the response to the patch around a window. The filter of the first frame has a share in it,
    // against drift.
    void respond(const Frame& frame, const Window& window) {
        read(frame, window);
        const float share = static_cast<float>(settings_.first_share);
        std::array<float, kMapSize> now, first;
        for (i64 k = 0; k < kMapSize; ++k) {
            now[k] = (1 - share) / ((power_[k] + ridge_) * kMapSize);
            first[k] = share / ((first_power_[k] + ridge_) * kMapSize);
        }
        response_ = {};
        for (i64 c = 0; c < kChannels; ++c) {
            const ComplexMap &map = maps_[c], &filter = filter_[c], &old = first_[c];
            for (i64 k = 0; k < kMapSize; ++k) {
                const float fr = now[k] * filter.re[k] + first[k] * old.re[k];
                const float fi = now[k] * filter.im[k] + first[k] * old.im[k];
                response_.re[k] += fr * map.re[k] + fi * map.im[k];
                response_.im[k] += fr * map.im[k] - fi * map.re[k];
            }
        }
        fourier_.inverse(response_);
        cell_ = settings_.patch * window.mean_side() / kMapSide;
        peak = *std::max_element(response_.re.begin(), response_.re.end());
    }

    // The response to shifts of the window on a lattice; shifts beyond the patch have none.
    // OUT responses (along, across).
    void read_responses(double first_x, double first_y, double step, i64 across, i64 along,
                        std::vector<float>& responses) {
        rows_.resize(static_cast<size_t>(kMapSide * across));
        for (i64 i = 0; i < across; ++i) {
            const Taps taps((first_x + step * static_cast<double>(i)) / cell_);
            for (i64 y = 0; y < kMapSide; ++y)
                rows_[y * across + i] = taps.mix(&response_.re[y * kMapSide], 1);
        }
        responses.resize(static_cast<size_t>(across * along));
        for (i64 j = 0; j < along; ++j) {
            const Taps taps((first_y + step * static_cast<double>(j)) / cell_);
            for (i64 i = 0; i < across; ++i) responses[j * across + i] = taps.mix(&rows_[i], across);
        }
    }

    double peak = 0;  // the highest response, about 1 if nothing has changed

  private:
    static constexpr i64 kPer = 2;       // samples of a cell along each axis
    static constexpr i64 kChannels = 6;  // pairs: 8 directions of edges, 3 colours, 0
    using Edges = EdgeCells<kMapSide, kPer>;
    using Plane = std::array<float, kMapSize>;

    // Interpolates between four neighbours, with a smooth slope.
    struct Taps {
        std::array<i64, 4> at;
        std::array<float, 4> weight;
        explicit Taps(double place) {
            const double before = std::floor(place);
            const i64 k = static_cast<i64>(before);
            const float t = static_cast<float>(place - before);
            for (int i = 0; i < 4; ++i) at[i] = (k - 1 + i) & (kMapSide - 1);
            if (k < -kMapSide / 2 || k >= kMapSide / 2)
                weight.fill(0);
            else
                weight = {0.5f * t * (-1 + t * (2 - t)), 0.5f * (2 + t * t * (3 * t - 5)),
                          0.5f * t * (1 + t * (4 - 3 * t)), 0.5f * t * t * (t - 1)};
        }
        float mix(const float* values, i64 stride) const {
            float sum = 0;
            for (int i = 0; i < 4; ++i) sum += weight[i] * values[at[i] * stride];
            return sum;
        }
    };

    // Sets the map of the patch around a window.
    void read(const Frame& frame, const Window& window) {
        const double side = settings_.patch * window.mean_side();
        const typename Edges::Axis xs(window.x, side, frame.width, frame.column);
        const typename Edges::Axis ys(window.y, side, frame.height, frame.row);
        edges_.read(frame, xs, ys, cells_);
        read_colours(frame, xs, ys);
        for (i64 c = 0; c < 4; ++c) fade(cells_[2 * c], maps_[c].re), fade(cells_[2 * c + 1], maps_[c].im);
        fade(colours_[0], maps_[4].re), fade(colours_[1], maps_[4].im);
        fade(colours_[2], maps_[5].re), maps_[5].im.fill(0);
        for (ComplexMap& map : maps_) fourier_.forward(map);
    }
    // OUT to: the values, fading to 0 at the borders of the patch.
    void fade(const Plane& values, Plane& to) const {
        for (i64 y = 0; y < kMapSide; ++y)
            for (i64 x = 0; x < kMapSide; ++x)
                to[y * kMapSide + x] = fade_[y] * fade_[x] * values[y * kMapSide + x];
    }
    // The mean colour of each cell, less that of the patch: green, red less green, blue less green.
    void read_colours(const Frame& frame, const typename Edges::Axis& xs, const typename Edges::Axis& ys) {
        std::array<std::array<int, kMapSize>, 3> sums{};
        for (i64 j = 0; j < kMapSide * kPer; ++j) {
            const uint8_t* row = frame.data + ys.offset[j + 1];
            const i64 first = j / kPer * kMapSide;
            for (i64 i = 0; i < kMapSide * kPer; ++i) {
                const uint8_t* p = row + xs.offset[i + 1];
                const i64 cell = first + i / kPer;
                const int green = p[frame.channel];
                sums[0][cell] += green, sums[1][cell] += p[0] - green;
                sums[2][cell] += p[2 * frame.channel] - green;
            }
        }
        constexpr float unit = 1.0f / (255 * kPer * kPer);
        for (int c = 0; c < 3; ++c) {
            int total = 0;
            for (int sum : sums[c]) total += sum;
            const float mean = static_cast<float>(total) / kMapSize;
            for (i64 k = 0; k < kMapSize; ++k)
                colours_[c][k] = (static_cast<float>(sums[c][k]) - mean) * unit;
        }
    }

    const TrackSettings& settings_;
    Fourier fourier_;
    Edges edges_;
    std::array<float, kMapSide> fade_;
    typename Edges::Planes cells_;
    std::array<Plane, 3> colours_;
    std::array<ComplexMap, kChannels> maps_, filter_, first_;
    ComplexMap peak_, response_;
    std::array<float, kMapSize> power_{}, first_power_{};
    std::vector<float> rows_;
    float ridge_ = 0;
    double cell_ = 1;  // in pixels
};

}  // namespace mspp
