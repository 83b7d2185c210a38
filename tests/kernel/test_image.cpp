// image/: pieces and regions do not depend on the number of stripes, the tables slide exactly, and
// conversions of colours keep the laws.
#include "check.hpp"
#include "image_input.hpp"
#include "kernel/image/absorb.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/contrast.hpp"
#include "laws.hpp"

using namespace mspp;
using laws::check_polls, laws::each_caller, laws::kThreads;
using namespace image_input;

namespace {

// Images of a row, of a column and of a pixel, volumes, and stripes of one row.
const Shape kShapes[] = {{1, 1, 1},   {1, 1, 40}, {1, 40, 1}, {1, 7, 9},
                         {1, 12, 30}, {3, 4, 5},  {6, 1, 8},  {5, 3, 1}};

std::string note_of(const Shape& shape, int stripes) {
    return std::to_string(shape.depth) + " x " + std::to_string(shape.height) + " x " +
           std::to_string(shape.width) + " in " + std::to_string(stripes);
}

std::vector<i32> random_clusters(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<i32> clusters(static_cast<size_t>(shape.size()));
    for (i32& cluster : clusters) cluster = static_cast<i32>(random() % 4) - (seed % 2 ? 1 : 0);
    return clusters;
}

template <class Fn>
void each_case(Fn&& fn) {
    for (const Shape& shape : kShapes)
        for (unsigned seed = 0; seed < 6; ++seed)
            for (int stripes = 1; stripes <= std::min<i64>(shape.rows(), 9); ++stripes)
                fn(shape, random_clusters(shape, seed), stripes);
}

std::vector<u32> pieces_of(const std::vector<i32>& clusters, const Shape& shape, int stripes) {
    Pieces pieces = connected_pieces(clusters.data(), Stripes(shape, stripes));
    u32 count;
    const std::vector<u32> number = number_sets(pieces.sets, count);
    return pixels_of(pieces.parts, number);
}

}  // namespace

TEST(pieces_are_connected_components_for_every_number_of_stripes) {
    each_case([](const Shape& shape, const std::vector<i32>& clusters, int stripes) {
        CHECK_NOTE(pieces_of(clusters, shape, stripes) == flood_fill(clusters, shape),
                   note_of(shape, stripes));
    });
}

TEST(parts_that_meet_below_a_seam_are_one_piece) {
    const Shape shape{1, 4, 5};
    const std::vector<i32> clusters = {1, 0, 1, 0,  1,  //
                                       1, 0, 1, -1, 1,  //
                                       1, 0, 1, -1, 1,  //
                                       1, 1, 1, 0,  1};
    const std::vector<u32> expected = {0, 1, 0, 2,         3,  //
                                       0, 1, 0, kNoRegion, 3,  //
                                       0, 1, 0, kNoRegion, 3,  //
                                       0, 0, 0, 4,         3};
    for (int stripes = 1; stripes <= 4; ++stripes)
        CHECK_NOTE(pieces_of(clusters, shape, stripes) == expected, note_of(shape, stripes));
}

TEST(absorbing_does_not_depend_on_the_number_of_stripes) {
    each_case([](const Shape& shape, const std::vector<i32>& clusters, int n) {
        std::mt19937 random(7);
        std::vector<float> colours(3 * clusters.size());
        for (float& colour : colours) colour = static_cast<float>(random() % 1000) / 7.0f;
        auto regions_of = [&](int stripes_count, i64 min_size, std::vector<i64>& sizes) {
            const Stripes stripes(shape, stripes_count);
            Pieces pieces = connected_pieces(clusters.data(), stripes);
            Regions regions = Absorber(colours.data(), stripes, pieces).run(min_size);
            sizes = regions.sizes;
            return pixels_of(pieces.parts, regions.of_part);
        };
        for (const i64 min_size : {1, 3, 20, 10000}) {
            std::vector<i64> one, many, counted;
            const std::vector<u32> expected = regions_of(1, min_size, one);
            CHECK_NOTE(regions_of(n, min_size, many) == expected, note_of(shape, n));
            for (const u32 region : expected)
                if (region != kNoRegion) {
                    counted.resize(std::max<size_t>(counted.size(), region + 1));
                    ++counted[region];
                }
            CHECK(many == one && one == counted);
        }
    });
}

TEST(a_sliding_table_sums_rectangles_of_the_rows_that_it_keeps) {
    const i64 height = 20, kept = 6, left = 3, right = 14;
    auto value = [](i64 y, i64 x, int k) { return static_cast<i32>((y * 31 + x * 7 + k * 3) % 11) - 4; };
    SlidingTable<2> table;
    table.start(2, kept, left, right);
    while (table.next() < height) {
        const i64 y = table.next();
        table.add_row([&](i64 x, int k) { return value(y, x, k); });
        for (i64 top = std::max<i64>(2, y + 1 - kept); top <= y + 1; ++top)
            for (i64 from = left; from <= right; ++from) {
                i32 expected[2] = {};
                for (i64 row = top; row <= y; ++row)
                    for (i64 x = left; x < from; ++x)
                        for (int k = 0; k < 2; ++k) expected[k] += value(row, x, k);
                const auto sums = table.sum(top, y + 1, left, from);
                CHECK(static_cast<i32>(sums.of[0]) == expected[0] &&
                      static_cast<i32>(sums.of[1]) == expected[1]);
            }
    }
}

TEST(means_over_squares_are_those_of_the_columns_asked_for) {
    const Shape shape{1, 9, 12};
    auto value = [](i64 y, i64 x) { return static_cast<i32>((y * 31 + x * 7) % 64); };
    SlidingTable<1> table;
    table.start(0, shape.height, 0, shape.width);
    while (table.next() < shape.height) {
        const i64 y = table.next();
        table.add_row([&](i64 x, int) { return value(y, x); });
    }
    SquareMeans<false> means;
    const i64 radius = 2;
    for (const Range& columns : {Range{0, 5}, Range{0, 12}, Range{4, 12}, Range{4, 12}, Range{4, 9}}) {
        means.measure(table, shape, 4, radius, columns);
        for (i64 x = columns.begin; x < columns.end; ++x) {
            i32 sum = 0, n = 0;
            for (i64 row = 4 - radius; row <= 4 + radius; ++row)
                for (i64 at = std::max<i64>(x - radius, 0); at <= std::min<i64>(x + radius, 11); ++at, ++n)
                    sum += value(row, at);
            CHECK(means[x - columns.begin] == static_cast<float>(sum) * (1.0f / static_cast<float>(n)));
        }
    }
}

TEST(contrast_does_not_depend_on_the_number_of_threads) {
    const Shape shape{2, 300, 1500};
    std::mt19937 random(3);
    std::vector<float> colours(static_cast<size_t>(3 * shape.size()));
    for (float& colour : colours) colour = static_cast<float>(random() % 256) / 2.56f;
    std::vector<i32> clusters(static_cast<size_t>(shape.size()));
    for (i64 p = 0; p < shape.size(); ++p)
        clusters[p] =
            static_cast<i32>(p % shape.width / 90 + p / shape.width / 70 * 20) - (p % 9001 < 40 ? 999 : 0);
    const Pieces pieces = connected_pieces(clusters.data(), Stripes(shape, 1));
    const Contrast one = measure_contrast(colours.data(), pieces.parts, 1);
    for (const int n : {2, 7}) {
        const Contrast many = measure_contrast(colours.data(), pieces.parts, n);
        CHECK(many.texture == one.texture);
        for (i64 row = 1; row < shape.height; ++row)
            each_overlap(pieces.parts.row(row), pieces.parts.row(row - 1), {0, shape.width},
                         [&](const Run& a, const Run& b, i64 begin, i64 end) {
                             if (a.region == b.region) return;
                             for (i64 p = row * shape.width + begin; p < row * shape.width + end; ++p)
                                 CHECK(many.edge[p] == one.edge[p]);
                         });
    }
}

TEST(conversions_can_be_interrupted) {
    const i64 n = 300'000;
    const std::vector<uint8_t> bytes(static_cast<size_t>(3 * n), 7);
    const Points points{reinterpret_cast<const char*>(bytes.data()), Dtype::u8, n, 3, 3, 1};
    std::vector<float> colours(bytes.size());
    check_polls(3, [&](int threads) { convert(points, Space::lab, 255, colours.data(), threads); });
}

TEST(callers_convert_the_same_colours) {
    const i64 n = 150'000;
    std::vector<uint8_t> bytes(static_cast<size_t>(3 * n));
    std::mt19937 random(4);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const std::vector<double> numbers(bytes.begin(), bytes.end());
    const auto* byte_data = reinterpret_cast<const char*>(bytes.data());
    const auto* number_data = reinterpret_cast<const char*>(numbers.data());
    for (const Points& points : {Points{byte_data, Dtype::u8, n, 3, 3, 1},
                                 Points{number_data, Dtype::f64, n, 3, 3 * sizeof(double), sizeof(double)}})
        each_caller([&] {
            std::vector<float> colours(bytes.size());
            convert(points, Space::lab, 255, colours.data(), kThreads);
            return colours;
        });
}
