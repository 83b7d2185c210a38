// Leaves: the largest boxes of a lattice, halved along the axes in turn, that hold a limited weight.
//
// On the Morton curve every box is a stretch, so boxes are found while rows are sorted along it, a few bits
// at a time. A leaf keeps its weight and the sums of its points' coordinates, which are whole numbers, so
// leaves do not depend on the order of the points or on threads. The leaf of any point is found by its code.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernel/base/memory.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/leaves/lattice.hpp"

namespace mspp {

template <int W>
struct LeafSet {
    Array<u32> rows;       // of the points inside the lattice that have a weight, along the curve
    Array<u32> first;      // of each leaf in `rows`, and their number
    Array<u64> weights;    // of each leaf
    Array<u64> sums;       // (leaves, d), of weights times coordinates
    Array<Code<W>> codes;  // the first code in the box of each leaf
    Array<u16> bits;       // of the codes in that box: the lowest, which are free
    double squares = 0;    // sum of the squared weights of points with equal codes
};

namespace detail {

// An exact sum of squares of numbers below 2^32; larger ones count as 2^32 - 1.
class Squares {
  public:
    void add(u64 x) {
        const u64 square = std::min<u64>(x, UINT32_MAX) * std::min<u64>(x, UINT32_MAX);
        high_ += square >> 32;
        low_ += square & UINT32_MAX;
    }
    // Adds a sum of squares below 2^32.
    void add_sum(u64 squares) { low_ += squares; }
    void add(const Squares& other) {
        high_ += other.high_;
        low_ += other.low_;
    }
    double value() const {
        return static_cast<double>(high_ + (low_ >> 32)) * 0x1p32 + static_cast<double>(low_ & UINT32_MAX);
    }

  private:
    u64 high_ = 0, low_ = 0;
};

// The codes of a block of rows.
template <int W>
class Placer {
  public:
    Placer(const Lattice& lattice, const Interleave<W>& interleave)
        : lattice_(lattice),
          interleave_(interleave),
          coordinates_(static_cast<size_t>(lattice.d) * kColumnRows),
          inside_(kColumnRows) {}

    template <class T>
    void place(const Points& points, i64 first, int count) {
        lattice_.place<T>(points, first, count, coordinates_.data(), inside_.data());
    }
    bool inside(int k) const { return inside_[k] != 0; }
    // IN k: inside the lattice.
    Code<W> code(int k) const { return interleave_.code(coordinates_.data() + k, kColumnRows); }

  private:
    const Lattice& lattice_;
    const Interleave<W>& interleave_;
    std::vector<i32> coordinates_, inside_;
};

template <int W>
struct CodedRow {
    Code<W> code;
    u32 row;
};

// Divides stretches of rows into leaves; one for each thread.
template <int W>
class Divider {
  public:
    using Row = CodedRow<W>;

    Divider(const u64* weights, const Interleave<W>& interleave, int d, u64 limit)
        : weights_(weights), interleave_(interleave), d_(static_cast<size_t>(d)), limit_(limit) {}

    // OUT sorted: the rows of the next leaves, which begin at a place in all rows.
    void write_to(Array<u32>& sorted, u32 place) {
        sorted_ = &sorted;
        place_ = place;
    }

    // IN rows whose codes agree above the lowest `bits`; spare: room for as many.
    void divide(Row* rows, Row* spare, size_t count, int bits) {
        if (bits == 0 || is_light(rows, count)) return add_leaf(rows, count, bits);
        if (have_one_code(rows, count)) return add_leaf(rows, count, 0);
        const int digit = std::min({bits, kDigitBits, useful_bits(count)}), shift = bits - digit;
        u32 start[kBins + 2] = {};
        for (size_t i = 0; i < count; ++i) ++start[bits_of(rows[i].code, shift, digit) + 2];
        for (int b = 2; b <= (1 << digit) + 1; ++b) start[b] += start[b - 1];
        for (size_t i = 0; i < count; ++i) spare[start[bits_of(rows[i].code, shift, digit) + 1]++] = rows[i];
        poll_(static_cast<i64>(4 * count));
        halve(start, 0, 1 << digit, spare, rows, bits);
    }

    // Divides the bins [low, high) of rows that are sorted by bin, the largest boxes first.
    void halve(const u32* start, int low, int high, Row* rows, Row* spare, int bits) {
        const size_t begin = start[low], count = start[high] - begin;
        if (count == 0) return;
        if (is_light(rows + begin, count)) return add_leaf(rows + begin, count, bits);
        if (high - low == 1) return divide(rows + begin, spare + begin, count, bits);
        halve(start, low, (low + high) / 2, rows, spare, bits - 1);
        halve(start, (low + high) / 2, high, rows, spare, bits - 1);
    }

    bool is_light(const Row* rows, size_t count) const {
        if (!weights_) return count <= limit_;
        u64 weight = 0;
        for (size_t i = 0; i < count && weight <= limit_; ++i) weight += weights_[rows[i].row];
        return weight <= limit_;
    }

    void add_leaf(const Row* rows, size_t count, int bits) {
        leaves.first.push_back(place_);
        for (size_t i = 0; i < count; ++i) (*sorted_)[place_ + i] = rows[i].row;
        place_ += static_cast<u32>(count);
        leaves.sums.insert(leaves.sums.end(), d_, 0);
        leaves.weights.push_back(add_up(rows, count, &leaves.sums[leaves.sums.size() - d_]));
        leaves.codes.push_back(without_lowest(rows[0].code, bits));
        leaves.bits.push_back(static_cast<u16>(bits));
        bits == 0 ? squares.add(leaves.weights.back()) : add_squares(rows, count);
        poll_(static_cast<i64>(4 * count));
    }

    LeafSet<W> leaves;
    Squares squares;

  private:
    static constexpr int kDigitBits = 8, kBins = 1 << kDigitBits;
    static constexpr size_t kFew = 24;  // rows: comparing all pairs is faster than sorting

    static bool have_one_code(const Row* rows, size_t count) {
        return std::all_of(rows + 1, rows + count, [&](const Row& row) { return row.code == rows->code; });
    }
    u64 weight_of(u32 row) const { return weights_ ? weights_[row] : 1; }

    // Enough bits to divide so many rows into light groups, if they lie evenly.
    int useful_bits(size_t count) const { return 1 + static_cast<int>(std::bit_width(count / (limit_ + 1))); }

    // Adds weighted coordinates to sums; returns the weight.
    u64 add_up(const Row* rows, size_t count, u64* sums) const {
        if (!weights_) {
            interleave_.add_coordinates(rows, count, sums);
            return count;
        }
        u64 weight = 0;
        for (size_t i = 0; i < count; ++i) {
            weight += weights_[rows[i].row];
            interleave_.add_coordinates(rows[i].code, weights_[rows[i].row], sums);
        }
        return weight;
    }

    void add_squares(const Row* rows, size_t count) {
        const u64 pairs = count <= kFew ? equal_pairs(rows, count) : 1;
        if (!weights_ && count <= kFew) return squares.add_sum(count + 2 * pairs);
        if (pairs == 0) {
            for (size_t i = 0; i < count; ++i) squares.add(weights_[rows[i].row]);
            return;
        }
        same_.assign(rows, rows + count);
        std::sort(same_.begin(), same_.end(), [](const Row& a, const Row& b) { return a.code < b.code; });
        u64 sum = 0;
        for (size_t i = 0; i < count; ++i) {
            sum += weight_of(same_[i].row);
            if (i + 1 < count && same_[i].code == same_[i + 1].code) continue;
            squares.add(sum);
            sum = 0;
        }
    }
    static u64 equal_pairs(const Row* rows, size_t count) {
        u64 pairs = 0;
        for (size_t i = 1; i < count; ++i)
            for (size_t k = 0; k < i; ++k) pairs += rows[i].code == rows[k].code;
        return pairs;
    }

    const u64* weights_;
    const Interleave<W>& interleave_;
    size_t d_;
    u64 limit_;
    Array<u32>* sorted_ = nullptr;
    u32 place_ = 0;
    Poller poll_;
    std::vector<Row> same_;
};

// Sorts rows into buckets by the first bits of their codes, then divides the buckets.
template <int W>
class LeafBuilder {
  public:
    LeafBuilder(const Points& points, const u64* weights, const Lattice& lattice, u64 limit, int n_threads)
        : points_(points),
          weights_(weights),
          lattice_(lattice),
          limit_(limit),
          interleave_(lattice.d),
          team_(team_size(points.n, 1 << 14, n_threads)),
          bits_(interleave_.total_bits()),
          digit_(std::min(bits_, kBucketBits)) {}

    LeafSet<W> run() {
        fill_buckets();
        const Divider<W> empty(weights_, interleave_, lattice_.d, limit_);
        std::vector<Divider<W>> dividers(static_cast<size_t>(team_), empty);
        const std::vector<Job> jobs = make_jobs(empty);
        sorted_.resize(rows_.size());
        parallel(team_, [&](int t) {
            const u32 begin = share(t), end = share(t + 1);
            Array<Row> spare;
            for (const Job& job : jobs)
                if (start_[job.low] >= begin && start_[job.low] < end) run(job, spare, dividers[t]);
        });
        return joined(dividers);
    }

  private:
    using Row = CodedRow<W>;
    static constexpr int kBucketBits = 12;
    struct Job {  // a range of buckets that is light, or one bucket
        u32 low, high;
        int bits;
    };

    u32 bucket_of(const Code<W>& code) const { return bits_of(code, bits_ - digit_, digit_); }
    // The first row of the t-th of equal parts.
    u32 share(int t) const { return static_cast<u32>(static_cast<u64>(rows_.size()) * t / team_); }

    void fill_buckets() {
        const size_t buckets = size_t{1} << digit_;
        std::vector<std::vector<u32>> at(static_cast<size_t>(team_), std::vector<u32>(buckets, 0));
        Array<Code<W>> codes(static_cast<size_t>(points_.n));
        Array<char> inside(static_cast<size_t>(points_.n));
        with_type(points_.dtype, [&](auto type) {
            parallel(team_, [&](int t) {
                Placer<W> placer(lattice_, interleave_);
                each_block(part(points_.n, t, team_), [&](i64 first, int count) {
                    placer.template place<decltype(type)>(points_, first, count);
                    for (int k = 0; k < count; ++k) {
                        const i64 i = first + k;
                        inside[i] = placer.inside(k) && (!weights_ || weights_[i] > 0);
                        if (!inside[i]) continue;
                        codes[i] = placer.code(k);
                        ++at[t][bucket_of(codes[i])];
                    }
                });
            });
        });
        start_.resize(buckets + 1);
        u32 total = 0;
        for (size_t b = 0; b < buckets; ++b) {
            start_[b] = total;
            for (auto& each : at) total += std::exchange(each[b], total);
        }
        start_[buckets] = total;
        rows_.resize(total);
        parallel(team_, [&](int t) {
            each_of(part(points_.n, t, team_), [&](i64 i) {
                if (inside[i]) rows_[at[t][bucket_of(codes[i])]++] = {codes[i], static_cast<u32>(i)};
            });
        });
    }

    std::vector<Job> make_jobs(const Divider<W>& divider) const {
        std::vector<Job> jobs;
        add_jobs(divider, {0, u32{1} << digit_, bits_}, jobs);
        return jobs;
    }
    void add_jobs(const Divider<W>& divider, Job job, std::vector<Job>& jobs) const {
        const u32 begin = start_[job.low], count = start_[job.high] - begin,
                  middle = (job.low + job.high) / 2;
        if (count == 0) return;
        if (job.high - job.low == 1 || divider.is_light(&rows_[begin], count)) return jobs.push_back(job);
        add_jobs(divider, {job.low, middle, job.bits - 1}, jobs);
        add_jobs(divider, {middle, job.high, job.bits - 1}, jobs);
    }

    void run(const Job& job, Array<Row>& spare, Divider<W>& divider) {
        const u32 begin = start_[job.low], count = start_[job.high] - begin;
        divider.write_to(sorted_, begin);
        if (job.high - job.low > 1) return divider.add_leaf(&rows_[begin], count, job.bits);
        if (spare.size() < count) spare.resize(count);
        divider.divide(&rows_[begin], spare.data(), count, job.bits);
    }

    LeafSet<W> joined(std::vector<Divider<W>>& dividers) {
        LeafSet<W> all = std::move(dividers[0].leaves);
        for (int t = 1; t < team_; ++t) {
            const LeafSet<W>& more = dividers[t].leaves;
            append(all.first, more.first);
            append(all.weights, more.weights);
            append(all.sums, more.sums);
            append(all.codes, more.codes);
            append(all.bits, more.bits);
            dividers[0].squares.add(dividers[t].squares);
        }
        all.first.push_back(static_cast<u32>(sorted_.size()));
        all.rows = std::move(sorted_);
        all.squares = dividers[0].squares.value();
        return all;
    }
    template <class T>
    static void append(Array<T>& all, const Array<T>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    const Points& points_;
    const u64* weights_;
    const Lattice& lattice_;
    u64 limit_;
    Interleave<W> interleave_;
    int team_, bits_, digit_;
    std::vector<u32> start_;  // of each bucket in the rows, and their number
    Array<Row> rows_;
    Array<u32> sorted_;  // rows in the order of leaves
};

}  // namespace detail

// IN weights (n,), or null for 1 each: points of weight 0 and points outside belong to no leaf; limit: the
// largest weight of a box that is not halved further. Points with equal codes are never divided.
template <int W>
LeafSet<W> make_leaf_set(const Points& points, const u64* weights, const Lattice& lattice, u64 limit,
                         int n_threads) {
    return detail::LeafBuilder<W>(points, weights, lattice, limit, n_threads).run();
}

// OUT found (n,): the leaf whose box holds each point, -1 for none. IN codes and bits (m,) of the leaves.
template <int W>
void find_leaves(const Points& points, const Lattice& lattice, const Code<W>* codes, const u16* bits, i64 m,
                 i32* found, int n_threads) {
    const Interleave<W> interleave(lattice.d);
    const int total = interleave.total_bits(), digit = std::min(total, 16);
    std::vector<u32> start((size_t{1} << digit) + 1, 0);  // of the leaves with each first bits
    for (i64 k = 0; k < m; ++k) ++start[bits_of(codes[k], total - digit, digit) + 1];
    for (size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
    const int team = team_size(points.n, 1 << 12, n_threads);
    with_type(points.dtype, [&](auto type) {
        parallel(team, [&](int t) {
            detail::Placer<W> placer(lattice, interleave);
            each_block(part(points.n, t, team), [&](i64 first, int count) {
                placer.template place<decltype(type)>(points, first, count);
                for (int i = 0; i < count; ++i) {
                    found[first + i] = -1;
                    if (!placer.inside(i)) continue;
                    const Code<W> code = placer.code(i);
                    const u32 bin = bits_of(code, total - digit, digit);
                    const i64 k =
                        std::upper_bound(codes + start[bin], codes + start[bin + 1], code) - codes - 1;
                    if (k >= 0 && first_difference(codes[k], code) <= bits[k])
                        found[first + i] = static_cast<i32>(k);
                }
            });
        });
    });
}

}  // namespace mspp
