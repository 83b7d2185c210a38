// Leaves with their neighbours, and the windows around them.
#pragma once

#include <atomic>

#include "kernel/tree/window_finder.hpp"

namespace mspp {

// Leaves with their neighbours and the windows of several masses.
class Surroundings {
  public:
    // IN masses: rising, at most that of all leaves. wanted: which leaves need windows; empty for all.
    Surroundings(const Leaves& leaves, const std::vector<i32>& period, const std::vector<i64>& masses,
                 const NearLoops& loops, int n_threads, const std::vector<char>& wanted = {})
        : boxes_(leaves, period, loops) {
        for (const i64 mass : masses) windows_.emplace_back(mass, leaves.size());
        const std::vector<Range> blocks = blocks_of(leaves, wanted);
        const i64 chunks =
            (static_cast<i64>(blocks.size()) + WindowFinder::kChunk - 1) / WindowFinder::kChunk;
        WindowFinder::prepare(lists_, leaves.size(), chunks);
        std::atomic<i64> next{0};
        parallel(team_size(chunks, 4, n_threads), [&](int) {
            WindowFinder finder(boxes_, blocks, lists_, windows_);
            for (i64 chunk; (chunk = next.fetch_add(1)) < chunks;) finder.run(chunk);
        });
    }
    Surroundings(const Surroundings&) = delete;

    const Leaves& leaves() const { return boxes_.leaves(); }
    const Boxes& boxes() const { return boxes_; }
    const Lists& lists() const { return lists_; }
    const std::vector<Windows>& windows() const { return windows_; }

  private:
    static constexpr i64 kBlock = 8;  // leaves that share a search

    // Ranges of leaves that are close to each other.
    static std::vector<Range> blocks_of(const Leaves& leaves, const std::vector<char>& wanted) {
        const std::vector<u32> begin = group_along_curve(leaves.steps, kBlock, [](u32) { return 1; });
        std::vector<Range> blocks;
        for (size_t k = 0; k < begin.size(); ++k) {
            const i64 end = k + 1 < begin.size() ? begin[k + 1] : leaves.size();
            for (i64 i = begin[k]; i < end;) {
                i64 last = i;
                while (last < end && (wanted.empty() || wanted[last])) ++last;
                if (last > i) blocks.push_back({i, last});
                i = last + (last == i);
            }
        }
        return blocks;
    }

    Boxes boxes_;
    Lists lists_;
    std::vector<Windows> windows_;
};

}  // namespace mspp
