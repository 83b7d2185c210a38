// Both trackers: the window stays in the frame, the score between 0 and 1, and the mask in the window.
#include "input.hpp"
#include "kernel/track/follower.hpp"
#include "kernel/track/tracker.hpp"

using namespace fuzz;

namespace {

struct Film {
    i64 height, width;
    bool gaps;  // between pixels and channels
    std::vector<uint8_t> memory;

    // A background and a rectangle of two colours, with noise.
    Frame next(Input& input) {
        const i64 channel = gaps ? 2 : 1, column = 3 * channel + gaps, row = width * column + gaps;
        memory.assign(static_cast<size_t>(row * height), input.byte());
        const i64 left = input.whole(0, width - 1), top = input.whole(0, height - 1);
        const i64 right = input.whole(left, width), bottom = input.whole(top, height);
        const uint8_t colour = input.byte(), noise = input.byte() % 4 ? 0 : input.byte();
        for (i64 y = 0; y < height; ++y)
            for (i64 x = 0; x < width; ++x)
                for (i64 c = 0; c < 3; ++c) {
                    uint8_t& value = memory[static_cast<size_t>(y * row + x * column + c * channel)];
                    if (y >= top && y < bottom && x >= left && x < right)
                        value = static_cast<uint8_t>(colour << c);
                    if (noise) value = static_cast<uint8_t>(value + input.byte() % noise);
                }
        return {memory.data(), height, width, row, column, channel};
    }
};

template <class T>
void check(T& tracker, Input& input) {
    Film film{input.whole(1, 24), input.whole(1, 24), input.byte() % 4 == 0, {}};
    Frame frame = film.next(input);
    const i64 left = input.whole(0, film.width - 1), top = input.whole(0, film.height - 1);
    const Rect start{left, top, input.whole(left + 1, film.width), input.whole(top + 1, film.height)};
    std::vector<uint8_t> selected(static_cast<size_t>(start.area()));
    const bool some = input.flip();
    for (size_t k = 0; k < selected.size() && some; ++k) selected[k] = input.flip();
    tracker.init(frame, start, some ? selected.data() : nullptr);
    for (i64 k = input.whole(0, 6); k >= 0; --k) {
        const Rect w = tracker.window(film.height, film.width);
        REQUIRE(w.left >= 0 && w.top >= 0 && w.right <= film.width && w.bottom <= film.height);
        REQUIRE(w.width() > 0 && w.height() > 0);
        REQUIRE(tracker.score() >= 0 && tracker.score() <= 1);
        std::vector<uint8_t> mask(static_cast<size_t>(film.height * film.width));
        tracker.mask(frame, mask.data());
        for (i64 p = 0; p < film.height * film.width; ++p) {
            const i64 x = p % film.width, y = p / film.width;
            REQUIRE(mask[p] <= (x >= w.left && x < w.right && y >= w.top && y < w.bottom));
        }
        tracker.cells();
        if (k > 0) tracker.update(frame = film.next(input));
    }
}

// Made before the first run, because it takes longer than any.
const auto cells = std::make_shared<const ColourCells>(std::array<double, 3>{20, 20, 20});

}  // namespace

FUZZ(input) {
    const uint8_t kind = input.byte();
    if (kind % 4 == 0) {
        CellFollower follower({64, 100, 300}, kind & 4, kind & 8 ? 0.5 : 0.0, 20);
        return check(follower, input);
    }
    ColourTracker tracker(cells, kind & 8);
    check(tracker, input);
}
