// Algorithm 3 of the paper on a row of pixels: when the window stops.
#include "check.hpp"
#include "kernel/track/follower.hpp"
#include "track_input.hpp"

using namespace mspp;
using track_input::Film;

namespace {

// A grey row in which the object's pixels [begin, end) are red.
struct Row : Film {
    Row(i64 begin, i64 end) : Film(1, 40, 1) {
        fill(0, 0, 40, 1, {100, 100, 100});
        fill(begin, 0, end - begin, 1, {200, 40, 40});
    }
};

CellFollower started(double tol, int max_iter) {
    CellFollower follower({32, 32, 32}, false, tol, max_iter);
    follower.init(Row(10, 14).frame, {10, 0, 14, 1}, nullptr);
    return follower;
}

// The window sees one pixel of the object, then two, then three: its centre moves by 1.5, 0.5 and 0.5.
i64 left_after(double tol, int max_iter) {
    CellFollower follower = started(tol, max_iter);
    follower.update(Row(13, 21).frame);
    CHECK(follower.ok());
    return follower.window(1, 40).left;
}

}  // namespace

TEST(the_window_moves_at_most_so_many_times) {
    CHECK(left_after(0, 1) == 11);
    CHECK(left_after(0, 2) == 12);
}

TEST(the_window_stops_once_it_moves_less_than_the_tolerance) {
    CHECK(left_after(1.5, 100) == 12);  // a first step of just the tolerance is not the last
    CHECK(left_after(1.6, 100) == 11);
}

TEST(without_selected_pixels_the_score_is_0) {
    const Row row(10, 14);
    const std::vector<uint8_t> none(4);
    CellFollower follower({32, 32, 32}, false, 0, 10);
    follower.init(row.frame, {10, 0, 14, 1}, none.data());
    CHECK(follower.score() == 0);
    CHECK(started(0, 10).score() == 1);
}
