// Slow, readable versions of the kernel's operations, and random input for both.
//
// They share no code with the kernel but its constants and structs: maps instead of tables, pairs of cells
// instead of walks, and 128-bit sums (of GCC and Clang) instead of sums modulo 2^64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "kernel/cells/grid.hpp"
#include "kernel/cells/points.hpp"

namespace oracle {

using namespace mspp;
using Cell = std::vector<i64>;

// Input

struct Cloud {
    int d;
    std::vector<double> x;  // (n, d)
    i64 n() const { return static_cast<i64>(x.size()) / d; }
    Points points() const {
        const i64 item = sizeof(double);
        return {reinterpret_cast<const char*>(x.data()), Dtype::f64, n(), d, item * d, item};
    }
};

// Blobs on both sides of zero; every tenth coordinate is a whole number, on the edge of a cell.
inline Cloud make_cloud(u32 seed, i64 n, int d, double spread = 1.0) {
    std::mt19937_64 random(seed);
    auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    Cloud cloud{d, {}};
    for (i64 i = 0; i < n; ++i) {
        const double centre = static_cast<double>(random() % 4) * 3 - 5;
        for (int j = 0; j < d; ++j) {
            const double x = centre + spread * (uniform() + uniform() + uniform() - 1.5);
            cloud.x.push_back(random() % 10 == 0 ? std::round(x) : x);
        }
    }
    return cloud;
}

inline std::vector<u64> make_weights(u32 seed, i64 n) {
    std::mt19937_64 random(seed);
    std::vector<u64> weights;
    for (i64 i = 0; i < n; ++i) weights.push_back(random() % 4);
    return weights;
}

// Binning

inline Cell cell_of_point(const double* x, int d, double h) {
    Cell cell;
    for (int j = 0; j < d; ++j) cell.push_back(static_cast<i64>(std::floor(x[j] / h)));
    return cell;
}

// The count and the sums of offsets of each occupied cell, in lexicographic order.
inline GridData bin(const Cloud& cloud, double h, const u64* weights) {
    const int d = cloud.d;
    std::map<Cell, std::vector<u64>> rows;
    for (i64 i = 0; i < cloud.n(); ++i) {
        const u64 w = weights ? weights[i] : 1;
        if (w == 0) continue;
        const double* x = &cloud.x[i * d];
        std::vector<u64>& row = rows[cell_of_point(x, d, h)];
        row.resize(static_cast<size_t>(d + 1));
        row[0] += w;
        for (int j = 0; j < d; ++j) {
            const double q = x[j] / h;
            row[j + 1] += w * static_cast<u64>(std::nearbyint(std::ldexp(q - std::floor(q), kOffsetBits)));
        }
    }
    GridData grid{d, {}, {}, {}};
    for (const auto& [cell, row] : rows) grid.append(cell.data(), row.data());
    return grid;
}

inline bool equal(const GridData& a, const GridData& b) {
    return a.d == b.d && a.cells == b.cells && a.counts == b.counts && a.sums == b.sums;
}

// Windows

// The steps from cell a to the nearest copy of b along an axis with that period (0: none).
inline i64 steps(i64 a, i64 b, i64 period) {
    i64 by = b - a;
    if (period > 0) {
        by = ((by % period) + period) % period;
        if (by > period / 2) by -= period;
    }
    return by;
}

// Whether cell b is in the window of that reach around cell a. OUT by (d,): the steps to it.
inline bool in_window(const i64* a, const i64* b, int d, const i64* periods, i64 reach, i64* by) {
    bool inside = true;
    for (int j = 0; j < d; ++j) {
        by[j] = steps(a[j], b[j], periods ? periods[j] : 0);
        inside = inside && std::llabs(by[j]) <= reach;
    }
    return inside;
}

inline u64 window_count(const GridData& grid, const i64* query, const i64* periods, i64 reach) {
    std::vector<i64> by(static_cast<size_t>(grid.d));
    u64 total = 0;
    for (i64 k = 0; k < grid.size(); ++k)
        if (in_window(query, &grid.cells[k * grid.d], grid.d, periods, reach, by.data()))
            total += grid.counts[k];
    return total;
}

// The index of the query cell, else of the heaviest cell in its window (the first of equals), else -1.
inline i64 find_cell(const GridData& grid, const i64* query, const i64* periods, i64 reach) {
    std::vector<i64> by(static_cast<size_t>(grid.d));
    i64 best = -1;
    for (i64 k = 0; k < grid.size(); ++k) {
        const i64* cell = &grid.cells[k * grid.d];
        if (std::equal(cell, cell + grid.d, query)) return k;
        if (!in_window(query, cell, grid.d, periods, reach, by.data())) continue;
        if (best < 0 || grid.counts[k] > grid.counts[best]) best = k;
    }
    return best;
}

// The search

struct Result {
    std::vector<i32> cell_labels;
    std::vector<i64> cells;
    std::vector<double> fractions;
    std::vector<u64> weights;
    int n_iter = 0;
};

template <class A, class B>
bool same(const A& a, const B& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Whether two searches, of the kernel or of this file, found the same modes.
template <class A, class B>
bool same_modes(const A& a, const B& b) {
    return same(a.cell_labels, b.cell_labels) && same(a.cells, b.cells) && same(a.fractions, b.fractions) &&
           same(a.weights, b.weights) && a.n_iter == b.n_iter;
}

// Moves the cells until each is alone in its window or rests: after kFreeSteps, a cell rests if its move is
// at most the limit, of at first `tol` cells. Positions have 32 bits: for small grids.
class Search {
  public:
    Search(const GridData& grid, const i64* periods, i64 reach)
        : d_(grid.d), reach_(reach), periods_(periods), label_(static_cast<size_t>(grid.size())) {
        for (i64 i = 0; i < grid.size(); ++i) {
            Group group;
            group.n = static_cast<i64>(grid.counts[i]);
            group.members = {i};
            Cell cell(&grid.cells[i * d_], &grid.cells[i * d_] + d_);
            for (int j = 0; j < d_; ++j)
                group.sum.push_back(static_cast<Wide>(grid.sums[i * d_ + j]) +
                                    Wide{group.n} * (Wide{cell[j]} * kOne + kTie));
            groups_[cell] = group;
        }
    }

    Result run(int max_iter, double tol = 0) {
        int n_iter = 0;
        moving_ = !groups_.empty();
        double limit = tol == 0 ? 0 : std::floor(std::ldexp(tol, kOffsetBits)) + kTie;
        for (; n_iter < max_iter && moving_; ++n_iter) {
            if (n_iter > kFreeSteps && (n_iter - kFreeSteps) % kDoublingSteps == 0) limit *= 2;
            step(n_iter < kFreeSteps ? 0 : static_cast<i64>(std::min(limit, 0x1p50)));
        }
        if (!moving_) join();
        Result found = result();
        found.n_iter = n_iter;
        return found;
    }

  private:
    using Wide = __int128;
    static constexpr i64 kOne = i64{1} << kOffsetBits, kTie = i64{1} << (kOffsetBits - kTieBits);
    struct Group {
        i64 n = 0, joined = 0;  // joined: the weight of groups that belong to this one, but are elsewhere
        std::vector<Wide> sum;  // of absolute positions
        std::vector<i64> members;
        i64 weight() const { return n + joined; }
    };

    void step(i64 limit) {
        std::map<Cell, Group> next;
        moving_ = false;
        for (const auto& [cell, group] : groups_) {
            i64 in_window;
            std::vector<i64> at = mean_of_window(cell, in_window);
            bool is_short = true;
            for (int j = 0; j < d_; ++j) {
                const Wide move = group.sum[j] - Wide{group.n} * at[j];
                is_short = is_short && (move < 0 ? -move : move) <= Wide{group.n} * limit;
            }
            if (is_short && in_window > group.n) at = mean_of(cell, group.sum, group.n);
            moving_ = moving_ || !(is_short || in_window == group.n);
            Cell target(static_cast<size_t>(d_));
            for (int j = 0; j < d_; ++j) {
                target[j] = at[j] >> kOffsetBits;
                moving_ = moving_ || target[j] != cell[j];
                const i64 period = periods_ ? periods_[j] : 0;
                if (period == 0) continue;
                const i64 by = target[j] < 0 ? period : target[j] >= period ? -period : 0;
                target[j] += by;
                at[j] += by * kOne;
            }
            Group& to = next[target];
            to.sum.resize(static_cast<size_t>(d_));
            to.n += group.n;
            for (int j = 0; j < d_; ++j) to.sum[j] += Wide{group.n} * at[j];
            to.members.insert(to.members.end(), group.members.begin(), group.members.end());
        }
        groups_ = std::move(next);
    }

    // Joins each cell to the heaviest one in its window (the first of equals), if that is heavier.
    void join() {
        std::vector<i64> by(static_cast<size_t>(d_));
        std::map<Cell, Cell> towards;
        for (const auto& [cell, group] : groups_) {
            const auto* heaviest = &*groups_.find(cell);
            for (const auto& other : groups_)
                if (in_window(cell.data(), other.first.data(), d_, periods_, reach_, by.data()) &&
                    other.second.n > heaviest->second.n)
                    heaviest = &other;
            towards[cell] = heaviest->first;
        }
        const std::map<Cell, Group> before = groups_;
        for (const auto& [cell, group] : before) {
            Cell root = cell;
            while (towards[root] != root) root = towards[root];
            if (root == cell) continue;
            Group& to = groups_[root];
            to.joined += group.n;
            to.members.insert(to.members.end(), group.members.begin(), group.members.end());
            groups_.erase(cell);
        }
    }

    // The mean position of all points in the window around a cell. OUT n: their number.
    std::vector<i64> mean_of_window(const Cell& cell, i64& n) const {
        std::vector<i64> by(static_cast<size_t>(d_));
        std::vector<Wide> sum(static_cast<size_t>(d_));  // relative to the window's lower corner
        n = 0;
        for (const auto& [other, group] : groups_) {
            if (!in_window(cell.data(), other.data(), d_, periods_, reach_, by.data())) continue;
            n += group.n;
            for (int j = 0; j < d_; ++j) {
                const i64 copy = cell[j] + by[j] - other[j], corner = cell[j] - reach_;
                sum[j] += group.sum[j] + Wide{group.n} * kOne * (copy - corner);
            }
        }
        for (int j = 0; j < d_; ++j) sum[j] += Wide{n} * kOne * (cell[j] - reach_);
        return mean_of(cell, sum, n);
    }

    // The mean of n positions, rounded; it is computed relative to the corner of a cell's window.
    std::vector<i64> mean_of(const Cell& cell, const std::vector<Wide>& sum, i64 n) const {
        std::vector<i64> at;
        for (int j = 0; j < d_; ++j) {
            const i64 corner = (cell[j] - reach_) * kOne;
            const i64 above = static_cast<i64>(sum[j] - Wide{n} * corner);
            at.push_back(corner + static_cast<i64>(
                                      std::nearbyint(static_cast<double>(above) / static_cast<double>(n))));
        }
        return at;
    }

    Result result() {
        std::vector<std::pair<Cell, Group>> order(groups_.begin(), groups_.end());
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.second.weight() > b.second.weight(); });
        Result result;
        for (size_t k = 0; k < order.size(); ++k) {
            const auto& [cell, group] = order[k];
            result.weights.push_back(static_cast<u64>(group.weight()));
            for (int j = 0; j < d_; ++j) {
                const i64 in_cell = static_cast<i64>(group.sum[j] - Wide{group.n} * Wide{cell[j]} * kOne);
                const double mean = static_cast<double>(in_cell) / static_cast<double>(group.n);
                result.cells.push_back(cell[j]);
                result.fractions.push_back(std::ldexp(mean, -kOffsetBits) - std::ldexp(1.0, -kTieBits));
            }
            for (const i64 member : group.members) label_[member] = static_cast<i32>(k);
        }
        result.cell_labels = label_;
        return result;
    }

    int d_;
    i64 reach_;
    const i64* periods_;
    std::map<Cell, Group> groups_;
    bool moving_ = false;  // whether a cell moved in the last step
    std::vector<i32> label_;
};

}  // namespace oracle
