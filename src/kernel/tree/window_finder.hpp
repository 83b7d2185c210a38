// Windows of constant mass: how far the nearest mass K reaches around each leaf.
//
// The radius of a window is the root of the mean squared distance to the nearest mass K ("distance to a
// measure", Chazal, Cohen-Steiner and Merigot 2011). The noise of its logarithm does not depend on the
// density. Each leaf has one list of its neighbours, nearest first; the windows of all masses are sums over
// the first of them, in an order that no guess and no thread changes.
#pragma once

#include <span>

#include "kernel/tree/boxes.hpp"
#include "kernel/tree/logarithm.hpp"

namespace mspp {

// The windows of one mass.
struct Windows {
    i64 mass;
    Array<double> square;  // mean squared distance to mass K
    Array<float> reach;    // squared distance to the last of that mass
    Array<i32> radius;     // log2 of the root mean square, in units of 2^-16
    Array<i32> half;       // the same for mass K / 2
    Windows(i64 mass, i64 leaves)
        : mass(mass),
          square(size_t(leaves)),
          reach(size_t(leaves)),
          radius(size_t(leaves)),
          half(size_t(leaves)) {}
};

// The neighbours of each leaf by squared distance, then in the order of the curve, up to the heaviest window.
class Lists {
  public:
    std::span<const u32> operator[](i64 i) const {
        const auto [chunk, begin, end] = places_[i];
        return {chunks_[chunk].data() + begin, chunks_[chunk].data() + end};
    }

  private:
    friend class WindowFinder;
    struct Place {
        u32 chunk, begin, end;
    };
    std::vector<std::vector<u32>> chunks_;
    Array<Place> places_;
};

// Finds the lists and windows of chunks of leaves; each thread has one.
class WindowFinder {
  public:
    static constexpr i64 kChunk = 32;  // blocks; a chunk's guesses do not depend on other chunks

    // OUT lists, windows: one for each mass, rising.
    WindowFinder(const Boxes& boxes, const std::vector<Range>& blocks, Lists& lists,
                 std::vector<Windows>& windows)
        : boxes_(boxes),
          leaves_(boxes.leaves()),
          blocks_(blocks),
          lists_(lists),
          windows_(windows),
          mass_(windows.back().mass),
          d_(leaves_.d),
          growth_(std::pow(double(mass_) / double(leaves_.guess_mass), 1.0 / d_)) {}

    // Room for the results of all chunks.
    static void prepare(Lists& lists, i64 leaves, i64 chunks) {
        lists.places_.assign(static_cast<size_t>(leaves), Lists::Place{0, 0, 0});
        lists.chunks_.resize(static_cast<size_t>(chunks));
    }

    void run(i64 chunk) {
        const i64 end = std::min(static_cast<i64>(blocks_.size()), (chunk + 1) * kChunk);
        chunk_ = static_cast<u32>(chunk);
        last_ = 0;
        n_recent_ = 0;
        list_.clear();
        for (i64 b = chunk * kChunk; b < end; ++b) find_block(blocks_[b]);
        lists_.chunks_[chunk].assign(list_.begin(), list_.end());
    }

  private:
    void find_block(Range block) {
        float widest = 0;
        for (i64 i = block.begin; i < block.end; ++i) widest = std::max(widest, guess(i));
        block_.place(boxes_, block);
        find_nodes(widest);
        for (i64 i = block.begin; i < block.end; ++i) {
            float radius = std::max(1.0f, guess(i));
            centre_.place(boxes_, {i, i + 1});
            for (int j = 0; j < d_; ++j) position_[j] = leaves_.at(i, j);
            if (radius > widest) find_nodes(widest = radius);
            for (i64 mass; (mass = find_window(i, radius * radius)) < mass_;) {
                radius *= missing_growth(mass);
                if (radius > widest) find_nodes(widest = radius);
            }
        }
    }

    // How far the window of a leaf might reach: rather too far, as a search that fails costs more.
    float guess(i64 i) const {
        if (leaves_.guess[i] > 0) return static_cast<float>(1.06 * growth_) * leaves_.guess[i];
        const float nearby = d_ < 3 ? 1.12f * last_ : 1.08f * reach_nearby(i);
        if (nearby > 0 && d_ >= 3) return nearby;
        const float by_box = 1.15f * reach_by_box(i);
        return nearby > 0 ? std::min(by_box, nearby) : by_box;  // 0 if the last window was one heavy leaf
    }
    // The reach of the nearest of the last leaves.
    float reach_nearby(i64 i) const {
        float least = std::numeric_limits<float>::infinity(), reach = 0;
        for (size_t k = 0; k < std::min(n_recent_, kRecent); ++k) {
            const float squared = boxes_.squared_distance(i, recent_[k].leaf);
            if (squared < least) least = squared, reach = recent_[k].reach;
        }
        return reach;
    }
    // The reach if the window were as dense as the dyadic box of its leaf.
    float reach_by_box(i64 i) const {
        i32 step = i > 0 ? leaves_.steps[i] : INT32_MAX;
        if (i + 1 < leaves_.size()) step = std::min(step, leaves_.steps[i + 1]);
        const double missing = static_cast<double>(mass_) / static_cast<double>(leaves_.weights[i]);
        constexpr double kBall[] = {1, 2, 3.14, 4.19, 4.93, 5.26};  // volume in so many dimensions
        const double volume = static_cast<double>(step) + std::log2(missing / kBall[std::min(d_, 5)]);
        return static_cast<float>(std::clamp(std::exp2(volume / d_), 1.0, 0x1p32));
    }
    // How much the radius must grow to reach the mass, if the density is even.
    float missing_growth(i64 found) const {
        const double missing = static_cast<double>(mass_) / static_cast<double>(std::max<i64>(1, found));
        return static_cast<float>(std::clamp(1.1 * std::pow(missing, 1.0 / d_), 1.15, 2.0));
    }

    // Finds the nodes near the block, of the layer above the lowest if there is one.
    void find_nodes(float radius) {
        poll();
        nodes_.assign(1, 0u);
        const NearQuery query = query_of(block_, radius * radius);
        for (int layer = boxes_.tree().layers - 1; layer > 1; --layer) {
            find_children(query, layer, nodes_, children_);
            std::swap(nodes_, children_);
        }
    }
    void find_children(const NearQuery& query, int layer, const Array<u32>& nodes, Array<u32>& children) {
        children.resize((nodes.size() + 1) * kLanes);
        const i64 n = static_cast<i64>(nodes.size());
        children.resize(static_cast<size_t>(
            boxes_.loops().find_children(boxes_.tree(), query, layer, nodes.data(), n, children.data())));
    }
    NearQuery query_of(const Boxes::Query& box, float limit) const {
        return {box.data(), position_.data(), limit, boxes_.limit(limit)};
    }

    // Finds the leaves within a squared distance of a leaf.
    void find_leaves(float limit) {
        const NearQuery query = query_of(centre_, limit);
        const bool is_deep = boxes_.tree().layers > 1;
        if (is_deep) find_children(query, 1, nodes_, children_);
        find_children(query, 0, is_deep ? children_ : nodes_, groups_);
        const size_t most = (groups_.size() + 1) * kLanes;
        if (found_.squared.size() < most)
            found_.resize(2 * most), binned_.resize(2 * most), sorted_.resize(2 * most),
                bins_.resize(2 * most);
        const i64 n = static_cast<i64>(groups_.size());
        count_ = boxes_.loops().find_leaves(boxes_.tree(), query, groups_.data(), n, found_.squared.data(),
                                            found_.leaves.data());
        while (count_ > 0 && found_.leaves[count_ - 1] >= leaves_.size()) --count_;  // padding
    }

    // Finds the windows of a leaf within a squared distance. Returns the mass there; if it is too small, the
    // distance is, and nothing is stored.
    i64 find_window(i64 i, float limit) {
        find_leaves(limit);
        poll_(count_ + static_cast<i64>(groups_.size()) * d_);
        sort_into_bins(limit);
        Ball ball;
        for (Windows& out : windows_) {
            const double half = mean_square(ball, std::max<i64>(1, out.mass / 2)),
                         square = mean_square(ball, out.mass);
            if (square < 0) return ball.before;
            out.half[i] = static_cast<i32>(log2_units(half) / 2);
            out.square[i] = square;
            out.radius[i] = static_cast<i32>(log2_units(square) / 2);
            out.reach[i] = sorted_.squared[ball.last];
        }
        store_list(i, ball.last);
        return mass_;
    }

    // Sorts into bins that hold a few leaves each if the density is even.
    void sort_into_bins(float limit) {
        if (count_ <= kOneBin) {
            std::swap(found_, binned_);
            n_bins_ = 1;
            starts_[0] = static_cast<u32>(count_);
            return;
        }
        n_bins_ = std::min(kMostBins, static_cast<size_t>(count_) / kInBin + 1);
        boxes_.loops().find_bins(found_.squared.data(), count_, 1 / limit,
                                 static_cast<float>(n_bins_) * 0.9999f, d_, bins_.data());
        std::fill_n(starts_, n_bins_ + 1, 0u);
        for (i64 k = 0; k < count_; ++k) ++starts_[bins_[k] + 1];
        for (size_t b = 1; b <= n_bins_; ++b) starts_[b] += starts_[b - 1];
        for (i64 k = 0; k < count_; ++k) {
            const u32 to = starts_[bins_[k]]++;
            binned_.squared[to] = found_.squared[k];
            binned_.leaves[to] = found_.leaves[k];
        }
    }
    void sort_bin(size_t begin, size_t end) {
        if (end - begin <= kFew)
            return boxes_.loops().sort_few(&binned_.squared[begin], &binned_.leaves[begin],
                                           static_cast<int>(end - begin), &sorted_.squared[begin],
                                           &sorted_.leaves[begin]);
        std::vector<std::pair<float, u32>> entries(end - begin);
        for (size_t k = begin; k < end; ++k) entries[k - begin] = {binned_.squared[k], binned_.leaves[k]};
        std::sort(entries.begin(), entries.end());
        for (size_t k = begin; k < end; ++k)
            sorted_.squared[k] = entries[k - begin].first, sorted_.leaves[k] = entries[k - begin].second;
    }

    // A ball that grows along the sorted leaves; bins beyond it stay unsorted.
    struct Ball {
        size_t last = 0;    // the leaf that reaches the mass
        size_t sorted = 0;  // leaves
        size_t bin = 0;     // the next to be sorted
        i64 before = 0;     // mass of the leaves before the last
        double sum = 0;     // of their squared distances
    };
    // The mean squared distance to a mass, at least one unit; negative if the mass is not reached.
    double mean_square(Ball& ball, i64 mass) {
        if (ball.before >= mass) ball.last = 0, ball.before = 0, ball.sum = 0;
        while (true) {
            for (; ball.last < ball.sorted; ++ball.last) {
                const i64 weight = leaves_.weights[sorted_.leaves[ball.last]];
                const float squared = sorted_.squared[ball.last];
                if (ball.before + weight >= mass) {
                    const double rest = static_cast<double>(mass - ball.before);
                    return std::max((ball.sum + rest * squared) / static_cast<double>(mass), 1.0);
                }
                ball.before += weight;
                ball.sum += static_cast<double>(weight) * static_cast<double>(squared);
            }
            if (ball.bin == n_bins_) return -1;
            const size_t begin = ball.sorted;
            ball.sorted = starts_[ball.bin++];
            if (ball.sorted > begin) sort_bin(begin, ball.sorted);
        }
    }

    void store_list(i64 i, size_t last) {
        const u32 begin = static_cast<u32>(list_.size());
        list_.insert(list_.end(), sorted_.leaves.begin(),
                     sorted_.leaves.begin() + static_cast<i64>(last) + 1);
        lists_.places_[i] = {chunk_, begin, static_cast<u32>(list_.size())};
        last_ = std::sqrt(windows_.back().reach[i]);
        recent_[n_recent_++ % kRecent] = {i, last_};
    }

    const Boxes& boxes_;
    const Leaves& leaves_;
    const std::vector<Range>& blocks_;
    Lists& lists_;
    std::vector<Windows>& windows_;
    i64 mass_;  // of the heaviest windows
    int d_;
    double growth_;  // of the guesses to that mass, if the density is even
    Poller poll_;
    u32 chunk_ = 0;
    float last_ = 0;  // reach of the last window
    static constexpr size_t kRecent = 16;
    struct Recent {
        i64 leaf;
        float reach;
    } recent_[kRecent];  // the last windows
    size_t n_recent_ = 0;
    Boxes::Query block_, centre_;
    std::vector<i32> position_ = std::vector<i32>(static_cast<size_t>(d_));
    Array<u32> nodes_, children_, groups_;  // near the block, near the centre
    struct Found {
        Array<float> squared;
        Array<u32> leaves;
        void resize(size_t n) { squared.resize(n), leaves.resize(n); }
    };
    Found found_, binned_, sorted_;  // in rising order of leaves, then by bin, then by distance
    Array<i32> bins_;
    i64 count_ = 0;  // of those found
    static constexpr i64 kOneBin = kFew;
    static constexpr size_t kMostBins = 2048, kInBin = 16;
    size_t n_bins_ = 0;
    u32 starts_[kMostBins + 1];
    Array<u32> list_;  // of the chunk
};

}  // namespace mspp
