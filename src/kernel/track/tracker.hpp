// The robust tracker: colour cells weighted by object against surroundings.
//
// Three models are shares of colour cells: of the object, of the ring around it, and of rivals, places nearby
// that look like it. They give each cell a weight from -1 to 1, and the window goes where the weights inside
// are highest against those around. All that is added up is an integer, and all places are multiples of 1/64
// pixel relative to the last: moving the scene by whole pixels moves the window by exactly that.
#pragma once

#include <memory>

#include "kernel/track/frame.hpp"
#include "kernel/track/model.hpp"

namespace mspp {

// One setting for all videos. Lengths are in units of g, the geometric mean of the window's sides.
struct TrackSettings {
    double ring = 0.5;                             // width of the surroundings
    double radius = 1.0;                           // of the search
    double coarse = 12000;                         // samples of a search
    double wide = 40000;                           // and of one in the whole frame
    double fine = 4000;                            // samples of the window and its ring
    double floor = 6e-4;                           // shares below this do not weigh much
    double pull = 0.2;                             // cost of going a distance of g
    double object_rate = 0.02, fresh_rate = 0.06;  // of all cells, and more of those
    double ring_rate = 0.1, rival_rate = 0.1;
    double learn = 0.5;  // contrast, of the first frame's, from which models learn
    double rivals = 3, rival_score = 0.7, rival_apart = 0.75;  // at most, of the best score, of a window away
    double grow = 0.04, grow_most = 0.03, grow_from = 0.6, home = 0.99, least = 0.4, most = 2.5;
    double aspect = 0.5;    // how freely the sides change apart from each other
    double edge = 0.1;      // pull of uneven borders on the centre
    double memory = 0.7;    // of the score
    double present = 0.35;  // score from which the object counts as there
    double found = 0.6;     // evidence that brings the window back to another place
    double better = 0.15;   // than what is here
    double patience = 2;    // frames without the object before the whole frame is searched
};

// Where the object is: centre and sides.
struct Window {
    double x, y, w, h;
    double left() const { return x - w / 2; }
    double top() const { return y - h / 2; }
    double g() const { return std::sqrt(w * h); }
};

class ColourTracker {
  public:
    ColourTracker(std::shared_ptr<const ColourCells> cells, bool scale, const TrackSettings& set = {})
        : cells_(std::move(cells)), scale_(scale), set_(set), model_(cells_->size(), set.floor) {}

    // `chosen`: one byte a pixel of the window, row by row; those not 0 are the object's. Null: all are.
    void init(const Frame& frame, const Rect& window, const uint8_t* chosen) {
        model_ = ColourModel(cells_->size(), set_.floor);
        first_w_ = static_cast<double>(window.width()), first_h_ = static_cast<double>(window.height());
        at_ = {static_cast<double>(window.left) + first_w_ / 2,
               static_cast<double>(window.top) + first_h_ / 2, first_w_, first_h_};
        grown_x_ = grown_y_ = 1;
        look(frame);
        if (chosen)
            count_chosen(frame, window, chosen);
        else
            count_object();
        model_.start_object();
        count_ring();
        model_.learn_ring(1);
        model_.weigh();
        measure();
        first_contrast_ = std::max(contrast_, 1e-3);
        first_edges_ = edges_;
        score_ = 1, ok_ = true, lost_for_ = 0;
    }

    void update(const Frame& frame) {
        model_.weigh();
        scan(frame, false);
        refine(frame);
        double evidence = inspect(frame);
        if (lost_for_ > set_.patience) evidence = search(frame, evidence);
        score_ = set_.memory * score_ + (1 - set_.memory) * evidence;
        ok_ = score_ >= set_.present;
        lost_for_ = ok_ ? 0 : lost_for_ + 1;
        if (ok_) adapt();
        if (confidence_ >= set_.grow_from) settle(frame);
    }

    bool ok() const { return ok_; }
    double score() const { return score_; }

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
        const size_t n = cells_->n_colours();
        for (size_t k = 0; k < n; ++k) {
            bool speaks = false;
            for (size_t id = k; id < cells_->size(); id += n) speaks |= model_.weights()[id] > 0;
            if (speaks) out.push_back(cells_->colour(k));
        }
        return out;
    }
    // OUT mask (height, width), zeros before: 1 at the pixels of the window that speak for the object.
    void mask(const Frame& frame, uint8_t* out) const {
        const Rect w = window(frame.height, frame.width);
        for (i64 y = w.top; y < w.bottom; ++y)
            for (i64 x = w.left; x < w.right; ++x)
                out[y * frame.width + x] = model_.weights()[cells_->of(frame, y, x)] > 0;
    }

  private:
    static constexpr double kUnit = ColourModel::kUnit;
    static constexpr float kNever = -1e9f;

    static double snap(double x) { return std::floor(x * 64 + 0.5) / 64; }
    static i64 whole(double x) { return static_cast<i64>(std::floor(x + 0.5)); }
    static i64 some(double x) { return std::max<i64>(1, whole(x)); }
    static i64 step_for(double area, double samples) {
        return std::max<i64>(1, static_cast<i64>(std::ceil(std::sqrt(area / samples))));
    }

    // -- Learning

    // The surroundings change with every step; of the object, only what stands out is believed.
    void adapt() {
        if (confidence_ >= set_.learn) model_.learn_object(set_.object_rate, set_.fresh_rate);
        count_ring();
        model_.learn_ring(set_.ring_rate);
    }
    // Those near the centre of a window count most; outside its ellipse they do not.
    static double nearness(i64 i, i64 j, i64 nw, i64 nh) {
        const double u = static_cast<double>(2 * i + 1 - nw) / static_cast<double>(nw);
        const double v = static_cast<double>(2 * j + 1 - nh) / static_cast<double>(nh);
        return 1 - u * u - v * v;
    }
    void count_object() {
        model_.clear();
        const i64 nw = inner_.width(), nh = inner_.height();
        for (i64 j = 0; j < nh; ++j) {
            const uint16_t* ids = samples_.ids.data() + (j + inner_.top) * samples_.nx + inner_.left;
            for (i64 i = 0; i < nw; ++i) {
                const double near = nearness(i, j, nw, nh);
                if (near > 0) model_.add(ids[i], 1 + static_cast<u32>(near * 255));
            }
        }
    }
    // Every pixel chosen counts, if only a little: a person may choose what is in the corners.
    void count_chosen(const Frame& frame, const Rect& window, const uint8_t* chosen) {
        model_.clear();
        const i64 w = window.width(), h = window.height();
        for (i64 y = 0; y < h; ++y)
            for (i64 x = 0; x < w; ++x)
                if (chosen[y * w + x])
                    model_.add(cells_->of(frame, window.top + y, window.left + x),
                               1 + static_cast<u32>(std::max(nearness(x, y, w, h), 0.0) * 255));
    }
    void count_ring() {
        model_.clear();
        for (i64 j = 0; j < samples_.ny; ++j)
            for (i64 i = 0; i < samples_.nx; ++i)
                if (j < inner_.top || j >= inner_.bottom || i < inner_.left || i >= inner_.right)
                    model_.add(samples_.ids[j * samples_.nx + i], 1);
    }

    // -- Search

    // Moves the window to the best place around the last one, or in the frame.
    void scan(const Frame& frame, bool everywhere) {
        const double g = at_.g(), margin = set_.ring * g, reach = set_.radius * g;
        const double W = static_cast<double>(frame.width), H = static_cast<double>(frame.height);
        const double span_x = everywhere ? W : at_.w + 2 * reach, span_y = everywhere ? H : at_.h + 2 * reach;
        Samples& s = samples_;
        s.step =
            step_for((span_x + 2 * margin) * (span_y + 2 * margin), everywhere ? set_.wide : set_.coarse);
        const double step = static_cast<double>(s.step);
        const i64 nw = some(at_.w / step), nh = some(at_.h / step), m = some(margin / step),
                  r = some(reach / step);
        // Steps to each side; the centre stays in the frame.
        auto steps = [&](double room) {
            const i64 most = std::max<i64>(0, static_cast<i64>(room / step));
            return everywhere ? most : std::min(most, r);
        };
        const i64 left = steps(at_.x), right = steps(W - at_.x), up = steps(at_.y), down = steps(H - at_.y);
        const i64 across = left + right + 1, along = up + down + 1;
        s.nx = nw + 2 * m + across - 1, s.ny = nh + 2 * m + along - 1;
        s.x0 = whole(at_.x - step * static_cast<double>(nw) / 2) - (left + m) * s.step;
        s.y0 = whole(at_.y - step * static_cast<double>(nh) / 2) - (up + m) * s.step;
        s.take(frame, *cells_, model_.none());
        integral_.build(s, model_.weights());
        scores_.resize(static_cast<size_t>(across * along));
        const double inside = static_cast<double>(nw * nh);
        const double around = static_cast<double>((nw + 2 * m) * (nh + 2 * m)) - inside;
        const double far = everywhere ? 0 : set_.pull * step * step / (g * g);
        for (i64 j = 0; j < along; ++j)
            for (i64 i = 0; i < across; ++i) {
                const i64 in = integral_.sum({i + m, j + m, i + m + nw, j + m + nh});
                const i64 all = integral_.sum({i, j, i + 2 * m + nw, j + 2 * m + nh});
                const double contrast =
                    static_cast<double>(in) / inside - static_cast<double>(all - in) / around;
                const i64 dx = i - left, dy = j - up;
                scores_[j * across + i] =
                    static_cast<float>(contrast / kUnit - far * static_cast<double>(dx * dx + dy * dy));
            }
        const i64 best = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
        if (!everywhere && ok_) find_rivals(best, across, nw, nh, m);
        at_.x += static_cast<double>((best % across - left) * s.step);
        at_.y += static_cast<double>((best / across - up) * s.step);
    }

    // Other peaks nearly as good, and not the same place: what is theirs will count against.
    void find_rivals(i64 best, i64 across, i64 nw, i64 nh, i64 m) {
        if (!(scores_[best] > 0)) return;
        const float limit = static_cast<float>(set_.rival_score) * scores_[best];
        const i64 apart_x = static_cast<i64>(set_.rival_apart * static_cast<double>(nw));
        const i64 apart_y = static_cast<i64>(set_.rival_apart * static_cast<double>(nh));
        const i64 along = static_cast<i64>(scores_.size()) / across;
        i64 peak = best;
        model_.clear();
        for (int k = 0; k < static_cast<int>(set_.rivals); ++k) {
            const i64 px = peak % across, py = peak / across;
            for (i64 j = std::max<i64>(0, py - apart_y); j <= std::min(along - 1, py + apart_y); ++j)
                for (i64 i = std::max<i64>(0, px - apart_x); i <= std::min(across - 1, px + apart_x); ++i)
                    scores_[j * across + i] = kNever;
            peak = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
            if (scores_[peak] < limit) break;
            for (i64 j = peak / across + m; j < peak / across + m + nh; ++j)
                for (i64 i = peak % across + m; i < peak % across + m + nw; ++i)
                    model_.add(samples_.ids[j * samples_.nx + i], 1);
        }
        model_.learn_rival(set_.rival_rate);
    }

    // One step of mean shift on what speaks for the object, inside the ellipse of the window.
    void refine(const Frame& frame) {
        Samples& s = samples_;
        s.step = step_for(at_.w * at_.h, set_.fine / 4);
        const double step = static_cast<double>(s.step);
        sample(frame, some(at_.w / step), some(at_.h / step));
        const std::vector<i32>& weights = model_.weights();
        i64 total = 0, sx = 0, sy = 0;
        for (i64 j = 0; j < s.ny; ++j)
            for (i64 i = 0; i < s.nx; ++i) {
                const i64 u = 2 * i + 1 - s.nx, v = 2 * j + 1 - s.ny;
                if (u * u * s.ny * s.ny + v * v * s.nx * s.nx > s.nx * s.nx * s.ny * s.ny) continue;
                const i64 w = std::max(weights[s.ids[j * s.nx + i]], 0);
                total += w, sx += w * u, sy += w * v;
            }
        if (total == 0) return;
        move(frame, static_cast<double>(sx) / static_cast<double>(total) * step / 2,
             static_cast<double>(sy) / static_cast<double>(total) * step / 2);
    }
    void move(const Frame& frame, double dx, double dy) {
        at_.x = std::clamp(at_.x + snap(dx), 0.5, static_cast<double>(frame.width) - 0.5);
        at_.y = std::clamp(at_.y + snap(dy), 0.5, static_cast<double>(frame.height) - 0.5);
    }

    // Looks for the object in the whole frame, and goes there only on good evidence.
    double search(const Frame& frame, double evidence) {
        const Window here = at_;
        scan(frame, true);
        refine(frame);
        const double there = inspect(frame);
        if (there >= set_.found && there >= evidence + set_.better) return score_ = there;
        at_ = here;
        return inspect(frame);
    }

    // -- What is in the window

    // Evidence that the object is in the window, from 0 to 1: how much more its colours are like the object's
    // than the surroundings are, and how it stands out, against the first frame.
    double inspect(const Frame& frame) {
        look(frame);
        measure();
        count_object();
        confidence_ = std::clamp(contrast_ / first_contrast_, 0.0, 1.0);
        return (model_.likeness() + confidence_) / 2;
    }

    // Samples of the window and its ring.
    void look(const Frame& frame) {
        const double margin = std::max(set_.ring * at_.g(), 1.0);
        samples_.step = step_for((at_.w + 2 * margin) * (at_.h + 2 * margin), set_.fine);
        const double step = static_cast<double>(samples_.step);
        const i64 nw = some(at_.w / step), nh = some(at_.h / step), m = some(margin / step);
        inner_ = {m, m, m + nw, m + nh};
        sample(frame, nw + 2 * m, nh + 2 * m);
    }
    // So many steps across and along, around the window's centre.
    void sample(const Frame& frame, i64 nx, i64 ny) {
        Samples& s = samples_;
        const double step = static_cast<double>(s.step);
        s.nx = nx, s.ny = ny;
        s.x0 = whole(at_.x - step * static_cast<double>(nx) / 2);
        s.y0 = whole(at_.y - step * static_cast<double>(ny) / 2);
        s.take(frame, *cells_, model_.none());
    }

    // Contrast of window and ring, and the mean weight along each edge, as much inside as outside.
    void measure() {
        integral_.build(samples_, model_.weights());
        const Rect& in = inner_;
        const Rect all{0, 0, samples_.nx, samples_.ny};
        const i64 inside = integral_.sum(in), outside = integral_.sum(all) - inside;
        contrast_ = (static_cast<double>(inside) / static_cast<double>(in.area()) -
                     static_cast<double>(outside) / static_cast<double>(all.area() - in.area())) /
                    kUnit;
        const i64 tx = std::clamp<i64>(whole(0.1 * static_cast<double>(in.width())), 1, in.left);
        const i64 ty = std::clamp<i64>(whole(0.1 * static_cast<double>(in.height())), 1, in.top);
        edges_ = {integral_.mean({in.left - tx, in.top, in.left + tx, in.bottom}) / kUnit,
                  integral_.mean({in.right - tx, in.top, in.right + tx, in.bottom}) / kUnit,
                  integral_.mean({in.left, in.top - ty, in.right, in.top + ty}) / kUnit,
                  integral_.mean({in.left, in.bottom - ty, in.right, in.bottom + ty}) / kUnit};
    }

    // An edge with more of the object on it than in the first frame moves out, one with less moves in.
    void settle(const Frame& frame) {
        std::array<double, 4> e;
        for (int k = 0; k < 4; ++k) e[k] = edges_[k] - first_edges_[k];
        if (scale_) {
            const double x = (e[0] + e[1]) / 2, y = (e[2] + e[3]) / 2, both = (x + y) / 2;
            at_.w = grow(grown_x_, both + set_.aspect * (x - both), first_w_);
            at_.h = grow(grown_y_, both + set_.aspect * (y - both), first_h_);
        }
        move(frame, set_.edge * (e[1] - e[0]) * at_.w, set_.edge * (e[3] - e[2]) * at_.h);
    }
    // The side that was `first`; errors do not add up, because it is drawn back to what it was.
    double grow(double& grown, double by, double first) const {
        grown *= std::exp(std::clamp(set_.grow * by, -set_.grow_most, set_.grow_most));
        grown = std::clamp(std::pow(grown, set_.home), set_.least, set_.most);
        return std::max(snap(first * grown), 1.0);
    }

    std::shared_ptr<const ColourCells> cells_;
    bool scale_;
    TrackSettings set_;

    ColourModel model_;
    Samples samples_;
    Integral integral_;
    std::vector<float> scores_;
    Rect inner_{};  // the window on the samples of `look`

    Window at_{};
    double first_w_ = 1, first_h_ = 1, grown_x_ = 1, grown_y_ = 1;
    double contrast_ = 0, first_contrast_ = 1;
    std::array<double, 4> edges_{}, first_edges_{};  // left, right, top, bottom
    double confidence_ = 0, score_ = 0;
    int lost_for_ = 0;
    bool ok_ = false;
};

}  // namespace mspp
