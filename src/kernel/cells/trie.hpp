// The trie of sorted cells, and the walk over each row of cells with its neighbouring rows.
//
// Sorted lexicographically, cells form a trie: the values of the first axis, below each those of the second,
// and so on. The last level are the cells; cells that differ in the last axis only are a row, contiguous in
// memory. The walk finds the rows next to a row on the way down, by pointers that only move forward. Its cost
// follows the occupied cells: it never visits a whole window that holds fewer cells, and d has no limit.
//
// In many features most nodes have one child, and a walk to the end would read a chain of nodes for every
// pair of rows. Once few rows are left below a node, the walk therefore compares them directly
// (row_table.hpp).
#pragma once

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"
#include "kernel/cells/row_table.hpp"

namespace mspp {

// The inner levels of the trie over sorted, distinct cells. Cells can be marked as changed; every node above
// a changed cell is then marked too.
class Trie {
  public:
    struct Level {
        std::vector<i64> value;
        std::vector<u32> first_child;  // one more than values: the end of the last one's children
        std::vector<char> changed;
        std::vector<u32> first_row;  // below each node, and the end; only if there is a table of rows
    };

    // IN changed (m,), or null: all are.
    template <class K>
    void build(const K& keys, const char* changed = nullptr) {
        const i64 m = keys.size();
        const int inner = keys.axes() - 1;
        levels_.resize(static_cast<size_t>(inner));
        for (Level& level : levels_) {
            level.value.clear();
            level.first_child.clear();
            level.changed.clear();
            level.first_row.clear();
        }
        const bool table = RowTable::is_worthwhile(inner);
        auto next_child = [&](int l, i64 i) {
            return static_cast<u32>(l == inner - 1 ? i : static_cast<i64>(levels_[l + 1].value.size()));
        };
        each_of({0, m}, 4 * keys.axes(), [&](i64 i) {
            for (int l = i == 0 ? 0 : keys.first_difference(i - 1, i); l < inner; ++l) {
                if (table) levels_[l].first_row.push_back(static_cast<u32>(levels_.back().value.size()));
                levels_[l].first_child.push_back(next_child(l, i));
                levels_[l].value.push_back(keys.at(i, l));
                levels_[l].changed.push_back(0);
            }
            if (!changed || changed[i])
                for (Level& level : levels_) level.changed.back() = 1;
        });
        for (int l = 0; l < inner; ++l) levels_[l].first_child.push_back(next_child(l, m));
        size_ = m;
        if (!table) return rows_.clear();
        for (Level& level : levels_) level.first_row.push_back(static_cast<u32>(levels_.back().value.size()));
        rows_.build(keys, levels_.back().first_child);
    }
    const RowTable& rows() const { return rows_; }
    const std::vector<Level>& levels() const { return levels_; }
    // The number of nodes of the top level, or of cells if that is the only level.
    u32 top() const {
        return static_cast<u32>(levels_.empty() ? size_ : static_cast<i64>(levels_[0].value.size()));
    }

  private:
    std::vector<Level> levels_;
    RowTable rows_;
    i64 size_ = 0;
};

// An axis that repeats after a number of cells; `start` is the value of its cell 0.
struct PeriodicAxis {
    int j;
    i64 start, period;
};

// Target cells that a walk found beyond an edge of a period: they lie `by` cells further along an axis, and
// perhaps were found beyond an edge of an axis above too.
struct Wrap {
    const Wrap* above;
    int j;
    i64 by;
};

struct Span {
    u32 begin, end;
    const Wrap* wrap = nullptr;
};

// Calls row(first, last, rows) for every row of query cells in a range: `rows` are the spans of target cells
// whose first d-1 coordinates each differ by at most `reach` from the row's. Branches with no changed target
// cell near them are skipped. With a smaller depth the walk stops that many levels down, and calls `row` with
// subtrees instead of rows.
//
// On the periodic axes that it is given, the walk looks beyond the edges. Those of the last axes need ghosts
// (periods.hpp).
template <class RowFn>
class Walk {
  public:
    // IN periodic: in rising order, above the depth.
    Walk(const Trie& query, const Trie& target, const std::vector<PeriodicAxis>& periodic, RowFn row,
         i64 reach, size_t depth)
        : query_(query),
          target_(target),
          row_(std::move(row)),
          reach_(reach),
          depth_(depth),
          compares_rows_(periodic.empty() && depth == query.levels().size() && !query.rows().empty() &&
                         !target.rows().empty()),
          nodes_(depth + 1),
          near_(depth + 1),
          periodic_(periodic.empty() ? 0 : depth, nullptr),
          first_(periodic_.size()) {
        for (const PeriodicAxis& axis : periodic) periodic_[static_cast<size_t>(axis.j)] = &axis;
    }

    // Descends level by level, on a stack of its own: recursion would overflow a thread's if d is large.
    // Neither the range nor the target is empty.
    void run(Range cells) {
        set_bounds(cells);
        near_[0].assign(1, {0, target_.top()});
        size_t l = 0;
        enter(0, bounds_[0]);
        while (true) {
            poll_(static_cast<i64>(near_[l].size()));
            Span& left = nodes_[l];
            if (l == depth_) {
                row_(left.begin, left.end, near_[l]);
                left.begin = left.end;
            }
            if (left.begin == left.end) {
                if (l == 0) return;
                --l;
                continue;
            }
            const u32 q = left.begin++;
            const Trie::Level& level = query_.levels()[l];
            if (!find_near(l, level.value[q])) continue;
            if (compares_rows_ && few_rows(l, q)) {
                compare_rows(l, q);
            } else {
                ++l;
                enter(l, {level.first_child[q], level.first_child[q + 1]});
            }
        }
    }

  private:
    void set_bounds(Range cells) {
        const auto& levels = query_.levels();
        bounds_.assign(levels.size() + 1, {});
        Span span{static_cast<u32>(cells.begin), static_cast<u32>(cells.end)};
        bounds_.back() = span;
        for (size_t l = levels.size(); l-- > 0;) {
            const auto& first = levels[l].first_child;
            auto parent = [&](u32 child) {
                return static_cast<u32>(std::upper_bound(first.begin(), first.end() - 1, child) -
                                        first.begin() - 1);
            };
            span = {parent(span.begin), parent(span.end - 1) + 1};
            bounds_[l] = span;
        }
    }

    const PeriodicAxis* periodic(size_t l) const { return l < periodic_.size() ? periodic_[l] : nullptr; }

    void enter(size_t l, Span nodes) {
        nodes_[l] = {std::max(nodes.begin, bounds_[l].begin), std::min(nodes.end, bounds_[l].end)};
        if (!periodic(l)) return;
        first_[l].clear();
        for (const Span& span : near_[l]) first_[l].push_back(span.begin);
    }

    // OUT near_[l + 1]: the children of the nodes of level l that are near a value. Returns whether one of
    // them has changed.
    bool find_near(size_t l, i64 v) {
        const auto& target = target_.levels()[l];
        bool changed = false;
        near_[l + 1].clear();
        for (Span& span : near_[l]) {
            while (span.begin < span.end && target.value[span.begin] < v - reach_) ++span.begin;
            for (u32 k = span.begin; k < span.end && target.value[k] <= v + reach_; ++k) {
                near_[l + 1].push_back({target.first_child[k], target.first_child[k + 1], span.wrap});
                changed |= target.changed[k] != 0;
            }
        }
        return find_beyond(l, v) || changed;
    }

    // Whether few rows are below query node q of level l, and below each of the nodes near it.
    bool few_rows(size_t l, u32 q) const {
        if (l + kFewestAxes >= depth_) return false;
        const auto& own = query_.levels()[l].first_row;
        if (own[q + 1] - own[q] > kFewRows) return false;
        const auto& first_row = target_.levels()[l + 1].first_row;
        size_t rows = 0;
        for (const Span& span : near_[l + 1]) rows += first_row[span.end] - first_row[span.begin];
        return rows <= kFewRows * near_[l + 1].size();
    }

    // Compares each row below a query node with all rows below the nodes near it, along the axes below.
    void compare_rows(size_t l, u32 q) {
        const Trie::Level &own = query_.levels().back(), &target = target_.levels().back();
        const auto& first_row = target_.levels()[l + 1].first_row;
        const Span rows = bounds_[depth_ - 1], cells = bounds_[depth_];
        const u32 last = std::min(query_.levels()[l].first_row[q + 1], rows.end);
        std::vector<Span>& near = near_[depth_];
        for (u32 r = std::max(query_.levels()[l].first_row[q], rows.begin); r < last; ++r) {
            bool changed = false;
            near.clear();
            for (const Span& span : near_[l + 1]) {
                poll_(span.end - span.begin);
                for (u32 k = first_row[span.begin]; k < first_row[span.end]; ++k) {
                    if (!query_.rows().is_near(r, target_.rows(), k, l + 1, reach_)) continue;
                    near.push_back({target.first_child[k], target.first_child[k + 1]});
                    changed |= target.changed[k] != 0;
                }
            }
            if (changed)
                row_(std::max(own.first_child[r], cells.begin), std::min(own.first_child[r + 1], cells.end),
                     near);
        }
    }

    // Adds the nodes beyond an edge of the period to near_[l + 1].
    bool find_beyond(size_t l, i64 v) {
        const PeriodicAxis* axis = periodic(l);
        if (!axis) return false;
        while (!wraps_.empty() && wraps_.back().j >= axis->j) wraps_.pop_back();  // of branches before
        const i64 low = axis->start + reach_ - v, high = v + reach_ - (axis->start + axis->period - 1);
        if (low <= 0 && high <= 0) return false;  // the number of cells beyond each edge
        const auto& target = target_.levels()[l];
        bool changed = false;
        for (size_t s = 0; s < near_[l].size(); ++s) {
            const Span& span = near_[l][s];
            auto add = [&](u32 k, i64 by) {
                wraps_.push_back({span.wrap, axis->j, by});
                near_[l + 1].push_back({target.first_child[k], target.first_child[k + 1], &wraps_.back()});
                changed |= target.changed[k] != 0;
            };
            for (u32 k = span.end; k-- > span.begin && target.value[k] >= v - reach_ + axis->period;)
                add(k, -axis->period);
            for (u32 k = first_[l][s]; k < span.end && target.value[k] <= v + reach_ - axis->period; ++k)
                add(k, axis->period);
        }
        return changed;
    }

    static constexpr size_t kFewRows = 4;  // fewer nodes are read than rows compared if more rows share them
    static constexpr size_t kFewestAxes = 3;  // left to compare

    const Trie& query_;
    const Trie& target_;
    RowFn row_;
    i64 reach_;
    size_t depth_;
    bool compares_rows_;
    Poller poll_;
    std::vector<Span> bounds_;             // per level: the nodes above the range of query cells
    std::vector<Span> nodes_;              // per level: the query nodes not yet visited
    std::vector<std::vector<Span>> near_;  // per level: the children of neighbouring nodes not yet passed
    std::vector<const PeriodicAxis*> periodic_;  // per level, null if not periodic
    std::vector<std::vector<u32>> first_;        // per level if periodic: the first child of near_
    std::deque<Wrap> wraps_;                     // of the spans in near_
};

}  // namespace mspp
