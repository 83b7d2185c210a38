// The scanner of the robust tracker: moves the window to the place where the weights inside are highest
// against those around.
#pragma once

#include "kernel/track/observer.hpp"
#include "kernel/track/shape_filter.hpp"

namespace mspp {

class Scanner {
  public:
    Scanner(const ColourCells& cells, const TrackSettings& settings) : cells_(cells), settings_(settings) {}

    // Moves the window to the place with the best colours around the last one, or in the whole frame. With
    // the shape of an object that is present, its response counts too, and the model learns the other places
    // whose colours are nearly as good.
    void scan(const Frame& frame, bool whole_frame, ShapeFilter* shape, ColourModel& model, Window& window) {
        const Lattice lattice = read(frame, whole_frame, model, window);
        rate(lattice, whole_frame ? 0 : settings_.distance_cost, window);
        const i64 best = shape ? best_with(*shape, lattice) : highest(scores_);
        if (shape) find_rivals(best, lattice, model);
        window.x += static_cast<double>((best % lattice.across - lattice.left) * samples_.step);
        window.y += static_cast<double>((best / lattice.across - lattice.up) * samples_.step);
    }

    // A part of a step of mean shift on the positive weights inside the ellipse of the window.
    void refine(const Frame& frame, const ColourModel& model, Window& window) {
        Samples& s = samples_;
        s.step = Samples::step_for(window.w * window.h, settings_.window_samples / 4);
        const double step = static_cast<double>(s.step);
        Observer::read_around(s, frame, window, round_to_one(window.w / step), round_to_one(window.h / step),
                              cells_, model.none());
        const std::vector<i32>& weights = model.weights();
        i64 total = 0, sx = 0, sy = 0;
        for (i64 j = 0; j < s.ny; ++j)
            for (i64 i = 0; i < s.nx; ++i) {
                const i64 u = 2 * i + 1 - s.nx, v = 2 * j + 1 - s.ny;
                if (u * u * s.ny * s.ny + v * v * s.nx * s.nx > s.nx * s.nx * s.ny * s.ny) continue;
                const i64 w = std::max(weights[s.ids[j * s.nx + i]], 0);
                total += w, sx += w * u, sy += w * v;
            }
        if (total == 0) return;
        window.move(frame.height, frame.width,
                    static_cast<double>(sx) / static_cast<double>(total) * step / 2 * settings_.refine,
                    static_cast<double>(sy) / static_cast<double>(total) * step / 2 * settings_.refine);
    }

  private:
    static constexpr float kExcluded = -1e9f;  // the score of a place near a better one

    // The window and the places it is tried at, in steps of the samples.
    struct Lattice {
        i64 nw, nh, margin;  // sides of the window and width of its ring
        i64 left, up;        // places before the last one
        i64 across, along;   // places
    };

    Lattice read(const Frame& frame, bool whole_frame, const ColourModel& model, const Window& window) {
        const double side = window.mean_side(), margin = settings_.ring * side;
        const double radius = settings_.radius * side;
        const double width = static_cast<double>(frame.width), height = static_cast<double>(frame.height);
        const double span_x = whole_frame ? width : window.w + 2 * radius;
        const double span_y = whole_frame ? height : window.h + 2 * radius;
        Samples& s = samples_;
        s.step = Samples::step_for((span_x + 2 * margin) * (span_y + 2 * margin),
                                   whole_frame ? settings_.frame_samples : settings_.scan_samples);
        const double step = static_cast<double>(s.step);
        const i64 nw = round_to_one(window.w / step), nh = round_to_one(window.h / step);
        const i64 m = round_to_one(margin / step), most_steps = round_to_one(radius / step);
        // Steps to one side; the centre stays in the frame.
        auto steps = [&](double room) {
            const i64 most = std::max<i64>(0, static_cast<i64>(room / step));
            return whole_frame ? most : std::min(most, most_steps);
        };
        const i64 left = steps(window.x), right = steps(width - window.x);
        const i64 up = steps(window.y), down = steps(height - window.y);
        const i64 across = left + right + 1, along = up + down + 1;
        s.nx = nw + 2 * m + across - 1, s.ny = nh + 2 * m + along - 1;
        s.x0 = round_half_up(window.x - step * static_cast<double>(nw) / 2) - (left + m) * s.step;
        s.y0 = round_half_up(window.y - step * static_cast<double>(nh) / 2) - (up + m) * s.step;
        s.read(frame, cells_, model.none());
        table_.build(s, model.weights());
        return {nw, nh, m, left, up, across, along};
    }

    // Sets the score of each place: its contrast, less the cost of its distance.
    void rate(const Lattice& lattice, double distance_cost, const Window& window) {
        const i64 nw = lattice.nw, nh = lattice.nh, m = lattice.margin;
        const double step = static_cast<double>(samples_.step), side = window.mean_side();
        const double inside = static_cast<double>(nw * nh);
        const double around = static_cast<double>((nw + 2 * m) * (nh + 2 * m)) - inside;
        const double cost = distance_cost * step * step / (side * side);
        scores_.resize(static_cast<size_t>(lattice.across * lattice.along));
        for (i64 j = 0; j < lattice.along; ++j)
            for (i64 i = 0; i < lattice.across; ++i) {
                const i64 in = table_.sum({i + m, j + m, i + m + nw, j + m + nh});
                const i64 all = table_.sum({i, j, i + 2 * m + nw, j + 2 * m + nh});
                const double contrast =
                    static_cast<double>(in) / inside - static_cast<double>(all - in) / around;
                const i64 dx = i - lattice.left, dy = j - lattice.up;
                scores_[j * lattice.across + i] = static_cast<float>(
                    contrast / ColourModel::kUnit - cost * static_cast<double>(dx * dx + dy * dy));
            }
    }

    static i64 highest(const std::vector<float>& values) {
        return std::max_element(values.begin(), values.end()) - values.begin();
    }
    // The place with the highest sum of score and response.
    i64 best_with(ShapeFilter& shape, const Lattice& lattice) {
        const double step = static_cast<double>(samples_.step);
        shape.read_responses(-step * static_cast<double>(lattice.left),
                             -step * static_cast<double>(lattice.up), step, lattice.across, lattice.along,
                             sums_);
        const float weight = static_cast<float>(settings_.shape_weight);
        for (size_t k = 0; k < scores_.size(); ++k) sums_[k] = scores_[k] + weight * sums_[k];
        return highest(sums_);
    }

    // Learns the colours of other peaks that are nearly as good and some distance away.
    void find_rivals(i64 best, const Lattice& lattice, ColourModel& model) {
        if (!(scores_[best] > 0)) return;
        const i64 across = lattice.across, along = lattice.along, m = lattice.margin;
        const float limit = static_cast<float>(settings_.rival_score) * scores_[best];
        const i64 apart_x = static_cast<i64>(settings_.rival_distance * static_cast<double>(lattice.nw));
        const i64 apart_y = static_cast<i64>(settings_.rival_distance * static_cast<double>(lattice.nh));
        i64 peak = best;
        model.clear_counts();
        for (int k = 0; k < static_cast<int>(settings_.max_rivals); ++k) {
            const i64 px = peak % across, py = peak / across;
            for (i64 j = std::max<i64>(0, py - apart_y); j <= std::min(along - 1, py + apart_y); ++j)
                for (i64 i = std::max<i64>(0, px - apart_x); i <= std::min(across - 1, px + apart_x); ++i)
                    scores_[j * across + i] = kExcluded;
            peak = highest(scores_);
            if (scores_[peak] < limit) break;
            for (i64 j = peak / across + m; j < peak / across + m + lattice.nh; ++j)
                for (i64 i = peak % across + m; i < peak % across + m + lattice.nw; ++i)
                    model.count(samples_.ids[j * samples_.nx + i], 1);
        }
        model.learn_rival(settings_.rival_rate);
    }

    const ColourCells& cells_;
    const TrackSettings& settings_;
    Samples samples_;
    WeightTable table_;
    std::vector<float> scores_, sums_;
};

}  // namespace mspp
