// The robust tracker: colour cells weighted by object against surroundings.
//
// A model (model.hpp) holds the shares of colour cells in the object, in the ring around it, and in rivals,
// places nearby that look like it. They give each cell a weight from -1 to 1, and the window moves to the
// place where the weights inside are highest against those around and a correlation filter finds the object's
// shape (scanner.hpp, shape_filter.hpp). A second filter finds its size (size_filter.hpp).
#pragma once

#include <memory>

#include "kernel/track/scanner.hpp"
#include "kernel/track/size_filter.hpp"

namespace mspp {

class ColourTracker {
  public:
    ColourTracker(std::shared_ptr<const ColourCells> cells, bool scale, const TrackSettings& settings = {})
        : cells_(std::move(cells)),
          scale_(scale),
          settings_(settings),
          model_(cells_->size(), settings.share_floor),
          observer_(*cells_, settings_),
          scanner_(*cells_, settings_),
          shape_(settings_),
          size_(settings_) {}
    ColourTracker(const ColourTracker&) = delete;  // its parts refer to its settings

    // IN selected: one byte per pixel of the rectangle, row by row, not 0 for those of the object; or null:
    // all are.
    void init(const Frame& frame, const Rect& rect, const uint8_t* selected) {
        model_ = ColourModel(cells_->size(), settings_.share_floor);
        first_w_ = static_cast<double>(rect.width()), first_h_ = static_cast<double>(rect.height());
        window_ = {static_cast<double>(rect.left) + first_w_ / 2,
                   static_cast<double>(rect.top) + first_h_ / 2, first_w_, first_h_};
        scale_x_ = scale_y_ = 1;
        observer_.read(frame, window_, model_);
        if (selected)
            observer_.count_selected(frame, rect, selected, model_);
        else
            observer_.count_object(model_);
        model_.start_object();
        observer_.count_ring(model_);
        model_.learn_ring(1);
        model_.update_weights();
        observer_.measure(model_);
        first_contrast_ = std::max(observer_.contrast, 1e-3);
        first_borders_ = observer_.borders;
        shape_.start(frame, window_);
        if (scale_) size_.start(frame, window_);
        odds_ = -settings_.max_odds, ok_ = true, lost_for_ = 0, size_turn_ = false;
    }

    void update(const Frame& frame) {
        model_.update_weights();
        shape_.respond(frame, window_);
        scanner_.scan(frame, false, ok_ ? &shape_ : nullptr, model_, window_);
        scanner_.refine(frame, model_, window_);
        inspect(frame);
        double odds = settings_.odds_memory * odds_ + (1 - settings_.odds_memory) * odds_now();
        if (lost_for_ > settings_.patience && search_frame(frame)) odds = odds_now();
        odds_ = odds;
        ok_ = score() >= settings_.present_from;
        lost_for_ = ok_ ? 0 : lost_for_ + 1;
        if (ok_) learn(frame);
        if (contrast_ >= settings_.adjust_from) adjust_borders(frame);
    }

    bool ok() const { return ok_; }
    // The evidence of the last frame: likeness, contrast, and peak of the shape's response.
    std::array<double, 3> signals() const { return {likeness_, contrast_, shape_.peak}; }
    // The probability that the object is in the window.
    double score() const { return 1 / (1 + std::exp(odds_)); }
    Rect window(i64 height, i64 width) const { return window_.pixels(height, width); }

    // The colours of cells with a positive weight.
    std::vector<std::array<i64, 3>> cells() const {
        std::vector<std::array<i64, 3>> out;
        const size_t n = cells_->n_colours();
        for (size_t k = 0; k < n; ++k) {
            bool positive = false;
            for (size_t id = k; id < cells_->size(); id += n) positive |= model_.weights()[id] > 0;
            if (positive) out.push_back(cells_->colour(k));
        }
        return out;
    }
    // IN/OUT mask (height, width), zeros before: 1 at the pixels of the window with a positive weight.
    void mask(const Frame& frame, uint8_t* out) const {
        const Rect w = window(frame.height, frame.width);
        for (i64 y = w.top; y < w.bottom; ++y)
            for (i64 x = w.left; x < w.right; ++x)
                out[y * frame.width + x] = model_.weights()[cells_->of(frame, y, x)] > 0;
    }

  private:
    // Searches the whole frame; moves the window only on good evidence, and returns whether it did.
    bool search_frame(const Frame& frame) {
        const Window before = window_;
        const double evidence = (likeness_ + contrast_) / 2;
        scanner_.scan(frame, true, nullptr, model_, window_);
        scanner_.refine(frame, model_, window_);
        inspect(frame);
        const double found = (likeness_ + contrast_) / 2;
        if (found >= settings_.found_evidence && found >= evidence + settings_.evidence_margin) {
            shape_.respond(frame, window_);
            return true;
        }
        window_ = before;
        inspect(frame);
        return false;
    }

    // Sets the evidence that the object is in the window, both from 0 to 1: how much more its colours
    // resemble the object's than the surroundings do, and its contrast as a share of the first frame's.
    void inspect(const Frame& frame) {
        observer_.read(frame, window_, model_);
        observer_.measure(model_);
        observer_.count_object(model_);
        contrast_ = std::clamp(observer_.contrast / first_contrast_, 0.0, 1.0);
        likeness_ = model_.likeness();
    }
    // The log odds that the object is lost, from this frame alone.
    double odds_now() const {
        const double odds = settings_.odds + settings_.odds_of_likeness * likeness_ +
                            settings_.odds_of_contrast * contrast_ + settings_.odds_of_peak * shape_.peak;
        return std::clamp(odds, -settings_.max_odds, settings_.max_odds);
    }

    // The surroundings are learned in every frame with the object, its colours only if their contrast is
    // high. The counts are those of inspect. Shape and size are learned from frames that show the object by
    // themselves, in turns, to save time.
    void learn(const Frame& frame) {
        if (contrast_ >= settings_.learn_from)
            model_.learn_object(settings_.object_rate, settings_.distinct_rate);
        observer_.count_ring(model_);
        model_.learn_ring(settings_.ring_rate);
        if (odds_now() >= 0) return;
        size_turn_ = !size_turn_;
        if (!size_turn_)
            shape_.learn(frame, window_, settings_.shape_rate);
        else if (scale_)
            adjust_size(frame);
    }

    void adjust_size(const Frame& frame) {
        const double by = size_.find(frame, window_);
        window_.w = resize(scale_x_, by, first_w_), window_.h = resize(scale_y_, by, first_h_);
        size_.learn(frame, window_, settings_.scale_rate);
    }
    // Changes the scale of a side that was `first`, and returns the side.
    double resize(double& scale, double by, double first) const {
        scale = std::clamp(scale * by, settings_.min_scale, settings_.max_scale);
        return std::max(snap(first * scale), 1.0);
    }

    // A border with more of the object on it than in the first frame moves out, one with less moves in.
    void adjust_borders(const Frame& frame) {
        std::array<double, 4> e;
        for (int k = 0; k < 4; ++k) e[k] = observer_.borders[k] - first_borders_[k];
        if (scale_) {
            const double x = (e[0] + e[1]) / 2, y = (e[2] + e[3]) / 2, both = (x + y) / 2;
            window_.w = grow(scale_x_, both + settings_.aspect * (x - both), first_w_);
            window_.h = grow(scale_y_, both + settings_.aspect * (y - both), first_h_);
        }
        window_.move(frame.height, frame.width, settings_.border_pull * (e[1] - e[0]) * window_.w,
                     settings_.border_pull * (e[3] - e[2]) * window_.h);
    }
    // Changes the scale of a side and draws it back to 1, so that errors do not accumulate.
    double grow(double& scale, double by, double first) const {
        scale *=
            std::exp(std::clamp(settings_.growth_rate * by, -settings_.max_growth, settings_.max_growth));
        scale = std::pow(scale, settings_.restoring_power);
        return resize(scale, 1, first);
    }

    std::shared_ptr<const ColourCells> cells_;
    const bool scale_;
    const TrackSettings settings_;
    ColourModel model_;
    Observer observer_;
    Scanner scanner_;
    ShapeFilter shape_;
    SizeFilter size_;

    Window window_{};
    double first_w_ = 1, first_h_ = 1, scale_x_ = 1, scale_y_ = 1;
    double first_contrast_ = 1;
    std::array<double, 4> first_borders_{};
    double likeness_ = 0, contrast_ = 0, odds_ = 0;
    int lost_for_ = 0;  // frames
    bool ok_ = false, size_turn_ = false;
};

}  // namespace mspp
