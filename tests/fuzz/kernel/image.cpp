// The regions of an image: their labels fit the mask and the count, for every number of threads.
#include "input.hpp"
#include "kernel/image/hierarchy.hpp"

using namespace fuzz;

namespace {

// Trees that compare every feature.
MergeTable make_table() {
    constexpr i64 trees = 16;
    std::vector<uint8_t> features;
    std::vector<float> thresholds;
    std::vector<int16_t> values;
    for (i64 k = 0; k < trees * kTreeDepth; ++k) {
        features.push_back(static_cast<uint8_t>(k % kMergeFeatures));
        thresholds.push_back(static_cast<float>(k % 7) / 7);
    }
    for (i64 k = 0; k < trees * kTreeLeaves; ++k)
        values.push_back(static_cast<int16_t>(k * 7919 % 4001 - 2000));
    return {trees, features.data(), thresholds.data(), values.data(), 0};
}

const MergeTable table = make_table();

// Repeats each value of an image, so that its sides are long enough for the learned stage.
template <class T>
std::vector<T> enlarge(const std::vector<T>& image, const Shape& shape, i64 factor, i64 channels) {
    std::vector<T> result;
    for (i64 y = 0; y < shape.height * factor; ++y)
        for (i64 x = 0; x < shape.width * factor * channels; ++x)
            result.push_back(
                image[(y / factor * shape.width + x / channels / factor) * channels + x % channels]);
    return result;
}

// Colours in the range of Lab, with a pattern that has edges and texture.
std::vector<float> make_lab(const std::vector<float>& colours) {
    std::vector<float> lab;
    for (size_t k = 0; k < colours.size(); ++k)
        lab.push_back(std::clamp(colours[k] + static_cast<float>(k * k % 5), k % 3 ? -128.0f : 0.0f,
                                 k % 3 ? 127.0f : 100.0f));
    return lab;
}

}  // namespace

FUZZ(input) {
    Shape shape{input.byte() % 4 ? 1 : input.whole(1, 3), input.whole(1, 12), input.whole(1, 12)};
    size_t n = static_cast<size_t>(shape.size());
    const double largest = input.byte() < 250 ? 200 : 1e6;
    std::vector<i32> clusters(n);
    std::vector<float> colours(3 * n);
    for (size_t p = 0; p < n; ++p) {
        const uint8_t byte = input.byte();  // most pixels repeat the one before
        const bool repeat = p > 0 && byte % 2;
        clusters[p] = repeat ? clusters[p - 1] : static_cast<i32>(byte / 2 % 5) - 1;
        for (size_t c = 0; c < 3; ++c)
            colours[3 * p + c] =
                repeat ? colours[3 * p + c - 3] : static_cast<float>(4 * input.finite(largest / 4));
    }
    const std::array<double, 3> weights{input.choice({1.0, 0.0, 0.5}), input.choice({1.0, 0.0, 9.0}),
                                        input.choice({1.0, 0.0, 1e6})};
    const i64 min_size = input.whole(0, 20), least = input.whole(0, 20);
    const double limit = input.choice({1.0, 0.0, 1e9}), level = input.choice({1.0, 0.0, 0.1, 1e9});
    const i64 side = std::min(shape.height, shape.width);
    std::vector<float> lab;
    if (shape.depth == 1 && side >= 4 && input.byte() % 32 == 31) {
        const i64 factor = (64 + side - 1) / side;
        colours = enlarge(colours, shape, factor, 3);
        clusters = enlarge(clusters, shape, factor, 1);
        shape = {1, shape.height * factor, shape.width * factor};
        n = clusters.size();
        lab = make_lab(colours);
    }
    const Learned learned = lab.empty() ? Learned{} : Learned{&table, lab.data(), nullptr};
    auto cut = [&](i64 smallest, int threads) {
        const Hierarchy tree(colours.data(), clusters.data(), shape, weights, min_size, limit, learned,
                             threads);
        std::vector<i32> labels(n);
        tree.cut(colours.data(), tree.count(level), smallest, labels.data(), threads);
        if (smallest <= 1) REQUIRE(tree.count(level) == *std::max_element(labels.begin(), labels.end()) + 1);
        return labels;
    };
    const std::vector<i32> labels = cut(least, 1);
    std::vector<i64> sizes(static_cast<size_t>(*std::max_element(labels.begin(), labels.end()) + 1));
    for (size_t p = 0; p < n; ++p) {
        REQUIRE((labels[p] < 0) == (clusters[p] < 0));
        if (labels[p] >= 0) ++sizes[static_cast<size_t>(labels[p])];
    }
    REQUIRE(std::is_sorted(sizes.rbegin(), sizes.rend()) && std::count(sizes.begin(), sizes.end(), 0) == 0);
    if (least > 1) cut(0, 1);
    if (input.byte() % 8 == 0) REQUIRE(cut(least, 3) == labels);
}
