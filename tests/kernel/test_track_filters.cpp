// The correlation filters of the robust tracker, against transforms and sums in double precision.
#include <algorithm>
#include <complex>
#include <numbers>

#include "check.hpp"
#include "kernel/track/shape_filter.hpp"
#include "kernel/track/size_filter.hpp"
#include "track_input.hpp"

using namespace mspp;
using track_input::Film;

namespace {

using Complex = std::complex<double>;
constexpr i64 n = kMapSide;

Complex root(double turns) { return std::polar(1.0, 2 * std::numbers::pi * turns); }

// The spectrum (v, u) of a map (y, x), by the definition; sign 1 for the inverse.
std::vector<Complex> transformed(const std::vector<Complex>& map, double sign = -1) {
    std::vector<Complex> rows(map.size()), all(map.size());
    for (i64 y = 0; y < n; ++y)
        for (i64 u = 0; u < n; ++u)
            for (i64 x = 0; x < n; ++x)
                rows[y * n + u] += map[y * n + x] * root(sign * static_cast<double>(u * x % n) / n);
    for (i64 v = 0; v < n; ++v)
        for (i64 u = 0; u < n; ++u)
            for (i64 y = 0; y < n; ++y)
                all[v * n + u] += rows[y * n + u] * root(sign * static_cast<double>(v * y % n) / n);
    return all;
}

i64 reversed_bits(i64 k) {
    i64 out = 0;
    for (i64 bit = 1; bit < n; bit *= 2) out = 2 * out + (k & bit ? 1 : 0);
    return out;
}

// Edge cells by the definition: interpolation, differences and directions in double precision.
template <i64 kCells, i64 kPer>
std::vector<std::vector<double>> edge_cells(const Film& film, double cx, double cy, double side_x,
                                            double side_y) {
    constexpr i64 samples = kCells * kPer;
    auto light = [&](i64 j, i64 i) {  // samples have numbers from -1 on
        auto place = [](double centre, double side, i64 k, i64 size) {
            const double at = centre - 0.5 + (static_cast<double>(k) + 0.5 - samples / 2.0) * side / samples;
            return std::clamp(std::floor(at * 64 + 1e-9) / 64, 0.0, static_cast<double>(size - 1));
        };
        const double x = place(cx, side_x, i, film.frame.width), y = place(cy, side_y, j, film.frame.height);
        const i64 left = static_cast<i64>(x), top = static_cast<i64>(y);
        const double dx = x - std::floor(x), dy = y - std::floor(y);
        return (1 - dy) * ((1 - dx) * film.near(top, left, 1) + dx * film.near(top, left + 1, 1)) +
               dy * ((1 - dx) * film.near(top + 1, left, 1) + dx * film.near(top + 1, left + 1, 1));
    };
    std::vector<std::vector<double>> cells(8, std::vector<double>(kCells * kCells));
    for (i64 j = 0; j < samples; ++j)
        for (i64 i = 0; i < samples; ++i) {
            const double dx = light(j, i + 1) - light(j, i - 1), dy = light(j + 1, i) - light(j - 1, i);
            const double turn = std::fmod(std::atan2(dy, dx) / std::numbers::pi * 8 + 16, 8);
            const i64 before = static_cast<i64>(turn), cell = j / kPer * kCells + i / kPer;
            const double strength = std::hypot(dx, dy), after = turn - std::floor(turn);
            cells[before % 8][cell] += strength * (1 - after);
            cells[(before + 1) % 8][cell] += strength * after;
        }
    std::vector<double> energy(kCells * kCells);
    for (const auto& plane : cells)
        for (size_t k = 0; k < energy.size(); ++k) energy[k] += plane[k] * plane[k];
    auto scaled = cells;
    for (i64 y = 0; y < kCells; ++y)
        for (i64 x = 0; x < kCells; ++x) {
            double around = 0;
            for (i64 v = y - 1; v <= y + 1; ++v)
                for (i64 u = x - 1; u <= x + 1; ++u)
                    around += energy[std::clamp<i64>(v, 0, kCells - 1) * kCells +
                                     std::clamp<i64>(u, 0, kCells - 1)];
            const double floor = 4 * kPer * kPer, scale = std::sqrt(around / 9 + floor * floor);
            for (auto& plane : scaled) plane[y * kCells + x] = std::min(plane[y * kCells + x] / scale, 0.4);
        }
    return scaled;
}

double fade(i64 k, i64 size) {
    return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) / size);
}

// The spectra of the six maps of the patch around a window, by the definition.
std::vector<std::vector<Complex>> patch_spectra(const Film& film, const Window& window) {
    const double side = 2.5 * window.mean_side();
    using Axis = SampleAxis<2 * n + 2>;
    const Axis xs(window.x, side, film.frame.width, 1), ys(window.y, side, film.frame.height, 1);
    // The edges are tested below; here they are the kernel's own, so that the rest can be compared closely.
    EdgeCells<n, 2> edges;
    typename EdgeCells<n, 2>::Planes planes;
    edges.read(film.frame, {window.x, side, film.frame.width, film.frame.column},
               {window.y, side, film.frame.height, film.frame.row}, planes);
    std::vector<std::vector<double>> maps(12, std::vector<double>(kMapSize));
    for (size_t c = 0; c < 8; ++c) std::copy(planes[c].begin(), planes[c].end(), maps[c].begin());
    for (size_t c = 0; c < 3; ++c) {
        double mean = 0;
        for (i64 y = 0; y < n; ++y)
            for (i64 x = 0; x < n; ++x)
                for (i64 j = 2 * y + 1; j < 2 * y + 3; ++j)
                    for (i64 i = 2 * x + 1; i < 2 * x + 3; ++i) {
                        const int green = film.value(ys.offset[j], xs.offset[i], 1);
                        const int other = film.value(ys.offset[j], xs.offset[i], c == 1 ? 0 : 2);
                        const double value = (c == 0 ? green : other - green) / 1020.0;
                        maps[8 + c][y * n + x] += value;
                        mean += value / kMapSize;
                    }
        for (double& value : maps[8 + c]) value -= mean;
    }
    std::vector<std::vector<Complex>> spectra;
    for (size_t c = 0; c < 6; ++c) {
        std::vector<Complex> map(kMapSize);
        for (i64 y = 0; y < n; ++y)
            for (i64 x = 0; x < n; ++x)
                map[y * n + x] =
                    fade(y, n) * fade(x, n) * Complex(maps[2 * c][y * n + x], maps[2 * c + 1][y * n + x]);
        spectra.push_back(transformed(map));
    }
    return spectra;
}

}  // namespace

TEST(a_forward_transform_is_transposed_with_reversed_bits) {
    std::mt19937 random(1);
    ComplexMap map;
    std::vector<Complex> plain(kMapSize);
    for (i64 k = 0; k < kMapSize; ++k) {
        map.re[k] = static_cast<float>(random() % 200) - 100, map.im[k] = static_cast<float>(random() % 99);
        plain[k] = {map.re[k], map.im[k]};
    }
    const Fourier fourier;
    fourier.forward(map);
    const std::vector<Complex> spectrum = transformed(plain);
    for (i64 v = 0; v < n; ++v)
        for (i64 u = 0; u < n; ++u) {
            const i64 at = reversed_bits(u) * n + reversed_bits(v);
            CHECK(std::abs(Complex(map.re[at], map.im[at]) - spectrum[v * n + u]) < 0.05);
        }
    fourier.inverse(map);
    for (i64 k = 0; k < kMapSize; ++k)
        CHECK(std::abs(Complex(map.re[k], map.im[k]) / double{kMapSize} - plain[k]) < 1e-3);
}

TEST(samples_along_an_axis_are_evenly_spaced_within_the_frame) {
    constexpr i64 count = 34;
    for (const double step : {0.03125, 0.5, 1.0, 2.25})
        for (const double centre : {0.5, 13.0, 40.25, 79.5}) {
            const SampleAxis<count> axis(centre, step * (count - 2), 80, 7);
            for (i64 k = 0; k < count; ++k) {
                const double at = centre - 0.5 + (static_cast<double>(k) - (count - 1) / 2.0) * step;
                const double place = static_cast<double>(axis.offset[k]) / 7 + axis.part[k] / 64.0;
                CHECK(axis.offset[k] % 7 == 0 && axis.offset[k] <= 78 * 7 && axis.part[k] >= 0);
                CHECK(axis.part[k] < 64 || axis.offset[k] == 78 * 7);
                CHECK(place == std::clamp(at, 0.0, 79.0));
            }
        }
    const SampleAxis<count> narrow(0.5, 9, 1, 7);  // a single pixel
    for (i64 k = 0; k < count; ++k) CHECK(narrow.offset[k] == 0 && narrow.part[k] == 0);
}

TEST(edge_cells_hold_the_edges_of_each_direction) {
    for (const int coarse : {1, 5}) {
        const Film film(60, 70, 3, coarse);
        for (const auto& [cx, cy, side_x, side_y] :
             {std::array<double, 4>{35, 30, 48, 48}, {30.25, 20.5, 96, 24}, {2, 55, 24, 36}}) {
            EdgeCells<6, 4> edges;
            typename EdgeCells<6, 4>::Planes cells;
            edges.read(film.frame, {cx, side_x, 70, film.frame.column}, {cy, side_y, 60, film.frame.row},
                       cells);
            const auto expected = edge_cells<6, 4>(film, cx, cy, side_x, side_y);
            for (size_t c = 0; c < 8; ++c)
                for (size_t k = 0; k < 36; ++k) CHECK(std::abs(cells[c][k] - expected[c][k]) < 0.012);
        }
    }
    const Film pixel(1, 1, 3);
    EdgeCells<6, 4> edges;
    typename EdgeCells<6, 4>::Planes cells;
    edges.read(pixel.frame, {0.5, 5, 1, 2}, {0.5, 5, 1, 7}, cells);
    for (const auto& plane : cells)
        CHECK(std::all_of(plane.begin(), plane.end(), [](float v) { return v == 0; }));
}

TEST(the_shape_filter_answers_with_the_learned_peak) {
    const TrackSettings settings;
    const Film first(90, 100, 4, 3), second(90, 100, 5, 3), third(90, 100, 6, 3);
    const Window window{52, 44.5, 20, 16};
    ShapeFilter filter(settings);
    filter.start(first.frame, window);
    filter.learn(second.frame, window, 0.25);
    filter.respond(third.frame, window);

    std::vector<Complex> peak(kMapSize);
    const double width = 0.1 * n / 2.5;
    for (i64 y = 0; y < n; ++y)
        for (i64 x = 0; x < n; ++x) {
            const double dx = static_cast<double>(std::min(x, n - x)),
                         dy = static_cast<double>(std::min(y, n - y));
            peak[y * n + x] = std::exp(-(dx * dx + dy * dy) / (2 * width * width));
        }
    peak = transformed(peak);
    const auto one = patch_spectra(first, window), two = patch_spectra(second, window),
               now = patch_spectra(third, window);
    std::vector<double> power(kMapSize), first_power(kMapSize);
    double ridge = 0;
    for (i64 k = 0; k < kMapSize; ++k) {
        for (size_t c = 0; c < 6; ++c) {
            first_power[k] += std::norm(one[c][k]);
            power[k] += 0.75 * std::norm(one[c][k]) + 0.25 * std::norm(two[c][k]);
        }
        ridge += 0.01 * first_power[k] / kMapSize;
    }
    std::vector<Complex> response(kMapSize);
    for (i64 k = 0; k < kMapSize; ++k)
        for (size_t c = 0; c < 6; ++c) {
            const Complex learned = 0.75 * one[c][k] + 0.25 * two[c][k];
            const Complex mixed =
                0.7 * learned / (power[k] + ridge) + 0.3 * one[c][k] / (first_power[k] + ridge);
            response[k] += peak[k] * std::conj(mixed) * now[c][k] / double{kMapSize};
        }
    response = transformed(response, 1);
    double highest = -1;
    for (const Complex& value : response) highest = std::max(highest, value.real());
    CHECK(std::abs(filter.peak - highest) < 1e-4);

    // At whole cells the responses are those of the map; between them, Catmull and Rom's spline.
    auto spline = [](double t, const std::array<double, 4>& p) {
        return p[1] +
               0.5 * t *
                   (p[2] - p[0] +
                    t * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3] + t * (3 * (p[1] - p[2]) + p[3] - p[0])));
    };
    const double cell = 2.5 * window.mean_side() / n;
    for (const double step : {1.0, 0.3}) {
        std::vector<float> read;
        const i64 across = 41, along = 37;
        filter.read_responses(-20 * step * cell, -18 * step * cell, step * cell, across, along, read);
        for (i64 j = 0; j < along; ++j)
            for (i64 i = 0; i < across; ++i) {
                const double x = static_cast<double>(i - 20) * step, y = static_cast<double>(j - 18) * step;
                const i64 u = static_cast<i64>(std::floor(x + 1e-9)),
                          v = static_cast<i64>(std::floor(y + 1e-9));
                std::array<double, 4> rows{};
                for (i64 b = 0; b < 4; ++b) {
                    std::array<double, 4> p;
                    for (i64 a = 0; a < 4; ++a)
                        p[a] = response[((v - 1 + b) & (n - 1)) * n + ((u - 1 + a) & (n - 1))].real();
                    rows[b] = spline(std::max(x - static_cast<double>(u), 0.0), p);
                }
                const bool inside = u >= -n / 2 && u < n / 2 && v >= -n / 2 && v < n / 2;
                const double expected = inside ? spline(std::max(y - static_cast<double>(v), 0.0), rows) : 0;
                const double got = read[j * across + i];
                CHECK(std::abs(got - expected) < 2e-4);
            }
    }
}

TEST(the_size_filter_answers_with_the_scale_of_the_highest_response) {
    constexpr i64 scales = 17, middle = scales / 2, values = 6 * 6 * 8;
    const TrackSettings settings;
    using Spectrum = std::vector<Complex>;  // (frequency, value)
    auto spectrum_of = [&](const Film& film, const Window& window) {
        Spectrum spectrum(scales * values);
        EdgeCells<6, 4> edges;
        typename EdgeCells<6, 4>::Planes cells;
        for (i64 k = 0; k < scales; ++k) {
            const double scale = std::pow(1.03, static_cast<double>(k - middle));
            edges.read(film.frame, {window.x, window.w * scale, film.frame.width, film.frame.column},
                       {window.y, window.h * scale, film.frame.height, film.frame.row}, cells);
            for (i64 f = 0; f < scales; ++f)
                for (i64 d = 0; d < values; ++d)
                    spectrum[f * values + d] += fade(k, scales) * double{cells[d / 36][d % 36]} *
                                                root(-static_cast<double>(f * (k - middle)) / scales);
        }
        return spectrum;
    };
    // Learns a window of two films, then looks for it around a window of a third.
    auto check = [&](const Film& start, const Film& next, const Window& first, const Film& last,
                     const Window& window) {
        SizeFilter filter(settings);
        filter.start(start.frame, first);
        filter.learn(next.frame, first, 0.125);
        const Spectrum one = spectrum_of(start, first), two = spectrum_of(next, first),
                       now = spectrum_of(last, window);
        std::array<double, scales> power{}, peak{}, response{};
        double ridge = 0;
        for (i64 f = 0; f < scales; ++f) {
            double first_power = 0;
            for (i64 d = f * values; d < (f + 1) * values; ++d) {
                first_power += std::norm(one[d]);
                power[f] += 0.875 * std::norm(one[d]) + 0.125 * std::norm(two[d]);
            }
            if (f <= middle) ridge += 0.1 * first_power / (middle + 1);
            for (i64 k = -middle; k <= middle; ++k)
                peak[f] += std::exp(-static_cast<double>(k * k) / 2) *
                           root(static_cast<double>(f * k) / scales).real();
        }
        for (i64 f = 0; f < scales; ++f) {
            Complex sum = 0;
            for (i64 d = f * values; d < (f + 1) * values; ++d)
                sum += std::conj(peak[f] * (0.875 * one[d] + 0.125 * two[d])) * now[d];
            for (i64 k = 0; k < scales; ++k)
                response[k] += (sum * root(static_cast<double>(f * (k - middle)) / scales)).real() /
                               (scales * (power[f] + ridge));
        }
        const i64 best = std::max_element(response.begin(), response.end()) - response.begin();
        double at = static_cast<double>(best - middle);
        if (best > 0 && best < scales - 1)
            at += (response[best - 1] - response[best + 1]) /
                  (2 * (response[best - 1] - 2 * response[best] + response[best + 1]));
        CHECK(std::abs(filter.find(last.frame, window) - std::pow(1.03, at)) < 1e-4);
        return best;
    };
    const Film films[] = {Film(90, 100, 4, 6), Film(90, 100, 5, 6)};
    for (const double size : {1.0, 1.1, 0.87, 1.4})
        check(films[0], films[1], {52, 44.5, 40, 36}, films[0], {52, 44.5, 40 * size, 36 * size});
    // Squares whose edges only the widest of the windows reach answer with the first or last scale.
    auto check_square = [&](i64 learned, i64 shown) {
        Film one(80, 80, 1, 80), other(80, 80, 1, 80);
        one.fill(40 - learned / 2, 40 - learned / 2, learned, learned, {200, 30, 30});
        other.fill(40 - shown / 2, 40 - shown / 2, shown, shown, {200, 30, 30});
        const double side = static_cast<double>(learned);
        return check(one, one, {40, 40, side, side}, other, {40, 40, side, side});
    };
    CHECK(check_square(20, 26) == scales - 1);
    CHECK(check_square(22, 30) == 0);
    const Film flat(50, 50, 1, 50);  // no edges, no response
    SizeFilter filter(settings);
    filter.start(flat.frame, {25, 25, 10, 10});
    CHECK(filter.find(flat.frame, {25, 25, 10, 10}) == 1);
}
