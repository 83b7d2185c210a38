// The scanner of the robust tracker, against sums over the pixels of every window.
#include <algorithm>

#include "check.hpp"
#include "kernel/track/scanner.hpp"
#include "track_models.hpp"

using namespace mspp;
using namespace track_input;

// The scores of all windows around the last one, by sums over their pixels.
struct PlainScan {
    struct Place {
        i64 dx, dy;  // in steps from the last window
        float score;
    };
    i64 step, nw, nh, x0, y0;  // the window in steps, and its first sample
    std::vector<Place> places;

    PlainScan(const WeightMap& map, const Window& window, bool whole_frame) {
        const double width = static_cast<double>(map.width), height = static_cast<double>(map.height);
        const double side = std::sqrt(window.w * window.h), radius = 1.5 * side;
        const double span_x = (whole_frame ? width : window.w + 2 * radius) + side;
        const double span_y = (whole_frame ? height : window.h + 2 * radius) + side;
        step = static_cast<i64>(std::ceil(std::sqrt(span_x * span_y / (whole_frame ? 40000 : 12000))));
        const double s = static_cast<double>(step);
        nw = round_to_one(window.w / s), nh = round_to_one(window.h / s);
        const i64 m = round_to_one(0.5 * side / s);
        const i64 most = whole_frame ? std::max(map.height, map.width) : round_to_one(radius / s);
        x0 = round_half_up(window.x - s * static_cast<double>(nw) / 2) + step / 2;
        y0 = round_half_up(window.y - s * static_cast<double>(nh) / 2) + step / 2;
        for (i64 dy = -most; dy <= most; ++dy)
            for (i64 dx = -most; dx <= most; ++dx) {
                const double x = window.x + s * static_cast<double>(dx),
                             y = window.y + s * static_cast<double>(dy);
                if (x < 0 || y < 0 || x > width || y > height) continue;
                Mean inside, ring;
                for (i64 j = -m; j < nh + m; ++j)
                    for (i64 i = -m; i < nw + m; ++i)
                        (i >= 0 && i < nw && j >= 0 && j < nh ? inside : ring)
                            .add(map.at(y0 + (dy + j) * step, x0 + (dx + i) * step));
                const double away = s * s * static_cast<double>(dx * dx + dy * dy) / (side * side);
                const double cost = whole_frame ? 0.0 : 0.2 * away;
                places.push_back({dx, dy, static_cast<float>((inside.value() - ring.value()) / 4096 - cost)});
            }
    }

    static Place best_of(const std::vector<Place>& places) {  // the first of equals
        return *std::max_element(places.begin(), places.end(),
                                 [](const Place& a, const Place& b) { return a.score < b.score; });
    }
    Place best() const { return best_of(places); }

    // OUT model: the colours of up to three other places, nearly as good and three quarters of a window away.
    void learn_rivals(const Film& film, ColourModel& model) const {
        std::vector<Place> left = places;
        Place peak = best();
        const float least = 0.7f * peak.score;
        if (peak.score <= 0) return;
        model.clear_counts();
        for (int k = 0; k < 3; ++k) {
            std::erase_if(left, [&](const Place& p) {
                return std::abs(p.dx - peak.dx) <= nw * 3 / 4 && std::abs(p.dy - peak.dy) <= nh * 3 / 4;
            });
            if (left.empty()) break;
            peak = best_of(left);
            if (peak.score < least) break;
            for (i64 j = 0; j < nh; ++j)
                for (i64 i = 0; i < nw; ++i) {
                    const i64 x = x0 + (peak.dx + i) * step, y = y0 + (peak.dy + j) * step;
                    if (x >= 0 && y >= 0 && x < film.frame.width && y < film.frame.height)
                        model.count(cells().of(film.frame, y, x), 1);
                }
        }
        model.learn_rival(0.1);
    }
};

static void check_scan(const Film& film, const ColourModel& model, const Window& start, bool whole_frame) {
    const PlainScan scan(WeightMap(film, model), start, whole_frame);
    const TrackSettings settings;
    ColourModel scanned = model;
    Window window = start;
    Scanner(cells(), settings).scan(film.frame, whole_frame, nullptr, scanned, window);
    const double s = static_cast<double>(scan.step);
    CHECK(window.x == start.x + s * static_cast<double>(scan.best().dx));
    CHECK(window.y == start.y + s * static_cast<double>(scan.best().dy));
    CHECK(window.w == start.w && window.h == start.h);
    if (whole_frame) return;

    TrackSettings colours_only;
    colours_only.shape_weight = 0;
    ShapeFilter shape(colours_only);
    shape.start(film.frame, start);
    shape.respond(film.frame, start);
    window = start;
    Scanner(cells(), colours_only).scan(film.frame, false, &shape, scanned, window);
    ColourModel expected = model;
    scan.learn_rivals(film, expected);
    scanned.update_weights();
    expected.update_weights();
    CHECK(scanned.weights() == expected.weights());
}

TEST(the_scanner_finds_the_window_of_highest_contrast) {
    for (unsigned seed = 0; seed < 3; ++seed) {
        const Film film(44, 60, 20 + seed, 4);
        const ColourModel model = random_model(30 + seed);
        for (const Window& start : {Window{30, 20.5, 7, 5}, Window{2.25, 41, 6, 8}, Window{55, 3, 9, 4}})
            for (const bool whole_frame : {false, true}) check_scan(film, model, start, whole_frame);
    }
}

TEST(the_scanner_takes_larger_steps_around_larger_windows) {
    const Film film(120, 150, 23, 6);
    const ColourModel model = random_model(33);
    for (const Window& start : {Window{70, 60, 21, 21}, Window{70, 60, 22, 22}, Window{140, 20, 40, 30}})
        check_scan(film, model, start, false);
}

TEST(a_better_place_beyond_the_radius_is_not_tried) {
    Film film(120, 150, 26, 120);
    film.fill(0, 0, 150, 120, {60, 60, 60});
    film.fill(109, 49, 22, 22, {200, 40, 40});  // more than two windows from the last place
    ColourModel model(cells().size(), 6e-4);
    model.count(cells().of(film.frame, 60, 120), 1);
    model.start_object();
    model.clear_counts();
    model.count(cells().of(film.frame, 10, 10), 1);
    model.learn_ring(1);
    model.update_weights();
    check_scan(film, model, {70, 60, 22, 22}, false);
}

TEST(the_centre_of_the_window_stays_in_the_frame) {
    const Film film(120, 150, 24, 120);  // two colours, both of the surroundings: the best place is outside
    ColourModel model(cells().size(), 6e-4);
    for (i64 y = 0; y < 120; ++y)
        for (i64 x = 0; x < 150; ++x) model.count(cells().of(film.frame, y, x), 1);
    model.learn_ring(1);
    model.update_weights();
    for (const double side : {8.0, 22.0})
        for (const auto& [x, y] : {std::pair<double, double>{145, 114}, {4, 5}})
            check_scan(film, model, {x, y, side, side}, false);
    check_scan(film, model, {145, 114, 8, 8}, true);
}

TEST(rivals_are_learned_at_every_distance) {
    static constexpr int reds[4][3] = {{200, 40, 40}, {230, 60, 90}, {170, 20, 60}, {220, 90, 30}};
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        Film film(60, 70, seed, 70);
        film.fill(0, 0, 70, 60, {60, 60, 60});
        for (int k = 0; k < 9; ++k) {  // each with a mixture of its own, some of them beside or on another
            const i64 left = static_cast<i64>(random() % 60), top = static_cast<i64>(random() % 52);
            const unsigned more = random() % 4;
            for (i64 y = top; y < top + 8; ++y)
                for (i64 x = left; x < left + 10; ++x) {
                    const int* red = reds[random() % 2 ? more : random() % 4];
                    film.fill(x, y, 1, 1, {red[0], red[1], red[2]});
                }
        }
        ColourModel model(cells().size(), 6e-4);
        for (i64 y = 0; y < 60; ++y)
            for (i64 x = 0; x < 70; ++x)
                if (film.value(y, x, 0) != 60) model.count(cells().of(film.frame, y, x), 1);
        model.start_object();
        model.clear_counts();
        for (i64 k = 0; k < 4200; ++k)
            if (film.value(k / 70, k % 70, 0) == 60) model.count(cells().of(film.frame, k / 70, k % 70), 1);
        model.learn_ring(1);
        model.update_weights();
        check_scan(film, model, {20.0 + random() % 30, 20.0 + random() % 20, 10, 8}, false);
    }
}

TEST(places_without_contrast_have_no_rivals) {
    TrackSettings settings;
    settings.distance_cost = 0;
    Film film(44, 60, 25, 44);
    film.fill(0, 0, 60, 44, {60, 60, 60});
    ColourModel model(cells().size(), 6e-4);
    model.update_weights();  // all are 0
    const std::vector<i32> before = model.weights();
    Window window{30, 20, 8, 8};
    ShapeFilter shape(settings);
    shape.start(film.frame, window);
    shape.respond(film.frame, window);
    Scanner(cells(), settings).scan(film.frame, false, &shape, model, window);
    model.update_weights();
    CHECK(model.weights() == before);
}

TEST(the_three_best_rivals_are_learned) {
    TrackSettings settings;
    settings.distance_cost = 0.02;
    Film film(70, 90, 14, 70);
    film.fill(0, 0, 90, 70, {60, 60, 60});
    struct Twin {
        i64 x, y;
        int gaps;  // pixels of the background, which lower its score
    };
    const Window object{35, 34, 10, 8};
    for (const auto& [x, y, gaps] : {Twin{30, 30, 0}, {30, 18, 0}, {30, 42, 4}, {43, 18, 8}, {43, 42, 12}}) {
        film.fill(x, y, 10, 8, {200, 40, 40});
        for (int k = 0; k < gaps; ++k) film.fill(x + 1 + k % 8, y + 3 + k / 8, 1, 1, {60, 60, 60});
    }
    ColourModel model(cells().size(), settings.share_floor);
    auto learn = [&](i64 x, i64 y) {
        for (i64 j = y; j < y + 8; ++j)
            for (i64 i = x; i < x + 10; ++i) model.count(cells().of(film.frame, j, i), 1);
    };
    learn(30, 30);
    model.start_object();
    model.clear_counts();
    learn(0, 0);
    model.learn_ring(1);
    model.update_weights();
    for (const bool alike : {true, false}) {
        settings.rival_score = alike ? 0.5 : 1.5;
        ColourModel scanned = model;
        ShapeFilter shape(settings);
        shape.start(film.frame, object);
        shape.respond(film.frame, object);
        Window window = object;
        Scanner(cells(), settings).scan(film.frame, false, &shape, scanned, window);
        CHECK(window.x == object.x && window.y == object.y);
        const ColourModel before = model;
        model.clear_counts();
        if (alike) learn(30, 18), learn(30, 42), learn(43, 18);
        model.learn_rival(settings.rival_rate);
        model.update_weights();
        scanned.update_weights();
        CHECK(scanned.weights() == model.weights());
        model = before;
    }
}

TEST(a_rival_may_be_just_good_enough) {
    TrackSettings settings;
    settings.distance_cost = settings.shape_weight = 0, settings.rival_score = 1;
    Film film(44, 90, 15, 44);
    film.fill(0, 0, 90, 44, {60, 60, 60});
    film.fill(30, 18, 10, 8, {200, 40, 40});
    film.fill(42, 18, 10, 8, {200, 40, 40});  // its score is equal
    ColourModel model(cells().size(), settings.share_floor);
    model.count(cells().of(film.frame, 22, 35), 1);
    model.start_object();
    model.update_weights();
    ColourModel expected = model;
    const Window object{35, 22, 10, 8};
    Window window = object;
    ShapeFilter shape(settings);
    shape.start(film.frame, object);
    shape.respond(film.frame, object);
    Scanner(cells(), settings).scan(film.frame, false, &shape, model, window);
    CHECK(window.x == object.x && window.y == object.y);
    expected.clear_counts();
    for (i64 y = 18; y < 26; ++y)
        for (i64 x = 42; x < 52; ++x) expected.count(cells().of(film.frame, y, x), 1);
    expected.learn_rival(settings.rival_rate);
    model.update_weights();
    expected.update_weights();
    CHECK(model.weights() == expected.weights());
}

TEST(refining_moves_half_way_to_the_mean_of_positive_weights_in_the_ellipse) {
    const TrackSettings settings;
    const Film film(120, 150, 12);
    const ColourModel model = random_model(7);
    const WeightMap map(film, model);
    for (const Window& start :
         {Window{60, 50, 21, 14}, Window{75.5, 60.25, 80, 60}, Window{3, 115, 20, 20}}) {
        const i64 step = static_cast<i64>(std::ceil(std::sqrt(start.w * start.h / 1000)));
        const double s = static_cast<double>(step);
        const i64 nx = round_to_one(start.w / s), ny = round_to_one(start.h / s);
        const double left = std::floor(start.x - s * static_cast<double>(nx) / 2 + 0.5);
        const double top = std::floor(start.y - s * static_cast<double>(ny) / 2 + 0.5);
        double total = 0, sx = 0, sy = 0;
        for (i64 j = 0; j < ny; ++j)
            for (i64 i = 0; i < nx; ++i) {
                const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(nx) * 2 - 1;
                const double v = (static_cast<double>(j) + 0.5) / static_cast<double>(ny) * 2 - 1;
                const i64 x = static_cast<i64>(left) + i * step + step / 2;
                const i64 y = static_cast<i64>(top) + j * step + step / 2;
                if (u * u + v * v > 1 + 1e-12) continue;
                const double w = std::max(map.at(y, x), 0);
                total += w, sx += w * u * static_cast<double>(nx), sy += w * v * static_cast<double>(ny);
            }
        Window window = start;
        Scanner(cells(), settings).refine(film.frame, model, window);
        CHECK(std::abs(window.x - start.x - sx / total * s / 4) <= 1.0 / 128 + 1e-9);
        CHECK(std::abs(window.y - start.y - sy / total * s / 4) <= 1.0 / 128 + 1e-9);
    }
    ColourModel empty(cells().size(), 6e-4);  // all weights are 0
    empty.update_weights();
    Window window{60, 50, 21, 14};
    Scanner(cells(), settings).refine(film.frame, empty, window);
    CHECK(window.x == 60 && window.y == 50);
}
