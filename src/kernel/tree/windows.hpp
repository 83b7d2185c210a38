// Windows of constant mass: how far the nearest mass K reaches around each leaf.
//
// The radius of a window is the root of the mean squared distance to the nearest mass K ("distance to a
// measure", Chazal, Cohen-Steiner and Merigot 2011). The noise of its logarithm does not depend on the
// density. Each leaf has one list of its neighbours, nearest first; the windows of all masses are sums over
// the first of them, in an order that no guess and no thread changes.
#pragma once

#include <atomic>
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
          period_(boxes.period()),
          blocks_(blocks),
          lists_(lists),
          windows_(windows),
          mass_(windows.back().mass),
          d_(leaves_.d),
          wraps_(std::any_of(period_.begin(), period_.end(), [](i32 p) { return p > 0; })),
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
        for (i64 b = chunk * kChunk; b < end; ++b) find_block(blocks_[b]);
        lists_.chunks_[chunk].shrink_to_fit();
    }

  private:
    using Entry = u64;  // the bits of a squared distance, then the leaf: entries sort as integers
    static float distance_of(Entry entry) { return std::bit_cast<float>(static_cast<u32>(entry >> 32)); }
    static u32 leaf_of(Entry entry) { return static_cast<u32>(entry); }

    void find_block(Range block) {
        float widest = 0;
        for (i64 i = block.begin; i < block.end; ++i) widest = std::max(widest, guess(i));
        const Boxes::Query query(boxes_, block);
        find_groups(query, widest);
        for (i64 i = block.begin; i < block.end; ++i) {
            float radius = std::min(widest, 1.05f * guess(i));
            for (i64 mass; (mass = find_window(i, radius * radius)) < mass_;) {
                radius *= missing_growth(mass);
                if (radius <= widest) continue;
                widest = radius;
                find_groups(query, widest);
            }
            store(i);
        }
    }

    // How far the window of a leaf might reach: rather too far, as a search that fails costs more.
    float guess(i64 i) const {
        if (leaves_.guess[i] > 0) return static_cast<float>(1.06 * growth_) * leaves_.guess[i];
        const float by_box = 1.15f * reach_by_box(i);
        return last_ > 0 ? std::min(by_box, 1.1f * last_) : by_box;
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

    void find_groups(const Boxes::Query& query, float radius) {
        groups_.clear();
        boxes_.visit(query, radius * radius, [&](i64 group) { groups_.push_back(static_cast<u32>(group)); });
    }

    // Finds the leaves within a squared distance of a leaf, and sorts as many as the window needs. Returns
    // their mass, which is too small if the distance is.
    i64 find_window(i64 i, float limit) {
        poll_(static_cast<i64>(groups_.size()) * d_);
        const size_t most = (groups_.size() + 1) * Leaves::kWidth;
        if (found_.size() < most) found_.resize(2 * most), sorted_.resize(2 * most), bins_.resize(2 * most);
        for (int j = 0; j < d_; ++j) centre_[j] = leaves_.at(i, j);
        switch (wraps_ ? -1 : d_) {
            case -1:
                collect<-1>(limit);
                break;
            case 1:
                collect<1>(limit);
                break;
            case 2:
                collect<2>(limit);
                break;
            case 3:
                collect<3>(limit);
                break;
            case 4:
                collect<4>(limit);
                break;
            case 5:
                collect<5>(limit);
                break;
            default:
                collect<0>(limit);
        }
        while (count_ > 0 && leaf_of(found_[count_ - 1]) >= leaves_.size()) --count_;  // padding
        return sort_window(limit);
    }

    // Without a branch for each leaf: groups without a hit are common, but hits cannot be predicted.
    template <int D>
    void collect(float limit) {
        constexpr int kWidth = Leaves::kWidth;
        const Lanes most = Lanes::all(limit);
        Entry* out = found_.data();
        for (const u32 group : groups_) {
            const Lanes squared = squared_from<D>(leaves_.group(group));
            if (!any_at_most(squared, most)) continue;
            float each[kWidth];
            squared.store(each);
            for (u32 c = 0; c < kWidth; ++c) {
                *out = u64{std::bit_cast<u32>(each[c])} << 32 | (group * kWidth + c);
                out += each[c] <= limit;
            }
        }
        count_ = static_cast<size_t>(out - found_.data());
    }

    // The squared distances of a group from the centre. D is the number of features, 0 for any, -1 for any
    // with periods.
    template <int D>
    Lanes squared_from(const i32* group) const {
        const int d = D > 0 ? D : d_;
        Lanes sum = Lanes::all(0);
        for (int j = 0; j < d; ++j, group += Leaves::kWidth) {
            const Lanes gap = D < 0 ? gap_around(group, j) : Lanes::difference(group, centre_[j]);
            sum = sum + gap * gap;
        }
        return sum;
    }
    Lanes gap_around(const i32* group, int j) const {
        float gaps[Leaves::kWidth];
        for (int c = 0; c < Leaves::kWidth; ++c)
            gaps[c] = static_cast<float>(gap_of(group[c], centre_[j], period_[j]));
        return Lanes::load(gaps);
    }

    // Sorts by bins that hold about one leaf each if the density is even; bins beyond the window stay
    // unsorted. Returns the mass of the bins that are sorted.
    i64 sort_window(float limit) {
        const size_t bins = std::min(kMostBins, std::bit_floor(count_ + 1));
        const float scale = 1 / limit, top = static_cast<float>(bins) * 0.9999f;
        std::fill_n(starts_, bins + 1, 0u);
        std::fill_n(bin_mass_, bins, i64{0});
        for (size_t k = 0; k < count_; ++k) {
            const auto bin = static_cast<u32>(volume(std::min(1.0f, distance_of(found_[k]) * scale)) * top);
            bins_[k] = bin;
            ++starts_[bin + 1];
            bin_mass_[bin] += leaves_.weights[leaf_of(found_[k])];
        }
        for (size_t b = 1; b <= bins; ++b) starts_[b] += starts_[b - 1];
        for (size_t k = 0; k < count_; ++k) sorted_[starts_[bins_[k]]++] = found_[k];
        i64 mass = 0;
        for (size_t b = 0, begin = 0; b < bins && mass < mass_; begin = starts_[b++]) {
            mass += bin_mass_[b];
            if (starts_[b] - begin > 1) sort_few(&sorted_[begin], sorted_.data() + starts_[b]);
        }
        return mass;
    }
    static void sort_few(Entry* begin, Entry* end) {
        if (end - begin > 24) return std::sort(begin, end);
        for (Entry* k = begin + 1; k < end; ++k) {
            const Entry entry = *k;
            Entry* to = k;
            for (; to > begin && to[-1] > entry; --to) *to = to[-1];
            *to = entry;
        }
    }
    // The share of a ball within a squared distance.
    float volume(float x) const {
        switch (d_) {
            case 1:
                return std::sqrt(x);
            case 2:
                return x;
            case 3:
                return x * std::sqrt(x);
            case 4:
                return x * x;
            default:
                return x * x * std::sqrt(x);
        }
    }

    // A ball that grows along the sorted list.
    struct Ball {
        size_t last = 0;  // the entry that reaches the mass
        i64 before = 0;   // mass of those before it
        double sum = 0;   // of their squared distances
    };
    // The mean squared distance to a mass, at least one unit.
    double mean_square(Ball& ball, i64 mass) const {
        if (ball.before >= mass) ball = {};
        for (i64 weight; ball.before + (weight = leaves_.weights[leaf_of(sorted_[ball.last])]) < mass;
             ++ball.last) {
            ball.before += weight;
            ball.sum += static_cast<double>(weight) * static_cast<double>(distance_of(sorted_[ball.last]));
        }
        const double rest = static_cast<double>(mass - ball.before);
        return std::max((ball.sum + rest * distance_of(sorted_[ball.last])) / static_cast<double>(mass), 1.0);
    }

    void store(i64 i) {
        Ball ball;
        for (Windows& out : windows_) {
            out.half[i] = static_cast<i32>(log2_units(mean_square(ball, std::max<i64>(1, out.mass / 2))) / 2);
            out.square[i] = mean_square(ball, out.mass);
            out.radius[i] = static_cast<i32>(log2_units(out.square[i]) / 2);
            out.reach[i] = distance_of(sorted_[ball.last]);
        }
        std::vector<u32>& list = lists_.chunks_[chunk_];
        const u32 begin = static_cast<u32>(list.size());
        for (size_t k = 0; k <= ball.last; ++k) list.push_back(leaf_of(sorted_[k]));
        lists_.places_[i] = {chunk_, begin, static_cast<u32>(list.size())};
        last_ = std::sqrt(windows_.back().reach[i]);
    }

    const Boxes& boxes_;
    const Leaves& leaves_;
    const std::vector<i32>& period_;
    const std::vector<Range>& blocks_;
    Lists& lists_;
    std::vector<Windows>& windows_;
    i64 mass_;  // of the heaviest windows
    int d_;
    bool wraps_;     // an axis has a period
    double growth_;  // of the guesses to that mass, if the density is even
    Poller poll_;
    u32 chunk_ = 0;
    float last_ = 0;  // reach of the last window
    std::vector<u32> groups_;
    std::vector<i32> centre_ = std::vector<i32>(static_cast<size_t>(d_));
    std::vector<Entry> found_, sorted_;  // in rising order of leaves, then by distance
    size_t count_ = 0;                   // of those found
    static constexpr size_t kMostBins = 2048;
    std::vector<u32> bins_;
    u32 starts_[kMostBins + 1];
    i64 bin_mass_[kMostBins];
};

// Leaves with their neighbours and the windows of several masses.
class Surroundings {
  public:
    // IN masses: rising, at most that of all leaves. wanted: which leaves need windows; empty for all.
    Surroundings(const Leaves& leaves, const std::vector<i32>& period, const std::vector<i64>& masses,
                 int n_threads, const std::vector<char>& wanted = {})
        : boxes_(leaves, period) {
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
