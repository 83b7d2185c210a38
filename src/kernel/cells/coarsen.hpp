// Coarsening: the grid of cells k times as wide, from the grid alone.
//
// The rows of a slab, the coarse cells with one first coordinate, follow each other in the fine grid. If the
// box is small enough, they are summed in a table of all cells of the slab, which is then emptied in order.
// Otherwise rows are merged by their keys.
#pragma once

#include "kernel/base/divisor.hpp"
#include "kernel/base/limits.hpp"
#include "kernel/cells/merge.hpp"

namespace mspp {

// The sum of a fine cell in its coarse cell, in which it is the `rest`-th along an axis: the quotient
// (rest * count * 2^32 + sum) / k, rounded to the nearest number, halves up.
inline u64 coarse_sum(u64 rest, u64 count, u64 sum, Divisor k) {
    constexpr u64 mask = (u64{1} << kOffsetBits) - 1;
    const u64 whole = rest * count + (sum >> kOffsetBits), half = k.value() / 2;
    if (whole >> (63 - kOffsetBits) == 0) return k.quotient((whole << kOffsetBits) + (sum & mask) + half);
    const u64 quotient = k.quotient(whole);  // in two steps: the dividend may exceed 64 bits
    const u64 part = ((whole - quotient * k.value()) << kOffsetBits) + (sum & mask);
    return (quotient << kOffsetBits) + k.quotient(part + half);
}

// A fine grid, and the box of the coarse cells.
struct Coarsening {
    const GridView& grid;
    Divisor k;
    Box box;
    std::vector<i64> start;  // the lower edge of the box, in fine cells

    Coarsening(const GridView& fine, i64 factor) : grid(fine), k(static_cast<u64>(factor)), box(fine.d) {
        box.add(fine.cells, fine.m);
        for (auto* ends : {&box.low, &box.high})
            for (i64& end : *ends) end = end / factor - (end % factor < 0);
        for (i64 low : box.low) start.push_back(low * factor);
    }
    u64 slab(i64 i) const { return k.quotient(static_cast<u64>(grid.cells[i * grid.d] - start[0])); }
};

// The table of a slab: counts and sums of each of its cells.
template <int D>
class Slab {
  public:
    static bool is_worthwhile(const Box& box, i64 m) {
        double slots = 1;
        for (size_t j = 1; j < box.low.size(); ++j) slots *= static_cast<double>(box.extent(j));
        const double all = slots * static_cast<double>(box.extent(0));
        return slots <= kMaxSlots && all < 0x1p62 && BitRank::is_worthwhile(static_cast<u64>(all), m);
    }

    explicit Slab(const Coarsening& work) : work_(work) {
        std::copy(work.start.begin(), work.start.end(), start_);
        for (int j = D - 1; j > 0; --j) {
            stride_[j] = slots_;
            slots_ *= work.box.extent(j);
        }
        moments_.assign(slots_ * (D + 1), 0);
        marks_.assign(slots_ / 64 + 1, 0);
    }

    // OUT coarse: the cells of the slabs in a range of rows are appended.
    void run(Range rows, GridData& coarse) {
        const Divisor k = work_.k;
        u64 slab = 0, end = 0;  // the current slab, and its end in fine cells
        for (i64 i = rows.begin; i < rows.end; ++i) {
            const i64* cell = work_.grid.cells + i * D;
            poll_(D);
            const u64* sums = work_.grid.sums + i * D;
            const u64 count = work_.grid.counts[i], first = static_cast<u64>(cell[0] - start_[0]);
            if (first >= end) {
                empty(slab, coarse);
                slab = k.quotient(first);
                end = (slab + 1) * k.value();
            }
            u64 slot = 0, rest[D];
            rest[0] = first - slab * k.value();
            for (int j = 1; j < D; ++j) {
                const u64 offset = static_cast<u64>(cell[j] - start_[j]), at = k.quotient(offset);
                rest[j] = offset - at * k.value();
                slot += at * stride_[j];
            }
            marks_[slot / 64] |= u64{1} << (slot % 64);
            u64* moments = &moments_[slot * (D + 1)];
            moments[0] += count;
            for (int j = 0; j < D; ++j) moments[j + 1] += coarse_sum(rest[j], count, sums[j], k);
        }
        empty(slab, coarse);
    }

  private:
    static constexpr double kMaxSlots = 1 << 17;  // a few megabytes

    void empty(u64 slab, GridData& coarse) {
        const auto& low = work_.box.low;
        i64 cell[D];
        cell[0] = low[0] + static_cast<i64>(slab);
        for (size_t word = 0; word < marks_.size(); ++word)
            for (u64 marks = std::exchange(marks_[word], 0); marks; marks &= marks - 1) {
                const u64 slot = word * 64 + static_cast<u64>(std::countr_zero(marks));
                u64* moments = &moments_[slot * (D + 1)];
                u64 left = slot;
                for (int j = 1; j < D; ++j) {
                    cell[j] = low[j] + static_cast<i64>(left / stride_[j]);
                    left %= stride_[j];
                }
                coarse.append(cell, moments);
                std::fill(moments, moments + D + 1, u64{0});
            }
    }

    const Coarsening& work_;
    Poller poll_;
    u64 slots_ = 1;
    u64 stride_[D]{};
    i64 start_[D];
    Array<u64> moments_;      // (slots, 1 + D): the count and the sums
    std::vector<u64> marks_;  // a bit for each slot
};

template <int D>
GridData coarsen_by_slabs(const Coarsening& work, int team) {
    const i64 m = work.grid.m;
    auto border = [&](i64 i) {  // no slab is divided between threads
        while (i > 0 && i < m && work.slab(i) == work.slab(i - 1)) ++i;
        return i;
    };
    std::vector<GridData> parts(static_cast<size_t>(team), GridData{D, {}, {}, {}});
    parallel(team, [&](int t) {
        const Range rows = part(m, t, team);
        Slab<D>(work).run({border(rows.begin), border(rows.end)}, parts[static_cast<size_t>(t)]);
    });
    for (size_t t = 1; t < parts.size(); ++t) parts[0].append(parts[t]);
    return std::move(parts[0]);
}

inline GridData coarsen_by_keys(const Coarsening& work, int team) {
    const GridView& grid = work.grid;
    const Divisor k = work.k;
    GridData rows{grid.d, {}, {}, {}};
    rows.resize(grid.m);
    parallel(team, [&](int t) {
        each_of(part(grid.m, t, team), 4 * grid.d, [&](i64 i) {
            rows.counts[i] = grid.counts[i];
            for (int j = 0; j < grid.d; ++j) {
                const i64 at = i * grid.d + j;
                const u64 offset = static_cast<u64>(grid.cells[at] - work.start[j]), to = k.quotient(offset);
                rows.cells[at] = work.box.low[j] + static_cast<i64>(to);
                rows.sums[at] = coarse_sum(offset - to * k.value(), grid.counts[i], grid.sums[at], k);
            }
        });
    });
    Array<u32> ranks;
    return merge(rows.view(), ranks);
}

// The grid of cells that are `factor` times as wide along each axis, the same for any number of threads. A
// sum is rounded once for each fine cell.
inline GridData coarsen(const GridView& grid, i64 factor, int n_threads) {
    if (grid.m == 0) return {grid.d, {}, {}, {}};
    const Coarsening work(grid, factor);
    const int team = team_size(grid.m, 1 << 15, n_threads);
    return with_keys(work.box, [&](auto D) {
        if constexpr (D > 0)
            if (Slab<D>::is_worthwhile(work.box, grid.m)) return coarsen_by_slabs<D>(work, team);
        return coarsen_by_keys(work, team);
    });
}

}  // namespace mspp
