// Colours and models that the tests of the robust tracker share.
#pragma once

#include "kernel/track/observer.hpp"
#include "track_input.hpp"

namespace track_input {

inline const std::array<double, 3> kSides{20, 8, 8};
inline const ColourCells& cells() {
    static const ColourCells all(kSides);
    return all;
}

// A model in which the object has the colours of one film and the ring those of another.
inline ColourModel random_model(unsigned seed) {
    ColourModel model(cells().size(), 6e-4);
    std::mt19937 random(seed);
    for (int part = 0; part < 2; ++part) {
        model.clear_counts();
        for (size_t k = 0; k < cells().size(); ++k)
            model.count(static_cast<uint16_t>(k), random() % 3 ? 0 : random() % 100);
        if (part == 0) model.start_object();
        if (part == 1) model.learn_ring(1);
    }
    model.update_weights();
    return model;
}

// The weight of each pixel, 0 outside the frame.
struct WeightMap {
    i64 height, width;
    std::vector<i32> weights;
    WeightMap(const Film& film, const ColourModel& model)
        : height(film.frame.height), width(film.frame.width) {
        for (i64 y = 0; y < height; ++y)
            for (i64 x = 0; x < width; ++x) weights.push_back(model.weights()[cells().of(film.frame, y, x)]);
    }
    bool holds(i64 y, i64 x) const { return y >= 0 && y < height && x >= 0 && x < width; }
    i32 at(i64 y, i64 x) const { return holds(y, x) ? weights[static_cast<size_t>(y * width + x)] : 0; }
};

struct Mean {
    double sum = 0, n = 0;
    void add(i32 weight) { sum += weight, ++n; }
    double value() const { return sum / n; }
};

}  // namespace track_input
