// The decisions of the robust tracker, frame by frame, against a plain version with settings of its own. The
// parts that both use are tested in test_track.cpp, test_scanner.cpp and test_track_filters.cpp. A tracker
// takes 300 KB, too much for the stack of a thread on some systems.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "kernel/track/follower.hpp"
#include "kernel/track/tracker.hpp"
#include "laws.hpp"
#include "track_input.hpp"

using namespace mspp;
using laws::each_caller;
using track_input::Film;

namespace {

std::shared_ptr<const ColourCells> shared_cells() {
    static const auto cells = std::make_shared<const ColourCells>(std::array<double, 3>{20, 8, 8});
    return cells;
}

TrackSettings usual_settings() {
    TrackSettings s;
    s.ring = 0.5, s.scan_samples = 12000, s.frame_samples = 40000, s.window_samples = 4000;
    s.radius = 1.5, s.distance_cost = 0.2, s.max_rivals = 3, s.rival_score = 0.7, s.rival_distance = 0.75;
    s.share_floor = 6e-4, s.object_rate = 0.02, s.distinct_rate = 0.06, s.ring_rate = 0.1;
    s.rival_rate = 0.1, s.learn_from = 0.5, s.adjust_from = 0.6, s.growth_rate = 0.04, s.max_growth = 0.03;
    s.restoring_power = 0.99, s.min_scale = 0.4, s.max_scale = 2.5, s.aspect = 0.5, s.border_pull = 0.1;
    s.patch = 2.5, s.peak_width = 0.1, s.shape_ridge = 0.01, s.shape_rate = 0.04, s.first_share = 0.3;
    s.shape_weight = 2.2, s.refine = 0.5, s.scale_step = 1.03, s.scale_ridge = 0.1, s.scale_rate = 0.025;
    s.odds = 1.8, s.odds_of_likeness = -2.7, s.odds_of_contrast = -1.2, s.odds_of_peak = -10.2;
    s.max_odds = 4, s.odds_memory = 0.8, s.present_from = 0.8, s.found_evidence = 0.6;
    s.evidence_margin = 0.15, s.patience = 2;
    return s;
}

struct Plain {
    const TrackSettings s;
    const bool scale;
    ColourModel model;
    Observer observer{*shared_cells(), s};
    Scanner scanner{*shared_cells(), s};
    ShapeFilter shape{s};
    SizeFilter size{s};
    Window window{};
    double first_w = 0, first_h = 0, first_contrast = 0, scale_x = 1, scale_y = 1;
    double likeness = 0, contrast = 0, odds;
    std::array<double, 4> first_borders{};
    bool ok = true;
    int missing = 0, shown = 0;  // frames without the object, frames that show it clearly

    Plain(const TrackSettings& settings, bool scale)
        : s(settings), scale(scale), model(shared_cells()->size(), s.share_floor), odds(-s.max_odds) {}

    void init(const Frame& frame, const Rect& rect) {
        first_w = static_cast<double>(rect.right - rect.left);
        first_h = static_cast<double>(rect.bottom - rect.top);
        window = {static_cast<double>(rect.left + rect.right) / 2,
                  static_cast<double>(rect.top + rect.bottom) / 2, first_w, first_h};
        observer.read(frame, window, model);
        observer.count_object(model);
        model.start_object();
        observer.count_ring(model);
        model.learn_ring(1);
        model.update_weights();
        observer.measure(model);
        first_contrast = std::max(observer.contrast, 1e-3);
        first_borders = observer.borders;
        shape.start(frame, window);
        size.start(frame, window);
    }

    double now() const {
        const double sum = s.odds + s.odds_of_likeness * likeness + s.odds_of_contrast * contrast +
                           s.odds_of_peak * shape.peak;
        return std::min(std::max(sum, -s.max_odds), s.max_odds);
    }
    double score() const { return 1 / (1 + std::exp(odds)); }

    void look(const Frame& frame) {
        observer.read(frame, window, model);
        observer.measure(model);
        observer.count_object(model);
        contrast = std::min(std::max(observer.contrast / first_contrast, 0.0), 1.0);
        likeness = model.likeness();
    }

    bool found_elsewhere(const Frame& frame) {
        const Window last = window;
        const double known = 0.5 * (likeness + contrast);
        scanner.scan(frame, true, nullptr, model, window);
        scanner.refine(frame, model, window);
        look(frame);
        const double found = 0.5 * (likeness + contrast);
        const bool accepted = !(found < s.found_evidence) && !(found < known + s.evidence_margin);
        if (accepted) {
            shape.respond(frame, window);
        } else {
            window = last;
            look(frame);
        }
        return accepted;
    }

    void update(const Frame& frame) {
        model.update_weights();
        shape.respond(frame, window);
        scanner.scan(frame, false, ok ? &shape : nullptr, model, window);
        scanner.refine(frame, model, window);
        look(frame);
        const double remembered = s.odds_memory * odds + (1 - s.odds_memory) * now();
        odds = missing > s.patience && found_elsewhere(frame) ? now() : remembered;
        ok = !(score() < s.present_from);
        missing = ok ? 0 : missing + 1;
        if (ok) learn(frame);
        if (!(contrast < s.adjust_from)) adjust(frame);
    }

    void learn(const Frame& frame) {
        if (!(contrast < s.learn_from)) model.learn_object(s.object_rate, s.distinct_rate);
        observer.count_ring(model);
        model.learn_ring(s.ring_rate);
        if (!(now() < 0)) return;
        if (++shown % 2 == 0) {
            shape.learn(frame, window, s.shape_rate);
        } else if (scale) {
            const double by = size.find(frame, window);
            scale_x = limited(scale_x * by), scale_y = limited(scale_y * by);
            set_sides();
            size.learn(frame, window, s.scale_rate);
        }
    }

    double limited(double value) const { return std::min(std::max(value, s.min_scale), s.max_scale); }
    void set_sides() {
        window.w = std::max(snap(first_w * scale_x), 1.0);
        window.h = std::max(snap(first_h * scale_y), 1.0);
    }

    void adjust(const Frame& frame) {
        std::array<double, 4> more;  // of the object on the left, right, top and bottom border
        for (size_t k = 0; k < 4; ++k) more[k] = observer.borders[k] - first_borders[k];
        if (scale) {
            const double x = 0.5 * (more[0] + more[1]), y = 0.5 * (more[2] + more[3]), mean = 0.5 * (x + y);
            auto grown = [&](double from, double side) {
                const double by = s.growth_rate * (mean + s.aspect * (side - mean));
                const double factor = std::exp(std::min(std::max(by, -s.max_growth), s.max_growth));
                return limited(std::pow(from * factor, s.restoring_power));
            };
            scale_x = grown(scale_x, x), scale_y = grown(scale_y, y);
            set_sides();
        }
        window.move(frame.height, frame.width, s.border_pull * (more[1] - more[0]) * window.w,
                    s.border_pull * (more[3] - more[2]) * window.h);
    }
};

// A rectangle of coloured squares on the frame, the less visible the smaller `share`.
void draw(Film& film, double cx, double cy, double w, double h, double share) {
    static constexpr int palette[5][3] = {
        {210, 40, 50}, {40, 60, 200}, {230, 200, 60}, {150, 30, 140}, {20, 150, 90}};
    for (i64 y = 0; y < film.frame.height; ++y)
        for (i64 x = 0; x < film.frame.width; ++x) {
            const double u = (static_cast<double>(x) + 0.5 - cx) / w + 0.5;
            const double v = (static_cast<double>(y) + 0.5 - cy) / h + 0.5;
            if (u < 0 || u >= 1 || v < 0 || v >= 1) continue;
            const int* colour = palette[(static_cast<int>(3 * u) + 2 * static_cast<int>(4 * v)) % 5];
            for (i64 c = 0; c < 3; ++c)
                film.set(y, x, c, static_cast<int>(share * colour[c] + (1 - share) * film.value(y, x, c)));
        }
}

// Where a film shows the object, at time t from 0 to 1; in a white frame if the share is negative.
struct Place {
    double x, y, w, h, share;
};
using Story = Place (*)(double t);

const Story kStories[] = {
    [](double t) {  // moves and grows, far beyond the limit
        return Place{50 + 30 * t, 60 + 10 * std::sin(9 * t), 16 + 60 * t, 14 + 40 * t, 1};
    },
    [](double t) { return Place{90 - 20 * t, 60, 40 - 30 * t, 36 - 27 * t, 1}; },            // shrinks
    [](double t) { return Place{60 + 20 * t, 50 + 20 * t, 24, 18 + 14 * t, 1 - 0.9 * t}; },  // fades
    [](double t) {  // disappears, and appears elsewhere, more and more
        return t < 0.3 ? Place{40, 40, 24, 20, 1} : Place{120, 90, 24, 20, std::max(0.0, 1.4 * t - 0.6)};
    },
    [](double t) {  // jumps while it is half visible
        return t < 0.3 ? Place{40, 80, 20, 20, 1} : Place{t < 0.6 ? 42.0 : 115.0, 80, 20, 20, 0.3 + 0.4 * t};
    },
    [](double t) { return Place{70, 60, 24, 20, t < 0.3 ? 1.0 : -1.0}; },  // is gone with all colours
};

void check_same(const ColourTracker& tracker, const Plain& plain, const Film& film, const std::string& note) {
    const Rect at = tracker.window(film.frame.height, film.frame.width),
               expected = plain.window.pixels(film.frame.height, film.frame.width);
    CHECK_NOTE(at.left == expected.left && at.right == expected.right, note);
    CHECK_NOTE(at.top == expected.top && at.bottom == expected.bottom, note);
    CHECK_NOTE(tracker.ok() == plain.ok, note);
    CHECK_NOTE(std::abs(tracker.score() - plain.score()) < 1e-12, note);
    const std::array<double, 3> signals{plain.likeness, plain.contrast, plain.shape.peak};
    for (size_t k = 0; k < 3; ++k) CHECK_NOTE(std::abs(tracker.signals()[k] - signals[k]) < 1e-12, note);
}

// The film of a story, with a twin of the object where its number is odd.
void compare(size_t story, const TrackSettings* settings, bool scale, int n_frames) {
    const TrackSettings usual = usual_settings();
    auto tracker = settings ? std::make_unique<ColourTracker>(shared_cells(), scale, *settings)
                            : std::make_unique<ColourTracker>(shared_cells(), scale);
    const auto plain = std::make_unique<Plain>(settings ? *settings : usual, scale);
    for (int k = 0; k < n_frames; ++k) {
        Film film(120, 160, static_cast<unsigned>(story), 3);
        const Place at = kStories[story](static_cast<double>(k) / n_frames);
        if (story % 2) draw(film, at.x + 34, at.y + 4, at.w, at.h, 0.9);
        draw(film, at.x, at.y, at.w, at.h, at.share);
        if (at.share < 0) film.fill(0, 0, 160, 120, {250, 250, 250});
        if (k == 0) {
            const Rect rect{static_cast<i64>(at.x - at.w / 2), static_cast<i64>(at.y - at.h / 2),
                            static_cast<i64>(at.x + at.w / 2), static_cast<i64>(at.y + at.h / 2)};
            tracker->init(film.frame, rect, nullptr);
            plain->init(film.frame, rect);
            continue;
        }
        tracker->update(film.frame);
        plain->update(film.frame);
        check_same(*tracker, *plain, film, "story " + std::to_string(story) + ", frame " + std::to_string(k));
    }
}

// The left edge of the window in each frame of a film: a square that moves over noise.
template <class T>
std::vector<i64> follow(T& tracker) {
    std::vector<i64> places;
    for (i64 k = 0; k < 5; ++k) {
        Film film(80, 80, 1);
        film.fill(20 + k, 20 + k, 20, 20, {200, 140, 80});
        if (k == 0)
            tracker.init(film.frame, {20, 20, 40, 40}, nullptr);
        else
            tracker.update(film.frame);
        places.push_back(tracker.window(80, 80).left);
    }
    return places;
}

}  // namespace

TEST(the_settings_are_those_of_the_benchmarks) {
    static_assert(sizeof(TrackSettings) % sizeof(double) == 0);
    const TrackSettings usual = usual_settings(), given;
    CHECK(std::memcmp(&usual, &given, sizeof given) == 0);
}

TEST(the_tracker_decides_as_the_plain_one) {
    for (size_t story = 0; story < std::size(kStories); ++story)
        for (const bool scale : {false, true}) compare(story, nullptr, scale, 60);
}

TEST(the_tracker_decides_at_the_very_limits) {
    TrackSettings all = usual_settings(), even = all, any = all, better = all;
    all.learn_from = all.adjust_from = all.present_from = 0;  // the contrast is not below 0
    even.max_odds = 0, even.present_from = 0.5;
    any.max_odds = 0, any.found_evidence = any.evidence_margin = 0, any.patience = 0;
    better.found_evidence = 0, better.patience = 0;
    for (size_t story = 0; story < std::size(kStories); ++story)
        for (const TrackSettings* settings : {&all, &even, &any, &better}) compare(story, settings, true, 24);
}

TEST(the_cells_and_the_mask_are_those_of_positive_weight) {
    const ColourCells& cells = *shared_cells();
    Film film(120, 160, 5, 3);
    film.fill(45, 38, 30, 11, {200, 40, 40});
    film.fill(45, 49, 30, 2, {90, 120, 220});  // only at an edge
    film.fill(45, 51, 30, 11, {40, 200, 40});
    const Rect rect{45, 38, 75, 62};
    const auto tracker = std::make_unique<ColourTracker>(shared_cells(), true);
    const auto plain = std::make_unique<Plain>(usual_settings(), true);
    tracker->init(film.frame, rect, nullptr);
    plain->init(film.frame, rect);
    std::vector<ColourCells::Cell> expected;
    size_t only_at_edges = 0;
    for (size_t k = 0; k < cells.n_colours(); ++k) {
        const std::vector<i32>& weights = plain->model.weights();
        const bool without_edge = weights[k] > 0;
        const bool at_edge = weights[k + cells.n_colours()] > 0 || weights[k + 2 * cells.n_colours()] > 0;
        only_at_edges += at_edge && !without_edge;
        if (without_edge || at_edge) expected.push_back(cells.colour(k));
    }
    CHECK(only_at_edges > 0);
    CHECK(tracker->cells() == expected);

    Film other(120, 160, 6, 3);
    other.fill(50, 40, 9, 9, {250, 250, 250});  // of no weight
    std::vector<uint8_t> mask(120 * 160), plain_mask(mask);
    tracker->mask(other.frame, mask.data());
    size_t weightless = 0;
    for (i64 y = rect.top; y < rect.bottom; ++y)
        for (i64 x = rect.left; x < rect.right; ++x) {
            const i32 weight = plain->model.weights()[cells.of(other.frame, y, x)];
            plain_mask[static_cast<size_t>(y * 160 + x)] = weight > 0;
            weightless += weight == 0;
        }
    CHECK(weightless > 0);
    CHECK(mask == plain_mask);
}

TEST(trackers_share_their_colour_cells) {
    each_caller([&] {
        const auto tracker = std::make_unique<ColourTracker>(shared_cells(), true);
        CellFollower follower({64, 64, 64}, true, 0.5, 20);
        return std::pair(follow(*tracker), follow(follower));
    });
}
