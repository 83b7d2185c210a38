// tree/: links, bridges, peaks and fronts against brute force.
#include <numeric>
#include <set>

#include "check.hpp"
#include "kernel/tree/front.hpp"
#include "kernel/tree/rules.hpp"
#include "tree_input.hpp"

using namespace mspp;
using namespace tree_input;

namespace {

// Centres with their windows, ranked by radius.
struct Scene {
    Cloud cloud;
    Leaves centres;
    Boxes boxes;
    Windows windows;
    std::vector<u32> rank;
    i64 shift;

    Scene(const Input& input, i64 mass, i64 limit)
        : cloud(sorted(input)),
          centres(make_leaves(cloud, Stretch(cloud, all_points(cloud)), limit)),
          boxes(centres, cloud.period),
          windows(make_windows(boxes, boxes, cloud.period, mass,
                               std::vector<double>(static_cast<size_t>(centres.size()), 0.0), false, 1)),
          rank(static_cast<size_t>(centres.size())),
          shift(Rules::link_shift(cloud.d)) {
        for (u32 i = 0; i < rank.size(); ++i)
            for (u32 k = 0; k < rank.size(); ++k)
                rank[i] += std::pair(windows.radius[k], k) < std::pair(windows.radius[i], i);
    }
    Scene(const Scene&) = delete;

    u32 size() const { return static_cast<u32>(rank.size()); }
    double squared(u32 a, u32 b) const { return squared_gap(centres, a, centres.position(b), cloud.period); }
    Links links(int n_threads = 1) const {
        return Links(boxes, cloud.period, windows, rank, shift, n_threads);
    }
    Peaks peaks() const { return Peaks(std::vector<Extent>(rank.size()), rank); }
};

using Pairs = std::set<std::pair<u32, u32>>;  // sparse, dense

Pairs short_pairs(const Links& links, u32 n) {
    Pairs pairs;
    for (u32 i = 0; i < n; ++i) links.each_short(i, [&](u32 dense) { pairs.insert({i, dense}); });
    return pairs;
}

// Every pair in the window is a short or a long link. Only pairs within the rounding of a float of a limit
// may be on either side of it.
void check_links(const Input& input) {
    Scene scene(input, 40, 3);
    const u32 n = scene.size();
    const Links links = scene.links();
    const Pairs short_links = short_pairs(links, n);
    CHECK(short_links == short_pairs(scene.links(3), n));
    std::vector<u32> apart(n);
    std::iota(apart.begin(), apart.end(), 0u);
    Pairs long_links;
    for (const Link& link : links.long_links(apart)) {
        CHECK(long_links.insert({link.sparse, link.dense}).second);
        const double squared = std::max(1.0, scene.squared(link.sparse, link.dense));
        const i64 level = std::max(scene.windows.radius[link.sparse], log2_units(squared) / 2 + scene.shift);
        CHECK(std::abs(link.level - level) <= 1);
    }
    const double stretch = exp2_units(2 * scene.shift);
    for (u32 i = 0; i < n; ++i)
        for (u32 k = 0; k < n; ++k) {
            const double squared = scene.squared(i, k), limit = scene.windows.square[i] / stretch;
            const double reach = scene.windows.reach[i];
            const bool is_short = short_links.contains({i, k}), is_long = long_links.contains({i, k});
            CHECK(!(is_short && is_long));
            if (scene.rank[k] >= scene.rank[i]) {
                CHECK(!is_short && !is_long);
                continue;
            }
            if (squared < std::max(reach, limit) * (1 - 1e-5)) CHECK(is_short || is_long);
            if (squared < limit * (1 - 1e-5)) CHECK(is_short);
            if (squared > limit * (1 + 1e-5)) CHECK(!is_short);
            if (squared > reach * (1 + 1e-5)) CHECK(!is_long);
        }
    scene.windows.near.clear();  // then the links are found without them
    CHECK(short_pairs(scene.links(), n) == short_links);
}

// The components of centres that links connect, named by their densest centre.
std::vector<u32> components(const std::vector<u32>& rank, const std::vector<Link>& links) {
    std::vector<u32> name(rank.size());
    std::iota(name.begin(), name.end(), 0u);
    for (const Link& link : links) {
        const u32 a = name[link.sparse], b = name[link.dense];
        std::replace(name.begin(), name.end(), rank[a] < rank[b] ? b : a, rank[a] < rank[b] ? a : b);
    }
    return name;
}

// The shortest link out of every component but the largest, in rounds, from all pairs.
std::vector<Pairs> bridges_of(const Scene& scene, std::vector<Link> links) {
    std::vector<Pairs> rounds;
    while (true) {
        const std::vector<u32> name = components(scene.rank, links);
        std::vector<i64> size(name.size());
        for (u32 each : name) ++size[each];
        const u32 largest = static_cast<u32>(std::max_element(size.begin(), size.end()) - size.begin());
        if (size[largest] == static_cast<i64>(name.size())) return rounds;
        rounds.emplace_back();
        for (u32 component = 0; component < name.size(); ++component) {
            if (size[component] == 0 || component == largest) continue;
            std::tuple<double, u32, u32> best{std::numeric_limits<double>::infinity(), 0, 0};
            for (u32 i = 0; i < name.size(); ++i)
                for (u32 k = 0; k < name.size(); ++k)
                    if (name[i] == component && name[k] != component)
                        best = std::min(best, std::tuple(scene.squared(i, k), i, k));
            auto [squared, i, k] = best;
            if (scene.rank[i] < scene.rank[k]) std::swap(i, k);
            rounds.back().insert({i, k});
            links.push_back({0, i, k});
        }
    }
}

void check_bridges(const Scene& scene, const std::vector<Link>& given) {
    const std::vector<Pairs> rounds = bridges_of(scene, given);
    std::vector<Link> links = given;
    scene.links().add_bridges(scene.peaks(), links);
    size_t k = given.size();
    for (const Pairs& expected : rounds) {
        Pairs found;  // two components may choose the same bridge
        for (; k < links.size() && expected.contains({links[k].sparse, links[k].dense}); ++k) {
            found.insert({links[k].sparse, links[k].dense});
            const double squared = std::max(1.0, scene.squared(links[k].sparse, links[k].dense));
            const i64 radius = scene.windows.radius[links[k].sparse];
            CHECK(std::abs(links[k].level - std::max(radius, log2_units(squared) / 2 + scene.shift)) <= 1);
        }
        CHECK(found == expected);
    }
    CHECK(k == links.size());
    const std::vector<u32> name = components(scene.rank, links);
    CHECK(std::count(name.begin(), name.end(), name[0]) == scene.size());
}

Extent make_extent(double weight) { return {weight, 2 * weight, 3 * weight, 5 * weight, 7 * weight}; }

bool equal(const Extent& a, const Extent& b) {
    return a.weight == b.weight && a.growth == b.growth && a.near == b.near && a.medium == b.medium &&
           a.wide == b.wide;
}

// Links at random levels, the lowest first, some of them twice.
std::vector<Link> make_links(std::mt19937_64& random, u32 n, size_t count) {
    std::vector<Link> links;
    for (size_t k = 0; k < count; ++k)
        links.push_back({static_cast<i64>(random() % 50), static_cast<u32>(random() % n),
                         static_cast<u32>(random() % n)});
    std::stable_sort(links.begin(), links.end(),
                     [](const Link& a, const Link& b) { return a.level < b.level; });
    return links;
}

// Checks every peak by the components before and after each link.
void check_peaks(Peaks& peaks, const std::vector<Link>& links, const std::vector<u32>& rank,
                 const std::vector<double>& weights) {
    const u32 n = static_cast<u32>(rank.size());
    auto weight_of = [&](const std::vector<u32>& name, u32 component) {
        double sum = 0;
        for (u32 i = 0; i < n; ++i) sum += name[i] == component ? weights[i] : 0;
        return sum;
    };
    std::vector<char> died(n);
    std::vector<u32> before = components(rank, {});
    for (size_t k = 0; k < links.size(); ++k) {
        const std::vector<u32> after =
            components(rank, {links.begin(), links.begin() + static_cast<i64>(k) + 1});
        const u32 a = before[links[k].sparse], b = before[links[k].dense];
        if (a != b) {
            const u32 dead = rank[a] < rank[b] ? b : a, kept = dead == a ? b : a;
            died[dead] = 1;
            CHECK(!peaks.alive(dead) && peaks.saddle(dead) == links[k].level);
            CHECK(peaks.attached(dead) == (dead == a ? links[k].dense : links[k].sparse));
            CHECK(peaks.other(dead) == weight_of(before, kept));
            CHECK(equal(peaks.extent(dead), make_extent(weight_of(before, dead))));
        }
        before = after;
    }
    for (u32 i = 0; i < n; ++i) {
        CHECK(peaks.find(i) == before[i] && peaks.alive(i) == !died[i]);
        if (!died[i]) CHECK(equal(peaks.extent(i), make_extent(weight_of(before, i))));
    }
}

// The number of windows along the border of b, from all pairs.
i64 front_of(const Scene& scene, u32 b, const std::vector<u32>& basin, i64 saddle) {
    const i64 limit = saddle + static_cast<i64>(std::log2(1.6) * (1 << kLogBits));
    const double reach = exp2_units(2 * (limit - scene.shift));
    std::vector<u32> picked;
    for (u32 i = 0; i < scene.size(); ++i) {
        bool wanted = false;
        for (u32 k = 0; k < scene.size(); ++k)
            wanted |= basin[i] == b && basin[k] != b && scene.squared(i, k) <= reach &&
                      std::max(scene.windows.radius[i], scene.windows.radius[k]) <= limit;
        for (u32 other : picked) wanted &= scene.squared(i, other) > 4 * scene.windows.square[i];
        if (wanted) picked.push_back(i);
    }
    return std::clamp<i64>(static_cast<i64>(picked.size()), 1, kLongestFrontLength);
}

}  // namespace

TEST(links_are_short_or_long) {
    for (const int d : {1, 2, 3, 6}) check_links(make_input(1, 600, d));
    for (const int d : {1, 2, 3}) check_links(make_input(2, 600, d, 5.5));
}

TEST(bridges_are_the_shortest_ways_out) {
    for (const int d : {1, 2, 3}) {
        Input input = make_blobs(4, 400, d, 40);
        for (const double period : {0.0, 160.0}) {
            input.period[0] = period;
            const Scene scene(input, 20, 2);
            check_bridges(scene, {});
            std::vector<Link> links;
            for (const auto& [sparse, dense] : short_pairs(scene.links(), scene.size()))
                links.push_back({scene.windows.radius[sparse], sparse, dense});
            CHECK(!bridges_of(scene, links).empty());
            check_bridges(scene, links);
        }
    }
}

TEST(peaks_die_where_they_meet_a_denser_one) {
    std::mt19937_64 random(3);
    for (const size_t count : {0, 20, 60, 200}) {
        const u32 n = 50;
        std::vector<u32> rank(n);
        std::iota(rank.begin(), rank.end(), 0u);
        std::shuffle(rank.begin(), rank.end(), random);
        std::vector<double> weights;
        std::vector<Extent> extents;
        for (u32 i = 0; i < n; ++i) {
            weights.push_back(static_cast<double>(1 + random() % 9));
            extents.push_back(make_extent(weights.back()));
        }
        const std::vector<Link> links = make_links(random, n, count);
        Peaks peaks(extents, rank);
        for (const Link& link : links) peaks.link(link.sparse, link.dense, link.level);
        check_peaks(peaks, links, rank, weights);

        std::vector<char> kept(n);
        for (u32 i = 0; i < n; ++i) kept[i] = peaks.alive(i) || random() % 4 == 0;
        const std::vector<u32> basin = peaks.basins(kept);
        for (u32 i = 0; i < n; ++i) {
            u32 x = i;
            while (!kept[x]) x = peaks.attached(x);
            CHECK(basin[i] == x);
        }
    }
}

TEST(fronts_are_those_of_brute_force) {
    std::set<i64> lengths;
    for (const int d : {1, 2, 3})
        for (const double period : {0.0, 11.0}) {
            const Scene scene(make_input(5, 1500, d, period), 20, 2);
            const Links links = scene.links();
            std::vector<u32> basin;  // slabs along the last axis
            for (u32 i = 0; i < scene.size(); ++i)
                basin.push_back(static_cast<u32>(scene.centres.position(i)[d - 1] / 200'000));
            std::vector<i64> radii = scene.windows.radius;
            std::sort(radii.begin(), radii.end());
            for (const u32 b : {0u, 2u, 3u})
                for (const size_t rank : {size_t{0}, radii.size() / 4, radii.size() / 2, radii.size() - 1}) {
                    const i64 length =
                        front_length(b, basin, scene.centres, scene.windows, links, radii[rank], scene.shift);
                    CHECK(length == front_of(scene, b, basin, radii[rank]));
                    lengths.insert(length);
                }
        }
    CHECK(lengths.size() >= 5 && lengths.contains(kLongestFrontLength));
}
