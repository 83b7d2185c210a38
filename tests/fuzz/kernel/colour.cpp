// Colours: values in range have finite colours, each pixel's own, for every number of threads.
#include "kernel/image/colour.hpp"

#include "input.hpp"

using namespace fuzz;

FUZZ(input) {
    const AnyPoints x(input, input.whole(0, 20), 3, [&] { return std::abs(input.finite(8.0)); });
    constexpr Space spaces[] = {Space::lab, Space::luv, Space::hsv, Space::rgb};
    const Space space = input.choice(spaces);
    const i64 n = x.points.n;
    double white = 1;
    for (i64 i = 0; i < n; ++i)
        for (int j = 0; j < 3; ++j) {
            if (x.at(i, j) < 0) return;  // Python rejects it
            white = std::max(white, x.at(i, j));
        }
    std::vector<float> colours(3 * static_cast<size_t>(n)), shared(colours), one(3);
    convert(x.points, space, white, colours.data(), 1);
    for (const float colour : colours) REQUIRE(std::abs(colour) < 1000);
    if (input.byte() % 8 == 0) {
        convert(x.points, space, white, shared.data(), 3);
        REQUIRE(shared == colours);
    }
    for (i64 i = 0; i < n; ++i) {
        Points pixel = x.points;
        pixel.data += i * pixel.row_stride;
        pixel.n = 1;
        convert(pixel, space, white, one.data(), 1);
        REQUIRE(std::equal(one.begin(), one.end(), &colours[3 * i]));
    }
}
