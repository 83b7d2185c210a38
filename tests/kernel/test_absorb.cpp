// image/absorb.hpp against a plain version, which looks at every pixel for each piece.
#include "check.hpp"
#include "image_input.hpp"
#include "kernel/image/absorb.hpp"

using namespace mspp;
using namespace image_input;

namespace {

using Colour = std::array<double, 3>;

double squared_distance(const Colour& a, const Colour& b) {
    double square = 0;
    for (int c = 0; c < 3; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
    return square;
}

Colour rounded(const Colour& colour) {
    Colour result;
    for (int c = 0; c < 3; ++c) result[c] = static_cast<float>(colour[c]);
    return result;
}

// Pieces are numbered by their first pixels; the colours are multiples of 2^-8, so their sums are exact.
class Plain {
  public:
    Plain(const Shape& shape, const std::vector<i32>& clusters, const std::vector<float>& colours,
          i64 min_size, const ReducedImage* picture)
        : of_pixel(flood_fill(clusters, shape)), shape_(shape), min_size_(min_size), picture_(picture) {
        for (i64 p = 0; p < shape.size(); ++p) {
            if (of_pixel[p] == kNoRegion) continue;
            sizes_.resize(std::max<size_t>(sizes_.size(), of_pixel[p] + 1));
            means_.resize(sizes_.size());
            ++sizes_[of_pixel[p]];
            for (int c = 0; c < 3; ++c) means_[of_pixel[p]][c] += colours[3 * p + c];
        }
        for (size_t k = 0; k < sizes_.size(); ++k)
            for (double& mean : means_[k]) mean /= static_cast<double>(sizes_[k]);
        std::vector<std::vector<u32>> of_size(static_cast<size_t>(min_size + 1));
        for (u32 k = 0; k < sizes_.size(); ++k)
            if (sizes_[k] < min_size) of_size[sizes_[k]].push_back(k);
        for (i64 size = 1; size < min_size; ++size)
            for (size_t k = 0; k < of_size[size].size(); ++k) {
                const u32 piece = of_size[size][k];
                if (sizes_[piece] != size) continue;
                const u32 other = nearest(piece);
                if (other == kNoRegion) continue;
                const u32 root = join(piece, other);
                if (sizes_[root] < min_size) of_size[sizes_[root]].push_back(root);
            }
    }

    std::vector<u32> of_pixel;

  private:
    u32 join(u32 piece, u32 other) {
        const u32 root = std::min(piece, other), absorbed = std::max(piece, other);
        const double share =
            static_cast<double>(sizes_[absorbed]) / static_cast<double>(sizes_[root] + sizes_[absorbed]);
        for (int c = 0; c < 3; ++c) means_[root][c] += (means_[absorbed][c] - means_[root][c]) * share;
        sizes_[root] += sizes_[absorbed];
        sizes_[absorbed] = 0;
        std::replace(of_pixel.begin(), of_pixel.end(), absorbed, root);
        return root;
    }

    u32 nearest(u32 piece) const {
        std::vector<u32> others;
        for (i64 p = 0; p < shape_.size(); ++p)
            if (of_pixel[p] == piece)
                for (const i64 q : around(shape_, p))
                    if (of_pixel[q] != piece && of_pixel[q] != kNoRegion) others.push_back(of_pixel[q]);
        std::sort(others.begin(), others.end());
        u32 best = kNoRegion;
        double least = HUGE_VAL;
        for (const u32 other : others) {
            double away = squared_distance(means_[piece], means_[other]);
            if (picture_ && away > 225) away = 225 + squared_distance(mean_around(piece), mean_around(other));
            if (away < least) best = other;
            least = std::min(least, away);
        }
        return best;
    }

    // Of a small piece, the mean of its box in the reduced picture, with a margin of 2 pixels of 481 x 321.
    Colour mean_around(u32 piece) const {
        if (sizes_[piece] >= min_size_) return rounded(means_[piece]);
        i64 left = INT64_MAX, top = INT64_MAX, right = 0, bottom = 0;
        for (i64 p = 0; p < shape_.size(); ++p) {
            if (of_pixel[p] != piece) continue;
            const i64 x = p % shape_.width / picture_->factor(), y = p / shape_.width / picture_->factor();
            left = std::min(left, x), right = std::max(right, x);
            top = std::min(top, y), bottom = std::max(bottom, y);
        }
        const i64 margin = picture_->scaled(2);
        Colour sum{};
        double count = 0;
        for (i64 y = std::max<i64>(top - margin, 0); y <= std::min(bottom + margin, picture_->height() - 1);
             ++y)
            for (i64 x = std::max<i64>(left - margin, 0);
                 x <= std::min(right + margin, picture_->width() - 1); ++x) {
                if (!picture_->inside(y, x)) continue;
                ++count;
                for (int c = 0; c < 3; ++c) sum[c] += picture_->at(y, x)[c];
            }
        for (double& each : sum) each /= count;
        return rounded(sum);
    }

    Shape shape_;
    i64 min_size_;
    const ReducedImage* picture_;
    std::vector<i64> sizes_;  // 0 for pieces that were absorbed
    std::vector<Colour> means_;
};

// Numbers of sets of pixels by their first pixels.
std::vector<u32> in_order(const std::vector<u32>& of_pixel) {
    std::vector<u32> number(of_pixel.size(), kNoRegion), result(of_pixel.size(), kNoRegion);
    u32 count = 0;
    for (size_t p = 0; p < of_pixel.size(); ++p) {
        if (of_pixel[p] == kNoRegion) continue;
        u32& each = number[of_pixel[p]];
        if (each == kNoRegion) each = count++;
        result[p] = each;
    }
    return result;
}

void check_absorbing(const Shape& shape, const std::vector<i32>& clusters, const std::vector<float>& colours,
                     i64 min_size, bool in_picture) {
    for (const int n : {1, 3}) {
        const Stripes stripes(shape, n);
        Pieces pieces = connected_pieces(clusters.data(), stripes);
        const ReducedImage picture(colours.data(), pieces.parts, 1);
        const ReducedImage* reduced = in_picture ? &picture : nullptr;
        const Regions regions = Absorber(colours.data(), stripes, pieces, reduced).run(min_size);
        const Plain plain(shape, clusters, colours, min_size, reduced);
        CHECK_NOTE(pixels_of(pieces.parts, regions.of_part) == in_order(plain.of_pixel),
                   std::to_string(n) + " stripes, pieces of " + std::to_string(min_size));
    }
}

// Clusters of random colours, of which some are alike, with noise.
std::vector<float> colours_of(const std::vector<i32>& clusters, std::mt19937& random) {
    std::vector<float> palette, colours;
    for (int k = 0; k < 3 * 9; ++k) palette.push_back(static_cast<float>(random() % 8 * 9));
    for (const i32 cluster : clusters)
        for (int c = 0; c < 3; ++c)
            colours.push_back(palette[3 * std::max(cluster, 0) + c] +
                              static_cast<float>(random() % 512) / 256.0f);
    return colours;
}

}  // namespace

TEST(small_pieces_join_the_nearest_colour) {
    for (unsigned seed = 0; seed < 12; ++seed)
        for (const Shape& shape : {Shape{1, 18, 25}, Shape{3, 7, 9}}) {
            std::mt19937 random(seed);
            std::vector<i32> clusters(static_cast<size_t>(shape.size()));
            for (i32& each : clusters) each = static_cast<i32>(random() % 9) - (seed % 3 == 0);
            const std::vector<float> colours = colours_of(clusters, random);
            for (const i64 min_size : {2, 5, 40}) {
                check_absorbing(shape, clusters, colours, min_size, false);
                if (shape.depth == 1) check_absorbing(shape, clusters, colours, min_size, true);
            }
        }
}

TEST(small_pieces_of_a_large_picture_join_by_the_colours_around) {
    const Shape shape{1, 700, 1000};  // reduced by 2
    for (unsigned seed = 0; seed < 2; ++seed) {
        std::mt19937 random(seed);
        std::vector<i32> clusters(static_cast<size_t>(shape.size()));
        for (i64 p = 0; p < shape.size(); ++p) clusters[p] = p % shape.width < 88 ? 0 : 1;
        for (int k = 0; k < 60; ++k) {  // rectangles side by side, some at the borders of the picture
            const i64 left = static_cast<i64>(random() % 6) * 16 + (k % 2 ? 40 : 905);
            const i64 top = static_cast<i64>(random() % 4) * 10 + (k % 3 ? 30 : 660);
            const i64 right = std::min(left + 17, shape.width), bottom = std::min(top + 11, shape.height);
            const i32 cluster = static_cast<i32>(random() % 7) - 1;
            for (i64 y = top; y < bottom; ++y)
                std::fill(&clusters[y * shape.width + left], &clusters[y * shape.width + right - 1] + 1,
                          cluster);
        }
        const std::vector<float> colours = colours_of(clusters, random);
        check_absorbing(shape, clusters, colours, 300, true);
    }
}

TEST(colours_at_the_limit_are_alike) {
    // The pixel in the middle is 15 away from the piece on its left, and its surroundings are like the rest.
    const Shape shape{1, 5, 5};
    std::vector<i32> clusters(25);
    std::vector<float> colours(75);
    clusters[10] = clusters[11] = 1, clusters[12] = 2;
    for (size_t p = 0; p < 25; ++p) colours[3 * p] = clusters[p] == 1 ? 0 : clusters[p] == 2 ? 15 : 31;
    check_absorbing(shape, clusters, colours, 2, true);
}
