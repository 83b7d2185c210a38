// tree/: basins, links, bridges, peaks and fronts against brute force.
#include <map>
#include <numeric>
#include <set>

#include "check.hpp"
#include "kernel/tree/bridges.hpp"
#include "kernel/tree/front.hpp"
#include "kernel/tree/rules.hpp"
#include "tree_input.hpp"

using namespace mspp;
using namespace tree_input;

namespace {

// Leaves with their windows and links.
struct Scene {
    Cloud cloud;
    Leaves leaves;
    Surroundings all;
    const Windows& windows;
    i64 shift;
    Links links;
    std::vector<u32> rank;

    Scene(const Input& input, i64 mass, i64 limit, int n_threads = 1)
        : cloud(sorted(input)),
          leaves(make_leaves(cloud, limit)),
          all(leaves, cloud.period, {mass}, near_loops(), n_threads),
          windows(all.windows()[0]),
          shift(Rules::link_shift(cloud.d)),
          links(all, windows, shift, n_threads),
          rank(links.size()) {
        for (u32 i = 0; i < rank.size(); ++i)
            for (u32 k = 0; k < rank.size(); ++k)
                rank[i] += std::pair(windows.radius[k], k) < std::pair(windows.radius[i], i);
    }
    Scene(const Scene&) = delete;

    u32 size() const { return static_cast<u32>(rank.size()); }
    float squared(u32 a, u32 b) const { return all.boxes().squared_distance(a, b); }
    bool is_short(u32 i, u32 k) const { return squared(i, k) <= windows.square[i] / exp2_units(2 * shift); }
    i32 level(u32 sparse, u32 dense) const {
        const i64 length = log2_units(std::max(1.0f, squared(sparse, dense))) / 2 + shift;
        return std::max(windows.radius[sparse], static_cast<i32>(length));
    }
    // The denser leaves that a leaf is linked to, nearest first; the densest of them before all others.
    std::vector<u32> short_links(u32 i) const {
        std::vector<std::pair<float, u32>> found;
        for (u32 k = 0; k < size(); ++k)
            if (rank[k] < rank[i] && is_short(i, k)) found.push_back({squared(i, k), k});
        std::sort(found.begin(), found.end());
        std::vector<u32> result;
        for (const auto& [distance, k] : found) result.push_back(k);
        const auto densest =
            std::min_element(result.begin(), result.end(), [&](u32 a, u32 b) { return rank[a] < rank[b]; });
        if (densest != result.end()) std::rotate(result.begin(), densest, densest + 1);
        return result;
    }
};

// Components of leaves, by all links in turn; named by their densest leaf.
struct Components {
    const Scene& scene;
    std::vector<u32> name;
    std::vector<i64> weight;  // of those that have joined so far
    struct Death {
        i32 level;
        i64 weight, other;
        bool operator==(const Death&) const = default;
    };
    std::map<u32, Death> deaths;  // by the densest leaf

    explicit Components(const Scene& scene) : scene(scene), name(scene.size()), weight(scene.size(), 0) {
        std::iota(name.begin(), name.end(), 0u);
    }
    void add(u32 i) { weight[name[i]] += scene.leaves.weights[i]; }
    void link(u32 i, u32 j, i32 level) {
        u32 a = name[i], b = name[j];
        if (a == b) return;
        if (scene.rank[a] > scene.rank[b]) std::swap(a, b);
        deaths[b] = {level, weight[b], weight[a]};
        weight[a] += weight[b];
        std::replace(name.begin(), name.end(), b, a);
    }
    void run(const std::vector<Link>& more) {
        std::vector<u32> order(scene.size());
        for (u32 i = 0; i < order.size(); ++i) order[scene.rank[i]] = i;
        size_t k = 0;
        for (const u32 i : order) {
            for (; k < more.size() && more[k].level < scene.windows.radius[i]; ++k)
                link(more[k].sparse, more[k].dense, more[k].level);
            const std::vector<u32> links = scene.short_links(i);
            if (links.empty()) add(i);
            for (size_t l = 0; l < links.size(); ++l) {
                link(i, links[l], scene.windows.radius[i]);
                if (l == 0) add(i);
            }
        }
        for (; k < more.size(); ++k) link(more[k].sparse, more[k].dense, more[k].level);
    }
};

// Peaks have the saddles and weights of all links, although most links are left out.
void check_peaks(const Scene& scene, const std::vector<Link>& more) {
    Components expected(scene);
    expected.run(more);
    Peaks peaks(scene.links, more);
    size_t died = 0;
    for (u32 b = 0; b < peaks.size(); ++b) {
        const u32 top = scene.links.tops()[b];
        CHECK(b == 0 || scene.rank[scene.links.tops()[b - 1]] < scene.rank[top]);
        if (peaks.alive(b)) {
            CHECK(!expected.deaths.contains(top) && peaks.weight(b) == expected.weight[top]);
            continue;
        }
        ++died;
        const Components::Death death = expected.deaths.at(top);
        CHECK(peaks.saddle(b) == death.level && peaks.weight(b) == death.weight);
        CHECK(peaks.smaller(b) == std::min(death.weight, death.other));
        CHECK(peaks.find(peaks.attached(b)) == peaks.find(scene.links.tops()[peaks.parent(b)]));
    }
    // Other leaves join a denser one at their own level, where they have no depth.
    for (const auto& [leaf, death] : expected.deaths) {
        const bool is_top = scene.links.tops()[scene.links.basin()[leaf]] == leaf;
        CHECK(is_top || (death.level == scene.windows.radius[leaf] && death.weight == 0));
        died -= is_top;
    }
    CHECK(died == 0);
    for (u32 i = 0; i < scene.size(); ++i) CHECK(scene.links.tops()[peaks.find(i)] == expected.name[i]);
}

using Pairs = std::set<std::pair<u32, u32>>;  // sparse, dense

// The links in the window that are not short, between different owners: to each basin the shortest.
Pairs long_pairs(const Scene& scene, const Array<u32>& owner) {
    Pairs pairs;
    for (u32 i = 0; i < scene.size(); ++i) {
        std::map<u32, std::pair<float, u32>> shortest;  // of each basin
        for (u32 k : scene.all.lists()[i]) {
            if (owner[k] == owner[i] || scene.rank[k] >= scene.rank[i] || scene.is_short(i, k)) continue;
            shortest.insert({scene.links.basin()[k], {scene.squared(i, k), k}});
        }
        for (const auto& [basin, best] : shortest) pairs.insert({i, best.second});
    }
    return pairs;
}

// The shortest link out of every component but the largest, in rounds, from all pairs.
std::vector<Pairs> bridges_of(const Scene& scene, const std::vector<Link>& links) {
    std::vector<Pairs> rounds;
    Components components(scene);
    components.run(links);
    while (true) {
        std::vector<i64> size(scene.size());
        for (const u32 each : components.name) ++size[each];
        std::vector<u32> tops = scene.links.tops();
        const u32 largest =
            *std::max_element(tops.begin(), tops.end(), [&](u32 a, u32 b) { return size[a] < size[b]; });
        if (size[largest] == static_cast<i64>(scene.size())) return rounds;
        rounds.emplace_back();
        std::vector<std::pair<u32, u32>> found;
        for (const u32 top : tops) {
            if (size[top] == 0 || top == largest) continue;
            std::tuple<float, u32, u32> best{std::numeric_limits<float>::infinity(), 0, 0};
            for (u32 i = 0; i < scene.size(); ++i)
                for (u32 k = 0; k < scene.size(); ++k)
                    if (components.name[i] == top && components.name[k] != top)
                        best = std::min(best, std::tuple(scene.squared(i, k), i, k));
            auto [squared, i, k] = best;
            if (scene.rank[i] < scene.rank[k]) std::swap(i, k);
            found.push_back({i, k});
        }
        for (const auto& [i, k] : found) {
            rounds.back().insert({i, k});
            components.link(i, k, 0);
        }
    }
}

void check_bridges(const Scene& scene, const std::vector<Link>& given) {
    const std::vector<Pairs> rounds = bridges_of(scene, given);
    std::vector<Link> links = given;
    add_bridges(scene.links, Peaks(scene.links, {}), links, 2);
    size_t k = given.size();
    for (const Pairs& expected : rounds) {
        Pairs found;  // two components may choose the same bridge
        for (; k < links.size() && expected.contains({links[k].sparse, links[k].dense}); ++k) {
            found.insert({links[k].sparse, links[k].dense});
            CHECK(links[k].level == scene.level(links[k].sparse, links[k].dense));
        }
        CHECK(found == expected);
    }
    CHECK(k == links.size());
    scene.links.sort(links);
    check_peaks(scene, links);
}

// The number of windows along the border of a cluster, from all pairs.
i64 front_of(const Scene& scene, u32 b, const Array<u32>& owner, i64 saddle) {
    const i64 limit = saddle + static_cast<i64>(std::log2(1.6) * (1 << kLogBits));
    const float reach = static_cast<float>(exp2_units(2 * (limit - scene.shift)));
    std::vector<u32> picked;
    for (u32 i = 0; i < scene.size(); ++i) {
        bool wanted = false;
        for (u32 k = 0; k < scene.size(); ++k)
            wanted |= owner[i] == b && owner[k] != b && scene.squared(i, k) <= reach &&
                      std::max(scene.windows.radius[i], scene.windows.radius[k]) <= limit;
        for (u32 other : picked) wanted &= scene.squared(i, other) > 4 * scene.windows.square[i];
        if (wanted) picked.push_back(i);
    }
    return std::clamp<i64>(static_cast<i64>(picked.size()), 1, kLongestFrontLength);
}

}  // namespace

TEST(basins_lead_to_the_densest_short_neighbour) {
    for (const int d : {1, 2, 3, 6})
        for (const double period : {0.0, 5.5}) {
            const Scene scene(make_input(1, 600, d, period), 40, 3);
            for (u32 i = 0; i < scene.size(); ++i) {
                CHECK(scene.links.order()[scene.rank[i]] == i);
                const std::vector<u32> links = scene.short_links(i);
                const u32 basin = scene.links.basin()[i];
                CHECK(links.empty() ? scene.links.tops()[basin] == i
                                    : basin == scene.links.basin()[links[0]]);
            }
        }
}

TEST(peaks_die_where_they_meet_a_denser_one) {
    for (const int d : {1, 2, 3, 6})
        for (const double period : {0.0, 5.5})
            for (const i64 mass : {10, 40}) {
                const Scene scene(make_input(2, 600, d, period), mass, 3);
                check_peaks(scene, {});
                Array<u32> apart(scene.size());
                std::iota(apart.begin(), apart.end(), 0u);
                std::vector<Link> links = scene.links.long_links(apart);
                scene.links.sort(links);
                check_peaks(scene, links);
            }
}

TEST(leaves_lead_to_the_peaks_that_are_kept) {
    std::mt19937_64 random(3);
    const Scene scene(make_input(2, 900, 2), 10, 2);
    const Peaks peaks(scene.links, {});
    std::vector<char> kept(peaks.size());
    for (u32 b = 0; b < peaks.size(); ++b) kept[b] = peaks.alive(b) || random() % 3 == 0;
    const Array<u32> owner = peaks.owners(kept);
    i64 moved = 0;
    for (u32 i = 0; i < scene.size(); ++i) {
        u32 b = scene.links.basin()[i];
        for (; !kept[b]; ++moved) b = scene.links.basin()[peaks.attached(b)];
        CHECK(owner[i] == b);
    }
    CHECK(moved > 0);
}

TEST(long_links_are_those_of_the_window) {
    for (const int d : {1, 2, 3})
        for (const double period : {0.0, 5.5}) {
            const Input input = make_input(1, 800, d, period);
            const Scene scene(input, 40, 3), other(input, 40, 3, 3);
            Array<u32> owner(scene.size());
            for (u32 i = 0; i < owner.size(); ++i) owner[i] = i / 7;
            Pairs found, by_threads;
            for (const Link& link : scene.links.long_links(owner)) {
                CHECK(found.insert({link.sparse, link.dense}).second);
                CHECK(link.level == scene.level(link.sparse, link.dense));
            }
            for (const Link& link : other.links.long_links(owner))
                by_threads.insert({link.sparse, link.dense});
            CHECK(!found.empty() && found == long_pairs(scene, owner) && found == by_threads);
        }
}

TEST(bridges_are_the_shortest_ways_out) {
    for (const int d : {1, 2, 3}) {
        Input input = make_blobs(4, 400, d, 40);
        for (const double period : {0.0, 160.0}) {
            input.period[0] = period;
            const Scene scene(input, 20, 2);
            CHECK(!bridges_of(scene, {}).empty());
            check_bridges(scene, {});
            const u32 dense = scene.links.order().front(), sparse = scene.links.order().back();
            check_bridges(scene, {{scene.level(sparse, dense), sparse, dense}});
        }
    }
}

TEST(fronts_are_those_of_brute_force) {
    std::set<i64> lengths;
    for (const int d : {1, 2, 3})
        for (const double period : {0.0, 11.0}) {
            const Scene scene(make_input(5, 1500, d, period), 20, 2);
            std::vector<Link> links;
            add_bridges(scene.links, Peaks(scene.links, {}), links, 2);
            scene.links.sort(links);
            const Peaks peaks(scene.links, links);
            std::vector<char> kept(peaks.size(), 0);
            std::vector<u32> wanted;
            for (u32 b = 0; b < peaks.size(); b += 3) {
                kept[b] = 1;
                if (b > 0) wanted.push_back(b);
            }
            Fronts fronts(scene.links, peaks, kept, wanted);
            while (!wanted.empty()) {  // after each join, the fronts of the clusters that are left
                const Array<u32> owner = peaks.owners(kept);
                for (const u32 b : wanted) {
                    const i64 length = fronts.length(b);
                    CHECK(length == front_of(scene, b, owner, peaks.saddle(b)));
                    lengths.insert(length);
                }
                const u32 last = wanted.back();
                CHECK(fronts.join(last) == owner[peaks.attached(last)]);
                kept[last] = 0;
                wanted.pop_back();
                if (wanted.size() > 6) {
                    fronts.join(wanted.front());
                    kept[wanted.front()] = 0;
                    wanted.erase(wanted.begin());
                }
            }
        }
    CHECK(lengths.size() >= 5);
}
