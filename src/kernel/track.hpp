// The robust tracker: colour cells weighted by object against background.
#pragma once

#include <memory>

#include "kernel/frame.hpp"

namespace mspp {

// One setting for all videos; lengths in units of g, the geometric mean of the window's sides.
struct TrackSettings {
    double ring = 0.5, radius = 1.0;
    double coarse = 12000, fine = 4000;  // samples
    double floor = 6e-4;                 // of a share, in the weight of a cell
    double pull = 0.2;                   // cost of distance
    double object_rate = 0.02, ring_rate = 0.1, rival_rate = 0.1;
    double learn = 0.5;  // confidence from which models are updated
    double rival_score = 0.7, rival_apart = 0.75;
    double rivals = 3;
    double grow = 0.04, grow_most = 0.03, grow_from = 0.6, grow_home = 0.99, least = 0.4, most = 2.5;
    double similar = 0.64, memory = 0.8;
};

// Where the object is; all multiples of 1/64 pixel, so that moving the scene by whole pixels moves it
// exactly.
struct Window {
    double x, y, w, h;  // centre and sides
    double left() const { return x - w / 2; }
    double top() const { return y - h / 2; }
    double g() const { return std::sqrt(w * h); }
};

class ColourTracker {
  public:
    using Model = std::vector<float>;
    static constexpr double kUnit = 4096;

    ColourTracker(std::shared_ptr<const ColourCells> cells, bool scale, const TrackSettings& set = {})
        : cells_(std::move(cells)), scale_(scale), set_(set), none_(static_cast<uint16_t>(cells_->size())) {}

    // `chosen`: one byte a pixel of the window, row by row; those not 0 are the object's. Null: all are.
    void init(const Frame& frame, const Rect& window, const uint8_t* chosen) {
        const size_t n = cells_->size();
        object_.assign(n, 0), ring_.assign(n, 0), rival_.assign(n, 0);
        weights_.assign(n + 1, 0);
        counts_.assign(n + 1, 0);
        has_rival_ = false;
        w0_ = static_cast<double>(window.width()), h0_ = static_cast<double>(window.height());
        size_ = 1;
        at_ = {static_cast<double>(window.left) + w0_ / 2, static_cast<double>(window.top) + h0_ / 2, w0_,
               h0_};
        look(frame);
        count_object(chosen);
        learn(object_, 1);
        count_ring();
        learn(ring_, 1);
        weigh();
        measure();
        first_contrast_ = std::max(contrast_, 1e-3);
        first_border_ = border_;
        confidence_ = 1, similarity_ = 1, score_ = 1, ok_ = true;
    }

    void update(const Frame& frame) {
        weigh();
        scan(frame);
        refine(frame);
        look(frame);
        measure();
        count_object(nullptr);
        confidence_ = std::clamp(contrast_ / first_contrast_, 0.0, 1.0);
        similarity_ = alike(object_);
        score_ = set_.memory * score_ + (1 - set_.memory) * similarity_;
        ok_ = score_ >= set_.similar;
        if (confidence_ >= set_.learn) {
            learn(object_, set_.object_rate);
            count_ring();
            learn(ring_, set_.ring_rate);
        }
        if (scale_ && confidence_ >= set_.grow_from) resize();
    }

    bool ok() const { return ok_; }
    double score() const { return score_; }
    double confidence() const { return confidence_; }
    double similarity() const { return similarity_; }
    const Window& place() const { return at_; }
    // The pixels of the window that are in the frame.
    Rect window(i64 height, i64 width) const {
        const i64 left = whole(at_.left()), top = whole(at_.top());
        const i64 right = left + std::max<i64>(1, whole(at_.w)),
                  bottom = top + std::max<i64>(1, whole(at_.h));
        return {std::clamp<i64>(left, 0, width - 1), std::clamp<i64>(top, 0, height - 1),
                std::clamp<i64>(right, 1, width), std::clamp<i64>(bottom, 1, height)};
    }
    // The cells that speak for the object.
    std::vector<std::array<i64, 3>> cells() const {
        std::vector<std::array<i64, 3>> out;
        for (size_t k = 0; k < cells_->size(); ++k)
            if (weights_[k] > 0) out.push_back((*cells_)[k]);
        return out;
    }
    // OUT mask (height, width), zeros before: 1 at the pixels of the window that speak for the object.
    void mask(const Frame& frame, uint8_t* out) const {
        const Rect w = window(frame.height, frame.width);
        for (i64 y = w.top; y < w.bottom; ++y)
            for (i64 x = w.left; x < w.right; ++x)
                out[y * frame.width + x] = weights_[cells_->of(frame.at(y, x), frame.channel)] > 0;
    }

  private:
    static double snap(double x) { return std::floor(x * 64 + 0.5) / 64; }
    static i64 whole(double x) { return static_cast<i64>(std::floor(x + 0.5)); }
    static i64 step_for(double area, double samples) {
        return std::max<i64>(1, static_cast<i64>(std::ceil(std::sqrt(area / samples))));
    }

    // W of every cell: from 1, only the object's, to -1, only the background's.
    void weigh() {
        const float floor = static_cast<float>(set_.floor), unit = static_cast<float>(kUnit);
        for (size_t k = 0; k < object_.size(); ++k) {
            const float o = object_[k], b = ring_[k], d = rival_[k];
            float r = (o - b) / (o + b + floor);
            if (has_rival_) r = 0.5f * r + 0.5f * (o - d) / (o + d + floor);
            weights_[k] = static_cast<i32>(std::floor(r * unit + 0.5f));
        }
    }

    // The best place for the window around the last one, and its rivals.
    void scan(const Frame& frame) {
        const double g = at_.g(), reach = set_.radius * g, margin = set_.ring * g;
        Samples& s = samples_;
        s.step = step_for((at_.w + 2 * (reach + margin)) * (at_.h + 2 * (reach + margin)), set_.coarse);
        const double step = static_cast<double>(s.step);
        const i64 nw = std::max<i64>(1, whole(at_.w / step)), nh = std::max<i64>(1, whole(at_.h / step));
        const i64 r = std::max<i64>(1, whole(reach / step)), m = std::max<i64>(1, whole(margin / step));
        s.nx = nw + 2 * (r + m), s.ny = nh + 2 * (r + m);
        s.x0 = whole(at_.x - step * static_cast<double>(nw) / 2) - (r + m) * s.step;
        s.y0 = whole(at_.y - step * static_cast<double>(nh) / 2) - (r + m) * s.step;
        s.take(frame, *cells_, none_);
        integral_.build(s, weights_);
        const i64 side = 2 * r + 1;
        scores_.assign(static_cast<size_t>(side * side), -1e9f);
        const double inside = static_cast<double>(nw * nh),
                     all = static_cast<double>((nw + 2 * m) * (nh + 2 * m));
        const double far = set_.pull * step * step / (g * g);
        i64 best = r * side + r;
        for (i64 j = 0; j < side; ++j) {
            const double cy = at_.y + static_cast<double>(j - r) * step;
            if (cy < 0 || cy >= static_cast<double>(frame.height)) continue;
            for (i64 i = 0; i < side; ++i) {
                const double cx = at_.x + static_cast<double>(i - r) * step;
                if (cx < 0 || cx >= static_cast<double>(frame.width)) continue;
                const double in = static_cast<double>(integral_.sum({i + m, j + m, i + m + nw, j + m + nh}));
                const double whole_sum =
                    static_cast<double>(integral_.sum({i, j, i + 2 * m + nw, j + 2 * m + nh}));
                const double value = (in / inside - (whole_sum - in) / (all - inside)) / kUnit -
                                     far * static_cast<double>((i - r) * (i - r) + (j - r) * (j - r));
                const i64 k = j * side + i;
                scores_[k] = static_cast<float>(value);
                if (scores_[k] > scores_[best]) best = k;
            }
        }
        find_rivals(best, side, nw, nh, m);
        at_.x += static_cast<double>((best % side - r) * s.step);
        at_.y += static_cast<double>((best / side - r) * s.step);
    }

    // Other peaks nearly as good, and not the same place, are look-alikes: what is theirs counts against.
    void find_rivals(i64 best, i64 side, i64 nw, i64 nh, i64 m) {
        const float limit = static_cast<float>(set_.rival_score) * scores_[best];
        const double apart_x = set_.rival_apart * static_cast<double>(nw),
                     apart_y = set_.rival_apart * static_cast<double>(nh);
        if (!(scores_[best] > 0)) return;
        auto hide = [&](i64 at) {
            for (i64 j = 0; j < side; ++j)
                for (i64 i = 0; i < side; ++i)
                    if (std::abs(static_cast<double>(i - at % side)) <= apart_x &&
                        std::abs(static_cast<double>(j - at / side)) <= apart_y)
                        scores_[j * side + i] = -1e9f;
        };
        i64 found = 0;
        const float best_score = scores_[best];
        (void)best_score;
        std::vector<i64> peaks;
        hide(best);
        while (found < static_cast<i64>(set_.rivals)) {
            const i64 next = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
            if (scores_[next] < limit) break;
            ++found;
            peaks.push_back(next);
            hide(next);
        }
        if (peaks.empty()) return;
        clear();
        for (i64 p : peaks) {
            const i64 i0 = p % side + m, j0 = p / side + m;
            for (i64 j = j0; j < j0 + nh; ++j)
                for (i64 i = i0; i < i0 + nw; ++i) add(samples_.ids[j * samples_.nx + i], 1);
        }
        learn(rival_, has_rival_ ? set_.rival_rate : 1);
        has_rival_ = true;
    }

    // One step of mean shift on what speaks for the object, inside the ellipse of the window.
    void refine(const Frame& frame) {
        Samples& s = samples_;
        s.step = step_for(at_.w * at_.h, set_.fine / 4);
        const double step = static_cast<double>(s.step);
        s.nx = std::max<i64>(1, whole(at_.w / step)), s.ny = std::max<i64>(1, whole(at_.h / step));
        s.x0 = whole(at_.x - step * static_cast<double>(s.nx) / 2);
        s.y0 = whole(at_.y - step * static_cast<double>(s.ny) / 2);
        s.take(frame, *cells_, none_);
        i64 total = 0, sx = 0, sy = 0;
        for (i64 j = 0; j < s.ny; ++j)
            for (i64 i = 0; i < s.nx; ++i) {
                const i64 u = 2 * i + 1 - s.nx, v = 2 * j + 1 - s.ny;
                if (u * u * s.ny * s.ny + v * v * s.nx * s.nx > s.nx * s.nx * s.ny * s.ny) continue;
                const i64 w = std::max(weights_[s.ids[j * s.nx + i]], 0);
                total += w, sx += w * u, sy += w * v;
            }
        if (total > 0) {
            at_.x += snap(static_cast<double>(sx) / static_cast<double>(total) * step / 2);
            at_.y += snap(static_cast<double>(sy) / static_cast<double>(total) * step / 2);
        }
        at_.x = std::clamp(at_.x, 0.5, static_cast<double>(frame.width) - 0.5);
        at_.y = std::clamp(at_.y, 0.5, static_cast<double>(frame.height) - 0.5);
    }

    // Samples of the window and its ring.
    void look(const Frame& frame) {
        Samples& s = samples_;
        const double margin = std::max(set_.ring * at_.g(), 1.0);
        s.step = step_for((at_.w + 2 * margin) * (at_.h + 2 * margin), set_.fine);
        const double step = static_cast<double>(s.step);
        const i64 nw = std::max<i64>(1, whole(at_.w / step)), nh = std::max<i64>(1, whole(at_.h / step));
        const i64 m = std::max<i64>(1, whole(margin / step));
        s.nx = nw + 2 * m, s.ny = nh + 2 * m;
        s.x0 = whole(at_.x - step * static_cast<double>(s.nx) / 2);
        s.y0 = whole(at_.y - step * static_cast<double>(s.ny) / 2);
        inner_ = {m, m, m + nw, m + nh};
        s.take(frame, *cells_, none_);
    }

    // Contrast of window and ring, and the weights just inside and outside each border.
    void measure() {
        integral_.build(samples_, weights_);
        const Rect& in = inner_;
        const Rect all{0, 0, samples_.nx, samples_.ny};
        const double inside = static_cast<double>(integral_.sum(in));
        const double outside = static_cast<double>(integral_.sum(all)) - inside;
        contrast_ = (inside / static_cast<double>(in.area()) -
                     outside / static_cast<double>(all.area() - in.area())) /
                    kUnit;
        const i64 tx = std::clamp<i64>(whole(0.1 * static_cast<double>(in.width())), 1, in.left);
        const i64 ty = std::clamp<i64>(whole(0.1 * static_cast<double>(in.height())), 1, in.top);
        border_ = (integral_.mean({in.left, in.top, in.left + tx, in.bottom}) +
                   integral_.mean({in.left - tx, in.top, in.left, in.bottom}) +
                   integral_.mean({in.right - tx, in.top, in.right, in.bottom}) +
                   integral_.mean({in.right, in.top, in.right + tx, in.bottom}) +
                   integral_.mean({in.left, in.top, in.right, in.top + ty}) +
                   integral_.mean({in.left, in.top - ty, in.right, in.top}) +
                   integral_.mean({in.left, in.bottom - ty, in.right, in.bottom}) +
                   integral_.mean({in.left, in.bottom, in.right, in.bottom + ty})) /
                  (8 * kUnit);
    }

    void resize() {
        const double e = border_ - first_border_;
        size_ *= std::exp(std::clamp(set_.grow * e, -set_.grow_most, set_.grow_most));
        size_ = std::clamp(std::pow(size_, set_.grow_home), set_.least, set_.most);
        at_.w = std::max(snap(w0_ * size_), 1.0);
        at_.h = std::max(snap(h0_ * size_), 1.0);
    }

    void clear() {
        std::fill(counts_.begin(), counts_.end(), 0);
        total_ = 0;
    }
    void add(uint16_t id, u32 weight) {
        if (id == none_) return;
        counts_[id] += weight;
        total_ += weight;
    }
    void count_object(const uint8_t* chosen) {
        clear();
        const i64 nw = inner_.width(), nh = inner_.height();
        const double step = static_cast<double>(samples_.step);
        for (i64 j = 0; j < nh; ++j)
            for (i64 i = 0; i < nw; ++i) {
                const double u = static_cast<double>(2 * i + 1 - nw) / static_cast<double>(nw);
                const double v = static_cast<double>(2 * j + 1 - nh) / static_cast<double>(nh);
                const double near = 1 - u * u - v * v;
                if (near <= 0) continue;
                if (chosen) {
                    const i64 px = std::clamp<i64>(static_cast<i64>((static_cast<double>(i) + 0.5) * step), 0,
                                                   static_cast<i64>(w0_) - 1);
                    const i64 py = std::clamp<i64>(static_cast<i64>((static_cast<double>(j) + 0.5) * step), 0,
                                                   static_cast<i64>(h0_) - 1);
                    if (!chosen[py * static_cast<i64>(w0_) + px]) continue;
                }
                add(samples_.ids[(j + inner_.top) * samples_.nx + i + inner_.left],
                    1 + static_cast<u32>(near * 255));
            }
    }
    void count_ring() {
        clear();
        for (i64 j = 0; j < samples_.ny; ++j)
            for (i64 i = 0; i < samples_.nx; ++i)
                if (j < inner_.top || j >= inner_.bottom || i < inner_.left || i >= inner_.right)
                    add(samples_.ids[j * samples_.nx + i], 1);
    }
    void learn(Model& model, double rate) const {
        if (total_ == 0) return;
        const float keep = static_cast<float>(1 - rate),
                    take = static_cast<float>(rate / static_cast<double>(total_));
        for (size_t k = 0; k < model.size(); ++k)
            model[k] = keep * model[k] + take * static_cast<float>(counts_[k]);
    }
    double alike(const Model& model) const {
        if (total_ == 0) return 0;
        double sum = 0;
        for (size_t k = 0; k < model.size(); ++k)
            if (counts_[k]) sum += std::sqrt(static_cast<double>(model[k]) * counts_[k]);
        return sum / std::sqrt(static_cast<double>(total_));
    }

    std::shared_ptr<const ColourCells> cells_;
    bool scale_;
    TrackSettings set_;
    uint16_t none_;
    Model object_, ring_, rival_;
    bool has_rival_ = false;
    std::vector<i32> weights_;
    std::vector<u32> counts_;
    u64 total_ = 0;
    Samples samples_;
    Integral integral_;
    std::vector<float> scores_;
    Rect inner_{};
    Window at_{};
    double w0_ = 1, h0_ = 1, size_ = 1;
    double contrast_ = 0, border_ = 0, first_contrast_ = 1, first_border_ = 0;
    double confidence_ = 0, similarity_ = 0, score_ = 0;
    bool ok_ = false;
};

}  // namespace mspp
