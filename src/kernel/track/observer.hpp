// The observer of the robust tracker: samples the window and its ring, and measures the contrast of the two.
#pragma once

#include "kernel/track/model.hpp"
#include "kernel/track/samples.hpp"
#include "kernel/track/settings.hpp"
#include "kernel/track/window.hpp"

namespace mspp {

class Observer {
  public:
    Observer(const ColourCells& cells, const TrackSettings& settings) : cells_(cells), settings_(settings) {}

    void read(const Frame& frame, const Window& window, const ColourModel& model) {
        const double margin = std::max(settings_.ring * window.mean_side(), 1.0);
        samples_.step =
            Samples::step_for((window.w + 2 * margin) * (window.h + 2 * margin), settings_.window_samples);
        const double step = static_cast<double>(samples_.step);
        const i64 nw = round_to_one(window.w / step), nh = round_to_one(window.h / step);
        const i64 m = round_to_one(margin / step);
        inner_ = {m, m, m + nw, m + nh};
        read_around(samples_, frame, window, nw + 2 * m, nh + 2 * m, cells_, model.none());
    }

    // Reads nx by ny samples around the window's centre.
    static void read_around(Samples& samples, const Frame& frame, const Window& window, i64 nx, i64 ny,
                            const ColourCells& cells, uint16_t none) {
        const double step = static_cast<double>(samples.step);
        samples.nx = nx, samples.ny = ny;
        samples.x0 = round_half_up(window.x - step * static_cast<double>(nx) / 2);
        samples.y0 = round_half_up(window.y - step * static_cast<double>(ny) / 2);
        samples.read(frame, cells, none);
    }

    // Counts the window's samples, those near its centre most and those outside its ellipse not at all.
    void count_object(ColourModel& model) const {
        model.clear_counts();
        const i64 nw = inner_.width(), nh = inner_.height();
        for (i64 j = 0; j < nh; ++j) {
            const uint16_t* ids = samples_.ids.data() + (j + inner_.top) * samples_.nx + inner_.left;
            for (i64 i = 0; i < nw; ++i) {
                const double near = nearness(i, j, nw, nh);
                if (near > 0) model.count(ids[i], 1 + static_cast<u32>(near * 255));
            }
        }
    }
    // Counts the pixels of a rectangle that are selected, one byte each. Each counts a little even outside
    // the ellipse, because a person may select something in the corners.
    void count_selected(const Frame& frame, const Rect& rect, const uint8_t* selected,
                        ColourModel& model) const {
        model.clear_counts();
        const i64 w = rect.width(), h = rect.height();
        for (i64 y = 0; y < h; ++y)
            for (i64 x = 0; x < w; ++x)
                if (selected[y * w + x])
                    model.count(cells_.of(frame, rect.top + y, rect.left + x),
                                1 + static_cast<u32>(std::max(nearness(x, y, w, h), 0.0) * 255));
    }
    void count_ring(ColourModel& model) const {
        model.clear_counts();
        for (i64 j = 0; j < samples_.ny; ++j)
            for (i64 i = 0; i < samples_.nx; ++i)
                if (j < inner_.top || j >= inner_.bottom || i < inner_.left || i >= inner_.right)
                    model.count(samples_.ids[j * samples_.nx + i], 1);
    }

    // Sets the contrast of window and ring, and the mean weight along each border, which is read as far
    // inside as outside.
    void measure(const ColourModel& model) {
        constexpr double kUnit = ColourModel::kUnit;
        table_.build(samples_, model.weights());
        const Rect& in = inner_;
        const Rect all{0, 0, samples_.nx, samples_.ny};
        const i64 inside = table_.sum(in), outside = table_.sum(all) - inside;
        contrast = (static_cast<double>(inside) / static_cast<double>(in.area()) -
                    static_cast<double>(outside) / static_cast<double>(all.area() - in.area())) /
                   kUnit;
        const i64 tx = std::clamp<i64>(round_half_up(0.1 * static_cast<double>(in.width())), 1, in.left);
        const i64 ty = std::clamp<i64>(round_half_up(0.1 * static_cast<double>(in.height())), 1, in.top);
        borders = {table_.mean({in.left - tx, in.top, in.left + tx, in.bottom}) / kUnit,
                   table_.mean({in.right - tx, in.top, in.right + tx, in.bottom}) / kUnit,
                   table_.mean({in.left, in.top - ty, in.right, in.top + ty}) / kUnit,
                   table_.mean({in.left, in.bottom - ty, in.right, in.bottom + ty}) / kUnit};
    }

    double contrast = 0;
    std::array<double, 4> borders{};  // left, right, top, bottom

  private:
    // 1 at the centre of a window, 0 on its ellipse, negative outside.
    static double nearness(i64 i, i64 j, i64 nw, i64 nh) {
        const double u = static_cast<double>(2 * i + 1 - nw) / static_cast<double>(nw);
        const double v = static_cast<double>(2 * j + 1 - nh) / static_cast<double>(nh);
        return 1 - u * u - v * v;
    }

    const ColourCells& cells_;
    const TrackSettings& settings_;
    Samples samples_;
    WeightTable table_;
    Rect inner_{};  // the window on the samples
};

}  // namespace mspp
