// The regions of an image: their labels fit the mask and the count, for every number of threads.
#include "input.hpp"
#include "kernel/image/hierarchy.hpp"

using namespace fuzz;

FUZZ(input) {
    const Shape shape{input.byte() % 4 ? 1 : input.whole(1, 3), input.whole(1, 12), input.whole(1, 12)};
    const size_t n = static_cast<size_t>(shape.size());
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
    auto cut = [&](i64 smallest, int threads) {
        const Hierarchy tree(colours.data(), clusters.data(), shape, weights, min_size, limit, {}, threads);
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
