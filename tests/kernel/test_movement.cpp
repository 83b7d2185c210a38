// seek/movement.hpp: the sum of distances is compared with the tolerance, in any order.
#include "check.hpp"
#include "kernel/seek/movement.hpp"

using namespace mspp;

static bool exceeds(double tol, const std::vector<double>& distances) {
    Movement moved(tol);
    for (const double distance : distances) moved.add(distance);
    return moved.exceeds();
}

TEST(distances_exceed_the_tolerance_together) {
    CHECK(!exceeds(0.5, {}));
    CHECK(!exceeds(0.5, {0, 0.25}) && !exceeds(0.5, {0.125, 0.125, 0.125, 0.1249}));
    CHECK(exceeds(0.5, {0.5}) && exceeds(0.5, {0.25, 0.25}) && exceeds(0.5, {0, 7, 0}));
    CHECK(!exceeds(8, {2, 2, 2}) && exceeds(8, {2, 2, 2, 2}));
}

TEST(any_movement_exceeds_a_tolerance_of_0) {
    CHECK(!exceeds(0, {0, 0}));
    CHECK(exceeds(0, {0, 1e-300, 0}));
}

TEST(movements_of_threads_add_up) {
    Movement first(1), second(1), none(1);
    first.add(0.5);
    second.add(0.25);
    first.add(second);
    CHECK(!first.exceeds());
    first.add(second);
    CHECK(first.exceeds());
    none.add(first);
    CHECK(none.exceeds());
    for (int k = 0; k < 100; ++k) {  // the sum saturates and does not wrap
        first.add(Movement(first));
        CHECK(first.exceeds());
    }
    Movement small(1);
    small.add(0.125);
    for (int k = 0; k < 100; ++k) small.add(first);
    CHECK(small.exceeds());
}
