// Piles: many points with equal values, which are not that many observations of one place.
//
// A rounded value stands for all values that round to it, so a heavy point of rounded features is spread
// evenly over its step. A pile at the end of a clipped scale is spread outwards. Any other repeated point
// counts less: its share of the effective sample size (Kish 1965). The middle of a cell of a tally stands for
// points anywhere in that cell.
#pragma once

#include <numeric>

#include "kernel/leaves/hash_row.hpp"
#include "kernel/leaves/tree_leaves.hpp"

namespace mspp {

// Distinct points by their coordinates, with counts.
struct Weighted {
    Array<i64> coordinates;  // (n, d)
    Array<u64> counts;
    Poller poll{};

    size_t size() const { return counts.size(); }
    // OUT the row of a new point, a copy of `row`.
    i64* add(const i64* row, size_t d, u64 count) {
        coordinates.insert(coordinates.end(), row, row + d);
        counts.push_back(count);
        poll(static_cast<i64>(8 + d));
        return &coordinates[coordinates.size() - d];
    }
};

// How many rows a count stands for. IN row: the counts of one row, more than 1 for real weights.
inline u64 rows_of(u64 count, u64 row) { return std::max<u64>((count + row / 2) / row, 1); }

namespace detail {

// How many points each point of a pile becomes: at least 32, none above the limit, and no more than rows.
// If piles along many features would multiply them to more than memory holds, there are fewer.
class EndCopies {
  public:
    EndCopies(const Weighted& points, const TreeLattice& lattice, const EndPile& end, u64 limit, u64 row)
        : limit_(limit), row_(row) {
        const size_t d = lattice.d();
        for (u64 more = kMostMore + 1; more > kMostMore && least_ > 1;) {
            more = 0;
            for (size_t i = 0; i < points.size(); ++i)
                if (end.holds(points.coordinates[i * d + end.feature], lattice))
                    more += of(points.counts[i]) - 1;
            if (more > kMostMore) least_ /= 2;
        }
    }
    u64 of(u64 count) const {
        return std::min({count, rows_of(count, row_), std::max((count + limit_ - 1) / limit_, least_)});
    }

  private:
    static constexpr u64 kMostMore = u64{1} << 21;

    u64 limit_, row_, least_ = 32;
};

}  // namespace detail

// Spreads piles outwards.
inline Weighted spread_ends(Weighted points, const TreeLattice& lattice, const EndPiles& ends, u64 limit,
                            u64 row = 1) {
    const size_t d = lattice.d();
    std::vector<size_t> used;  // a constant feature must not change where points are
    for (size_t j = 0; j < d; ++j)
        if (lattice.is_used(j)) used.push_back(j);
    for (size_t number = 0; number < ends.size(); ++number) {
        const EndPile& end = ends[number];
        const detail::EndCopies copies_of(points, lattice, end, limit, row);
        Weighted next;
        for (size_t i = 0; i < points.size(); ++i) {
            const i64* point = &points.coordinates[i * d];
            const u64 count = points.counts[i];
            if (!end.holds(point[end.feature], lattice)) {
                next.add(point, d, count);
                continue;
            }
            const u64 copies = copies_of.of(count);
            const u64 random = mix_bits(hash_row(point, used) + (number + 1) * kGolden);
            const double uniform = static_cast<double>(random >> 11) * 0x1p-53;
            for (u64 k = 0; k < copies; ++k) {
                const double part = (static_cast<double>(k) + uniform) / static_cast<double>(copies);
                i64* copy = next.add(point, d, count * (k + 1) / copies - count * k / copies);
                copy[end.feature] += end.move(part, lattice);
            }
        }
        points = std::move(next);
    }
    return points;
}

namespace detail {

// Divides heavy points evenly over the steps of rounded features.
class StepSpreader {
  public:
    // IN steps in coordinates, 0 for none; limit: the weight up to which points stay as they are; row: the
    // counts of one row.
    StepSpreader(const std::vector<double>& steps, u64 limit, u64 row)
        : steps_(steps), limit_(limit), row_(row) {
        for (size_t j = 0; j < steps.size(); ++j)
            if (steps[j] >= kLeastStep) rounded_.push_back(j);
    }
    static constexpr double kLeastStep = 3;

    Weighted run(const Weighted& points) const {
        Weighted spread;
        const size_t d = steps_.size();
        for (size_t i = 0; i < points.size(); ++i) {
            const i64* row = &points.coordinates[i * d];
            if (rounded_.empty() || points.counts[i] <= limit_)
                spread.add(row, d, points.counts[i]);
            else
                divide(row, points.counts[i], spread);
        }
        return spread;
    }

  private:
    static constexpr u64 kMostParts = u64{1} << 31;

    // The number of points along each feature: odd, so that one stays in the middle.
    u64 parts_of(u64 count) const {
        const double wanted = static_cast<double>(count) / static_cast<double>(limit_);
        const size_t k = rounded_.size();
        const double root = k == 1   ? wanted
                            : k == 2 ? std::sqrt(wanted)
                                     : std::pow(wanted, 1 / static_cast<double>(k));
        double least = HUGE_VAL;
        for (const size_t j : rounded_) least = std::min(least, steps_[j]);
        return std::min(static_cast<u64>(std::ceil(root)) | 1, static_cast<u64>(least - 1) | 1);
    }

    void divide(const i64* row, u64 count, Weighted& spread) const {
        const u64 m = parts_of(count);
        size_t axes = 0;  // fewer than are rounded if there were too many parts
        u64 total = 1;
        while (axes < rounded_.size() && total * m <= kMostParts) {
            total *= m;
            ++axes;
        }
        const u64 used = std::min({count, rows_of(count, row_), total});  // parts of a count above 0
        for (u64 part = 0; part < used; ++part) {
            const u64 k = used == total ? part : place_of(part, used, total);
            const u64 share = count * (part + 1) / used - count * part / used;
            i64* moved = spread.add(row, steps_.size(), share);
            u64 rest = k;
            for (size_t r = axes; r-- > 0; rest /= m) {
                const double place = (static_cast<double>(rest % m) + 0.5) / static_cast<double>(m) - 0.5;
                moved[rounded_[r]] += static_cast<i64>(std::rint(place * steps_[rounded_[r]]));
            }
        }
    }

    // Places single points evenly in more parts than there are points, one of them in the middle, where the
    // pile itself is looked up. IN total: odd.
    static u64 place_of(u64 point, u64 count, u64 total) {
        return count % 2 == 0 && point == count / 2 ? total / 2 : (2 * point + 1) * total / (2 * count);
    }

    const std::vector<double>& steps_;
    u64 limit_, row_;
    std::vector<size_t> rounded_;
};

}  // namespace detail

// IN steps in coordinates, 0 for none.
inline Weighted spread_steps(const Weighted& points, const std::vector<double>& steps, u64 limit,
                             u64 row = 1) {
    return detail::StepSpreader(steps, limit, row).run(points);
}

// Divides heavy cells into points that lie at random in them, one in the middle, where the cell is looked up.
// A regular order would be seen by windows of few points. The parts of a cell have about half of the limit,
// so that several of them can share a leaf. IN widths: 0 for a constant feature.
inline Weighted spread_cells(const Weighted& cells, const std::vector<double>& widths, u64 limit,
                             u64 row_counts) {
    const size_t d = widths.size();
    std::vector<size_t> used;
    for (size_t j = 0; j < d; ++j)
        if (widths[j] > 0) used.push_back(j);
    Weighted spread;
    for (size_t i = 0; i < cells.size(); ++i) {
        const i64* row = &cells.coordinates[i * d];
        const u64 count = cells.counts[i],
                  parts = std::min(rows_of(count, row_counts), 2 * ((count + limit - 1) / limit) - 1);
        u64 random = hash_row(row, used);
        for (u64 part = 0; part < parts; ++part) {
            i64* point = spread.add(row, d, count * (part + 1) / parts - count * part / parts);
            if (part == 0) continue;
            for (const size_t j : used) {
                random = mix_bits(random + kGolden);
                const double place = static_cast<double>(random >> 11) * 0x1p-53 - 0.5;
                point[j] += static_cast<i64>(std::rint(place * widths[j]));
            }
        }
    }
    return spread;
}

// The counts of repeated points by their share of the effective sample size.
inline void make_effective(Array<u64>& counts) {
    double sum = 0, squares = 0;
    for (const u64 count : counts) {
        const double weight = static_cast<double>(count);
        sum += weight;
        squares += weight * weight;
    }
    for (u64& count : counts)
        count = std::max<u64>(static_cast<u64>(std::rint(static_cast<double>(count) * (sum / squares))), 1);
}

// Points of which many are equal, and the leaves of their spread piles.
class Piles {
  public:
    // IN single: leaves of one coordinate each; total: the weight of all points; whole: whether a weight of w
    // stands for w equal points; row: the counts of one row, 1 for whole weights;
    // grain (d,): the width of the cells whose middles the points are, 0 or null for none.
    Piles(const Features& features, const TreeLattice& lattice, const EndPiles& ends,
          const TreeLeaves& single, double total, bool whole, u64 row = 1, const double* grain = nullptr)
        : lattice_(lattice),
          ends_(ends),
          distinct_{{}, {single.weights.begin(), single.weights.end()}},
          row_(row) {
        const size_t d = lattice_.d();
        for (size_t i = 0; i < single.positions.size(); ++i)
            distinct_.coordinates.push_back(
                static_cast<i64>(std::floor(single.positions[i] / lattice_.scale[i % d])));
        size_t n_used = 0;  // a constant feature must not change how the others are rounded
        for (size_t j = 0; j < d; ++j) n_used += lattice_.is_used(j);
        const double n_distinct = n_used > 1 ? static_cast<double>(single.size()) : total;
        for (size_t j = 0; j < d; ++j)
            steps_.push_back(lattice_.is_used(j) ? features[j].step(n_distinct) / lattice_.units[j] : 0);
        for (size_t j = 0; j < d; ++j)
            widths_.push_back(grain && lattice_.is_used(j) ? grain[j] / lattice_.units[j] : 0);
        auto is_rounded = [](double step) { return step >= detail::StepSpreader::kLeastStep; };
        const bool rounded = std::any_of(steps_.begin(), steps_.end(), is_rounded);
        has_cells_ = std::any_of(widths_.begin(), widths_.end(), is_rounded);
        for (size_t j = 0; j < d; ++j) widths_[j] = std::max(widths_[j], steps_[j]);
        if (whole && !has_cells_ && !rounded) make_effective(distinct_.counts);
    }

    // The counts of all points.
    u64 total() const { return std::accumulate(distinct_.counts.begin(), distinct_.counts.end(), u64{0}); }

    // The leaves of at most `limit` counts each. OUT found: the leaf of each distinct point, -1 for none.
    TreeLeaves leaves(u64 limit, Array<i32>& found, int n_threads) const {
        const size_t d = lattice_.d();
        const WholeCells cells(lattice_);
        const Weighted outwards = spread_ends(distinct_, lattice_, ends_, limit, row_);
        const Weighted spread = has_cells_ ? spread_cells(outwards, widths_, limit, row_)
                                           : spread_steps(outwards, steps_, limit, row_);
        TreeLeaves leaves = build_leaves(points_of(spread.coordinates, d), spread.counts.data(), lattice_,
                                         cells.view(), limit, n_threads)
                                .first;
        Array<i64> placed = distinct_.coordinates;
        place_ends(placed, lattice_, ends_);
        found.resize(distinct_.size());
        find_leaves(points_of(placed, d), cells.view(), leaves.codes.data(), leaves.bits.data(),
                    static_cast<i64>(leaves.size()), found.data(), n_threads);
        return leaves;
    }

  private:
    TreeLattice lattice_;
    EndPiles ends_;
    Weighted distinct_;
    std::vector<double> steps_, widths_;  // of rounded features and of cells, in coordinates; 0 for none
    bool has_cells_ = false;              // the points are middles of cells
    u64 row_;
};

}  // namespace mspp
