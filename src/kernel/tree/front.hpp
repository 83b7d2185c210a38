// The front of a cluster: how many windows long its border to other clusters is.
//
// Noise breaks a ring at one place; two rings face each other along many windows, which are all low at once.
#pragma once

#include "kernel/tree/peaks.hpp"

namespace mspp {

inline constexpr double kFrontSlack = 0.6780719051126377;  // log2 1.6: how much sparser than the saddle
inline constexpr size_t kLongestFrontLength = 18;

class Fronts {
  public:
    // IN kept: the peaks that are clusters so far; wanted: those whose front may be asked for.
    Fronts(const Links& links, const Peaks& peaks, const std::vector<char>& kept,
           const std::vector<u32>& wanted)
        : links_(links),
          peaks_(peaks),
          owner_(peaks.owners(kept)),
          common_(links.all().boxes().common(owner_)),
          place_(peaks.size(), 0),
          members_(wanted.size() + 1) {
        for (size_t k = 0; k < wanted.size(); ++k) place_[wanted[k]] = k + 1;
        for (u32 i = 0; i < owner_.size(); ++i)
            if (const size_t place = place_[owner_[i]]) members_[place].push_back(i);
    }

    // The number of leaves of cluster b, two radii apart, from which another cluster can be reached at a
    // level not much above its saddle; at least 1.
    i64 length(u32 b) const {
        const Windows& windows = links_.windows();
        const i64 limit = peaks_.saddle(b) + static_cast<i64>(kFrontSlack / kLogUnit);
        const float reach = static_cast<float>(exp2_units(2 * (limit - links_.shift())));
        std::vector<u32> picked;
        for (const u32 i : members_[place_[b]]) {
            if (picked.size() == kLongestFrontLength) break;
            if (windows.radius[i] > limit) continue;
            auto is_close = [&](u32 other) {
                return links_.all().boxes().squared_distance(i, other) <= 4 * windows.square[i];
            };
            if (std::none_of(picked.begin(), picked.end(), is_close) && is_reached(b, i, limit, reach))
                picked.push_back(i);
        }
        return std::max<i64>(1, static_cast<i64>(picked.size()));
    }

    // Joins cluster b to the one across its saddle, and returns that: no other front has changed.
    u32 join(u32 b) {
        const u32 to = owner_[peaks_.attached(b)];
        std::vector<u32>& from = members_[place_[b]];
        for (const u32 i : from) owner_[i] = to;
        if (place_[to] > 0) {
            std::vector<u32>& into = members_[place_[to]];
            const i64 middle = static_cast<i64>(into.size());
            into.insert(into.end(), from.begin(), from.end());
            std::inplace_merge(into.begin(), into.begin() + middle, into.end());
        }
        from = {};
        for (auto& layer : common_) std::replace(layer.begin(), layer.end(), b, to);
        return to;
    }

  private:
    // Whether another cluster can be reached from leaf i of cluster b.
    bool is_reached(u32 b, u32 i, i64 limit, float reach) const {
        const Boxes& boxes = links_.all().boxes();
        bool reached = false;
        auto hit = [&](i64 group) {
            const Range found = boxes.range(group);
            for (u32 k = static_cast<u32>(found.begin); k < found.end && !reached; ++k)
                reached = owner_[k] != b && links_.windows().radius[k] <= limit &&
                          boxes.squared_distance(i, k) <= reach;
        };
        boxes.visit(Boxes::Query(boxes, {i, i + 1}), reach, hit,
                    [&](size_t layer, i64 box) { return reached || common_[layer][box] == b; });
        return reached;
    }

    const Links& links_;
    const Peaks& peaks_;
    Array<u32> owner_;  // of each leaf
    Boxes::Common common_;
    std::vector<size_t> place_;              // of a peak among the members, 0 if it is not wanted
    std::vector<std::vector<u32>> members_;  // the leaves of each wanted cluster, rising
};

}  // namespace mspp
