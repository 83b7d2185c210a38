// base/ and the small parts of cells/ and image/: the cell rule, sets, threads, memory, ranks, summed
// areas.
#include <numeric>
#include <random>

#include "check.hpp"
#include "kernel/base/cell_rule.hpp"
#include "kernel/base/disjoint_sets.hpp"
#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/rank.hpp"
#include "kernel/image/area_table.hpp"
#include "laws.hpp"

using namespace mspp;
using laws::check_polls;

TEST(the_cell_is_the_floor_of_the_quotient) {
    for (const double q :
         {0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1e9 + 0.25, -1e9 - 0.25, 0x1p51 - 0.5, -0x1p51 + 0.5})
        CHECK(cell_of(q) == std::floor(q));
    CHECK(cell_of(-1e-300) == -1);
    CHECK(quotient_of(49, 49) == 1);
    CHECK(has_cell(0x1p51 - 0.5) && !has_cell(0x1p51) && !has_cell(-0x1p51));
    CHECK(!has_cell(NAN) && !has_cell(INFINITY));
}

TEST(offsets_are_rounded_to_nearest_ties_to_even) {
    const double unit = 0x1p-32;
    CHECK(offset_of(3.25, 3) == u64{1} << 30);
    CHECK(offset_of(0.5 * unit, 0) == 0);
    CHECK(offset_of(1.5 * unit, 0) == 2);
    CHECK(offset_of(2.5 * unit, 0) == 2);
    CHECK(offset_of(-1e-300, -1) == u64{1} << 32);  // the very end of cell -1
}

TEST(the_tie_rule_adds_a_millionth_of_a_cell) {
    CHECK(kTieShift == std::ldexp(1.0, -kTieBits));
    CHECK(tie_shift(32) == u64{1} << 12);
    CHECK(nearest(2.5) == 2 && nearest(3.5) == 4 && nearest(0x1p50 + 0.75) == (u64{1} << 50) + 1);
}

TEST(the_smallest_number_represents_a_set) {
    DisjointSets sets(5);
    CHECK(sets.join(4, 2) == 2);
    CHECK(sets.join(4, 1) == 1);
    CHECK(sets.find(2) == 1 && sets.find(4) == 1 && sets.find(3) == 3);
    CHECK(sets.add() == 5 && sets.size() == 6);
    sets.attach(0, 5);
    CHECK(sets.find(0) == 5);
}

TEST(an_interrupt_ends_every_thread) {
    for (int n = 1; n <= 4; ++n)
        for (int busy = 0; busy < n; ++busy) {  // the other threads have nothing to do
            std::string caught;
            try {
                const Call call([] { throw std::runtime_error("interrupted"); });
                parallel(n, [&](int t) {
                    while (t == busy) poll();
                    if (t < busy) throw std::logic_error("an error of another thread");
                });
            } catch (const std::exception& error) {
                caught = error.what();
            }
            CHECK(caught == "interrupted");
        }
    poll();  // without a call, it does nothing
}

TEST(an_interrupt_ends_the_team_of_a_worker) {
    bool is_caught = false, has_gone_on = false;
    try {
        const Call call([] { throw std::runtime_error("interrupted"); });
        parallel(2, [&](int t) {
            while (t == 1) poll();  // the thread of the call
            parallel(2, [](int) {
                while (true) poll();
            });
            has_gone_on = true;
        });
    } catch (const std::runtime_error&) {
        is_caught = true;
    }
    CHECK(is_caught && !has_gone_on);
}

TEST(an_array_can_free_the_memory_of_another) {
    CHECK(Array<int>().get_allocator() == Array<int>().get_allocator());
}

TEST(the_error_of_the_first_thread_is_rethrown) {
    for (int n = 1; n <= 4; ++n) {
        std::string caught;
        try {
            parallel(n, [](int t) { throw std::runtime_error(std::to_string(t)); });
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CHECK(caught == "0");
    }
}

TEST(parts_cover_a_range) {
    for (const i64 size : {0, 1, 7, 1000})
        for (int n = 1; n <= 5; ++n) {
            i64 end = 0;
            for (int t = 0; t < n; ++t) {
                const Range range = part(size, t, n);
                CHECK(range.begin == end);
                end = range.end;
            }
            CHECK(end == size);
        }
}

TEST(ranks_by_sorting_and_by_bitmap_agree) {
    std::mt19937_64 random(0);
    for (const i64 m : {1, 100, 5000}) {
        std::vector<u64> keys;
        for (i64 i = 0; i < m; ++i) keys.push_back(random() % 3000);
        std::vector<u32> ranks(static_cast<size_t>(m));
        const i64 distinct = RadixSort().rank(keys.data(), m, ranks.data());
        BitRank bits;
        bits.reset(3000);
        for (const u64 key : keys) bits.mark(key);
        CHECK(bits.count() == distinct);
        for (i64 i = 0; i < m; ++i) CHECK(bits.rank_of(keys[i]) == ranks[i]);
    }
}

TEST(summed_areas_are_those_of_their_pixels) {
    std::mt19937 random(1);
    const i64 height = 7, width = 9, first = 2;
    std::vector<i32> pixels;
    for (i64 p = 0; p < height * width; ++p) pixels.push_back(static_cast<i32>(random() % 1000) - 500);
    AreaTable<1> table;
    table.build(first, height, width, [&](i64 y, i64 x, int) { return pixels[y * width + x]; });
    for (i64 top = first; top < height; ++top)
        for (i64 bottom = top + 1; bottom <= height; ++bottom)
            for (i64 left = 0; left < width; ++left)
                for (i64 right = left + 1; right <= width; ++right) {
                    i32 sum = 0;
                    for (i64 y = top; y < bottom; ++y)
                        for (i64 x = left; x < right; ++x) sum += pixels[y * width + x];
                    CHECK(static_cast<i32>(table.sum({left, top, right, bottom}).of[0]) == sum);
                }
}

TEST(clearing_memory_can_be_interrupted) {
    check_polls(4, [&](int) {
        Array<u64> zeros;
        assign_zeros(zeros, 300'000);
        CHECK(zeros.size() == 300'000 && zeros.front() == 0 && zeros.back() == 0);
    });
}
