// tree/cuts: which splits a cut undoes, and what is left.
#include "check.hpp"
#include "kernel/tree/grown.hpp"

using namespace mspp;

TEST(the_smallest_cluster_joins_across_its_densest_saddle) {
    // 0 - 1 is the densest border; 2 is the smallest cluster and joins 1, then 3 joins what they are.
    const std::vector<Meeting> meetings{{1, 0, 1.0}, {2, 0, 5.0}, {3, 1, 4.0}, {2, 1, 3.0}};
    CHECK(join_small({9, 8, 1, 2}, meetings, 1).empty());
    CHECK((join_small({9, 8, 1, 2}, meetings, 2) == std::vector<size_t>{3}));
    CHECK((join_small({9, 8, 1, 2}, meetings, 5) == std::vector<size_t>{3, 2}));
    CHECK((join_small({1, 1}, {{1, 0, 1.0}}, 5) == std::vector<size_t>{0}));
}

TEST(the_loosest_stage_is_undone_first_and_then_the_least_separation) {
    // 1 and 2 leave 0; 3 leaves 1, so 1 goes after it.
    const std::vector<Separation> splits{{1, 0, 0, 0, 1.0}, {2, 0, 0, 0, 9.0}, {3, 1, 1, 0, 2.0}};
    CHECK((weakest_first({50, 10, 10, 10}, splits) == std::vector<size_t>{2, 0, 1}));
    std::vector<Separation> staged = splits;
    staged[1].stage = 1;
    CHECK((weakest_first({50, 10, 10, 10}, staged) == std::vector<size_t>{1, 2, 0}));
    // Of equals, the younger cluster; and all clusters may divide, if another cut joined some.
    CHECK((weakest_first({5, 5, 5}, {{1, 0, 0, 0, 1.0}, {2, 0, 0, 0, 1.0}}) == std::vector<size_t>{1, 0}));
    CHECK((weakest_first({5, 5}, {{1, 1, 0, 0, 1.0}}) == std::vector<size_t>{0}));
}

TEST(undoing_splits_joins_both_sides_and_keeps_the_others) {
    Tree tree;
    tree.labels = {0, 1, 2, 3};
    tree.n_clusters = 4;
    for (const i64 k : {1, 2, 3}) {
        Split split{};
        split.cluster = k;
        split.parent = k - 1;
        split.joins = static_cast<u32>(k - 1);
        tree.splits.push_back(split);
    }
    undo(tree, {1});
    CHECK((tree.labels == std::vector<i64>{0, 1, 1, 3}));
    CHECK(tree.splits.size() == 2 && tree.splits[1].cluster == 3 && tree.splits[1].parent == 1);
    undo(tree, {0, 1});
    CHECK((tree.labels == std::vector<i64>(4, 0)) && tree.splits.empty());
}

TEST(leaves_are_light_and_lighter_where_parts_are_small) {
    CHECK(leaf_limit(100, 100) == 1);
    CHECK(leaf_limit(1e6, 1e6) == 7);  // windows of 250 rows
    CHECK(leaf_limit(1e6, 4e6) == 28);
    const std::vector<i64> even{0, 1, 0, 1}, weights{40, 40, 40, 40}, light{1, 60, 60, 60}, one{1, 0, 0, 0};
    CHECK(finer_limit(even.data(), weights.data(), 4, 160, 7) == 7);
    CHECK(finer_limit(one.data(), light.data(), 4, 181, 7) == 1);
    CHECK(finer_limit(one.data(), light.data(), 4, 18.1, 70) == 10);
}
