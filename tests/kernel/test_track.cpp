// The parts of the robust tracker that read colours, against plain loops over pixels.
#include <algorithm>

#include "check.hpp"
#include "kernel/track/observer.hpp"
#include "track_models.hpp"

using namespace mspp;
using namespace track_input;

namespace {

// The kind of edge at a pixel: 0 none, 1 vertical, 2 horizontal.
size_t edge_kind(const Film& film, i64 y, i64 x) {
    const int across = std::abs(film.near(y, x + 2, 1) - film.near(y, x - 2, 1));
    const int along = std::abs(film.near(y + 2, x, 1) - film.near(y - 2, x, 1));
    return across + along < 28 ? 0 : across >= along ? 1 : 2;
}

ColourCells::Cell lab_cell(const Film& film, i64 y, i64 x) {
    static const Curve curve([](double t) { return lab_curve(t); });
    std::array<float, 3> light;
    for (i64 c = 0; c < 3; ++c)
        light[static_cast<size_t>(c)] =
            static_cast<float>(linear_light((film.value(y, x, c) / 4 * 4 + 1.5) / 255));
    const Colour lab = lab_of({light[0], light[1], light[2]}, curve);
    auto cell = [](double value, double side) { return static_cast<i64>(std::floor(value / side + 0.5)); };
    return {cell(lab.a, kSides[0]), cell(lab.b, kSides[1]), cell(lab.c, kSides[2])};
}

}  // namespace

TEST(sides_may_make_as_many_colour_cells_as_the_limit) {
    const i64 n = static_cast<i64>(cells().n_colours());
    CHECK(ColourCells(kSides, n).n_colours() == cells().n_colours());
    bool raised = false;
    try {
        ColourCells(kSides, n - 1);
    } catch (const BadInput& error) {
        raised = true;
        CHECK(std::string(error.what()).find("more than " + std::to_string(n - 1) + ";") !=
              std::string::npos);
    }
    CHECK(raised);
}

TEST(a_pixel_has_the_id_of_its_colour_and_its_edge) {
    for (const auto& [height, width] :
         {std::pair<i64, i64>{9, 23}, {1, 1}, {2, 3}, {5, 4}, {3, 5}, {40, 60}}) {
        const Film film(height, width, 7);
        for (i64 y = 0; y < height; ++y)
            for (i64 x = 0; x < width; ++x) {
                const size_t id = cells().of(film.frame, y, x), n = cells().n_colours();
                CHECK(id / n == edge_kind(film, y, x));
                CHECK(cells().colour(id % n) == lab_cell(film, y, x));
            }
    }
    CHECK(cells().size() == 3 * cells().n_colours());
}

TEST(a_row_of_ids_holds_every_step_th_pixel) {
    for (const i64 width : {1, 2, 3, 4, 5, 30}) {
        const Film film(6, width, 8);
        for (i64 step = 1; step < 5; ++step)
            for (i64 x = 0; x < width; ++x) {
                const i64 n = (width - x + step - 1) / step;
                std::vector<uint16_t> ids(static_cast<size_t>(n));
                cells().read(film.frame, 3, x, step, n, ids.data());
                for (i64 i = 0; i < n; ++i)
                    CHECK(ids[static_cast<size_t>(i)] == cells().of(film.frame, 3, x + i * step));
            }
    }
}

TEST(samples_are_the_middle_pixels_of_squares) {
    const Film film(20, 31, 9);
    const uint16_t none = random_model(1).none();
    CHECK(none == cells().size());
    std::mt19937 random(2);
    for (int trial = 0; trial < 200; ++trial) {
        Samples s;
        s.x0 = static_cast<i64>(random() % 60) - 30, s.y0 = static_cast<i64>(random() % 60) - 30;
        s.step = 1 + random() % 5, s.nx = 1 + random() % 20, s.ny = 1 + random() % 20;
        s.read(film.frame, cells(), none);
        for (i64 j = 0; j < s.ny; ++j)
            for (i64 i = 0; i < s.nx; ++i) {
                const i64 x = s.x0 + i * s.step + s.step / 2, y = s.y0 + j * s.step + s.step / 2;
                const bool inside = x >= 0 && x < 31 && y >= 0 && y < 20;
                CHECK(s.ids[static_cast<size_t>(j * s.nx + i)] ==
                      (inside ? cells().of(film.frame, y, x) : none));
            }
    }
    for (const double area : {0.5, 99.0, 100.0, 101.0, 400.0, 401.0, 1e6}) {
        const double step = static_cast<double>(Samples::step_for(area, 100));
        CHECK(step >= 1 && area <= step * step * 100);
        CHECK(step == 1 || area > (step - 1) * (step - 1) * 100);
    }
}

TEST(weights_are_contrasts_of_object_and_surroundings) {
    ColourModel model(4, 6e-4);
    auto count = [&](const std::array<u32, 4>& counts) {
        model.clear_counts();
        for (size_t k = 0; k < 4; ++k) model.count(static_cast<uint16_t>(k), counts[k]);
        model.count(model.none(), 1000);  // never counted
    };
    std::array<double, 4> object{0.5, 0.25, 0.25, 0}, ring{0, 0.5, 0.125, 0.375}, rival{0.25, 0, 0.75, 0};
    auto contrast = [](double a, double b) { return (a - b) / (a + b + 6e-4); };
    auto check = [&](bool with_rival) {
        model.update_weights();
        for (size_t k = 0; k < 4; ++k) {
            const double half = with_rival ? 0.5 : 0;
            const double weight =
                (1 - half) * contrast(object[k], ring[k]) + half * contrast(object[k], rival[k]);
            CHECK(std::abs(model.weights()[k] - weight * 4096) <= 0.5 + 1e-2);
        }
        CHECK(model.weights()[4] == 0);
    };
    count({2, 1, 1, 0});
    model.start_object();
    count({0, 4, 1, 3});
    model.learn_ring(1);
    check(false);
    count({0, 0, 0, 0});
    model.learn_rival(1);  // without a count, it is not a rival
    model.learn_ring(1);
    model.learn_object(1, 1);
    check(false);
    count({1, 0, 3, 0});
    model.learn_rival(0.1);  // the first rival is learned at once
    check(true);
    count({4, 0, 0, 0});
    model.learn_rival(0.25);
    for (size_t k = 0; k < 4; ++k) rival[k] = 0.75 * rival[k] + 0.25 * (k == 0);
    model.learn_ring(0.25);
    for (size_t k = 0; k < 4; ++k) ring[k] = 0.75 * ring[k] + 0.25 * (k == 0);
    check(true);

    const std::array<double, 4> now{0.125, 0.5, 0.25, 0.125};
    count({1, 4, 2, 1});
    double here = 0, around = 0, sum = 0;
    for (size_t k = 0; k < 4; ++k)
        here += std::sqrt(object[k] * now[k]), around += std::sqrt(object[k] * ring[k]);
    CHECK(std::abs(model.likeness() - (here - around) / (1 - around)) < 1e-5);
    model.learn_object(0.125, 0.5);
    for (size_t k = 0; k < 4; ++k) {
        const double distinct = std::max(contrast(now[k], std::max(ring[k], rival[k])), 0.0);
        object[k] += (0.125 + 0.5 * distinct) * (now[k] - object[k]);
        sum += object[k];
    }
    for (double& share : object) share /= sum;
    check(true);
    count({0, 0, 0, 0});
    CHECK(model.likeness() == 0);
}

TEST(the_observer_compares_a_window_with_its_ring) {
    const Film film(150, 200, 10);
    const ColourModel model = random_model(3);
    const WeightMap map(film, model);
    const TrackSettings settings;
    for (const Window& window : {Window{60.5, 50, 21, 14}, Window{8, 140.25, 30, 26.5},
                                 Window{100, 75, 90, 120}, Window{4, 4, 1, 1}}) {
        const double margin = std::max(0.5 * std::sqrt(window.w * window.h), 1.0);
        const double area = (window.w + 2 * margin) * (window.h + 2 * margin);
        const i64 step = static_cast<i64>(std::ceil(std::sqrt(area / 4000)));
        const double s = static_cast<double>(step);
        const i64 nw = round_to_one(window.w / s), nh = round_to_one(window.h / s);
        const i64 m = round_to_one(margin / s);
        const i64 x0 = round_half_up(window.x - s * static_cast<double>(nw + 2 * m) / 2) + step / 2;
        const i64 y0 = round_half_up(window.y - s * static_cast<double>(nh + 2 * m) / 2) + step / 2;
        const i64 tx = std::clamp<i64>(round_half_up(0.1 * static_cast<double>(nw)), 1, m);
        const i64 ty = std::clamp<i64>(round_half_up(0.1 * static_cast<double>(nh)), 1, m);
        Mean inside, ring, borders[4];
        ColourModel object = random_model(4), around = object, other_object = object, other_around = object;
        object.clear_counts();
        around.clear_counts();
        for (i64 j = 0; j < nh + 2 * m; ++j)
            for (i64 i = 0; i < nw + 2 * m; ++i) {
                const i64 x = x0 + i * step, y = y0 + j * step, u = i - m, v = j - m;
                const bool in_x = u >= 0 && u < nw, in_y = v >= 0 && v < nh, in = in_x && in_y;
                const i32 weight = map.at(y, x);
                (in ? inside : ring).add(weight);
                if (in_y && std::abs(2 * u + 1) < 2 * tx) borders[0].add(weight);
                if (in_y && std::abs(2 * (u - nw) + 1) < 2 * tx) borders[1].add(weight);
                if (in_x && std::abs(2 * v + 1) < 2 * ty) borders[2].add(weight);
                if (in_x && std::abs(2 * (v - nh) + 1) < 2 * ty) borders[3].add(weight);
                if (!map.holds(y, x)) continue;
                const uint16_t id = cells().of(film.frame, y, x);
                const double a = static_cast<double>(2 * u + 1 - nw) / static_cast<double>(nw);
                const double b = static_cast<double>(2 * v + 1 - nh) / static_cast<double>(nh);
                if (!in) around.count(id, 1);
                if (in && 1 - a * a - b * b > 0)
                    object.count(id, 1 + static_cast<u32>((1 - a * a - b * b) * 255));
            }
        Observer observer(cells(), settings);
        observer.read(film.frame, window, model);
        observer.measure(model);
        CHECK(std::abs(observer.contrast - (inside.value() - ring.value()) / 4096) < 1e-12);
        for (size_t k = 0; k < 4; ++k)
            CHECK(std::abs(observer.borders[k] - borders[k].value() / 4096) < 1e-12);
        observer.count_object(other_object);
        observer.count_ring(other_around);
        for (ColourModel* each : {&object, &other_object, &around, &other_around}) {
            each->start_object();
            each->update_weights();
        }
        CHECK(object.weights() == other_object.weights());
        CHECK(around.weights() == other_around.weights());
    }
}

TEST(selected_pixels_count_by_their_nearness_to_the_centre) {
    const Film film(30, 40, 11);
    const Rect rect{8, 5, 31, 22};
    const TrackSettings settings;
    std::vector<uint8_t> selected(static_cast<size_t>(rect.area()));
    ColourModel expected = random_model(5), counted = expected;
    expected.clear_counts();
    std::mt19937 random(6);
    for (i64 y = 0; y < rect.height(); ++y)
        for (i64 x = 0; x < rect.width(); ++x) {
            if (random() % 2) continue;
            selected[static_cast<size_t>(y * rect.width() + x)] = 1;
            const double u = static_cast<double>(2 * x + 1) / static_cast<double>(rect.width()) - 1;
            const double v = static_cast<double>(2 * y + 1) / static_cast<double>(rect.height()) - 1;
            const double near = std::max(1 - u * u - v * v, 0.0);
            expected.count(cells().of(film.frame, 5 + y, 8 + x), 1 + static_cast<u32>(near * 255 + 1e-9));
        }
    Observer(cells(), settings).count_selected(film.frame, rect, selected.data(), counted);
    CHECK(std::abs(counted.likeness() - expected.likeness()) < 1e-6);
    counted.start_object();
    expected.start_object();
    counted.update_weights();
    expected.update_weights();
    CHECK(counted.weights() == expected.weights());
}

TEST(half_a_step_of_a_weight_is_rounded_up) {
    ColourModel model(2, 0);
    const u32 half = 1 << 13;  // shares and contrasts are exact
    for (const u32 more : {half + 1, half - 1}) {
        model.clear_counts();
        model.count(0, more), model.count(1, 2 * half - more);
        more > half ? model.start_object() : model.learn_ring(1);
    }
    model.update_weights();
    CHECK((model.weights() == std::vector<i32>{1, 0, 0}));  // of 0.5, -0.5, and samples outside
}

TEST(a_window_is_the_pixels_nearest_to_it_in_the_frame) {
    CHECK(snap(1.0 / 128) == 1.0 / 64 && snap(-1.0 / 128) == 0 && snap(3.01) == 3.015625);
    CHECK(round_half_up(2.5) == 3 && round_half_up(-2.5) == -2 && round_to_one(0.2) == 1);
    const Rect inside = Window{10.5, 8, 5, 4}.pixels(20, 30);
    CHECK(inside.left == 8 && inside.right == 13 && inside.top == 6 && inside.bottom == 10);
    const Rect corner = Window{0.5, 19.5, 9, 7}.pixels(20, 30);
    CHECK(corner.left == 0 && corner.right == 5 && corner.top == 16 && corner.bottom == 20);
    const Rect outside = Window{40, -9, 2, 2}.pixels(20, 30);
    CHECK(outside.left == 29 && outside.right == 30 && outside.top == 0 && outside.bottom == 1);
    const Rect below = Window{-9, 40, 2, 2}.pixels(20, 30);
    CHECK(below.left == 0 && below.right == 1 && below.top == 19 && below.bottom == 20);
    Window window{10, 10, 4, 9};
    CHECK(window.mean_side() == 6);
    window.move(20, 30, 2.26, -3.01);
    CHECK(window.x == 12.265625 && window.y == 6.984375);
    window.move(20, 30, 99, 99);
    CHECK(window.x == 29.5 && window.y == 19.5);
    window.move(20, 30, -99, -99);
    CHECK(window.x == 0.5 && window.y == 0.5);
}
