// The trie of sorted cells, and the walk over each row of cells with its neighbouring rows.
//
// Sorted lexicographically, cells form a trie: the values of the first axis, below each those of the second,
// and so on. The last level are the cells; cells that differ in the last axis only are a row, contiguous in
// memory. The walk finds the rows next to a row on the way down, by pointers that only move forward. Its cost
// follows the occupied cells: it never visits a whole window that holds fewer cells, and d has no limit.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

// The inner levels of the trie over sorted, distinct cells. Cells can be marked as changed; every node above
// a changed cell is then marked too.
class Trie {
  public:
    struct Level {
        std::vector<i64> value;
        std::vector<u32> first_child;  // one more than values: the end of the last one's children
        std::vector<char> changed;
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
        }
        auto next_child = [&](int l, i64 i) {
            return static_cast<u32>(l == inner - 1 ? i : static_cast<i64>(levels_[l + 1].value.size()));
        };
        for (i64 i = 0; i < m; ++i) {
            for (int l = i == 0 ? 0 : keys.first_difference(i - 1, i); l < inner; ++l) {
                levels_[l].first_child.push_back(next_child(l, i));
                levels_[l].value.push_back(keys.at(i, l));
                levels_[l].changed.push_back(0);
            }
            if (!changed || changed[i])
                for (Level& level : levels_) level.changed.back() = 1;
        }
        for (int l = 0; l < inner; ++l) levels_[l].first_child.push_back(next_child(l, m));
        size_ = m;
    }
    const std::vector<Level>& levels() const { return levels_; }
    // The number of nodes of the top level, or of cells if that is the only level.
    u32 top() const {
        return static_cast<u32>(levels_.empty() ? size_ : static_cast<i64>(levels_[0].value.size()));
    }

  private:
    std::vector<Level> levels_;
    i64 size_ = 0;
};

struct Span {
    u32 begin, end;
};

// Calls row(first, last, rows) for every row of query cells in a range: `rows` are the spans of target cells
// whose first d-1 coordinates each differ by at most `reach` from the row's. Branches with no changed target
// cell near them are skipped. With a smaller depth the walk stops that many levels down, and calls `row` with
// subtrees instead of rows.
template <class RowFn>
class Walk {
  public:
    Walk(const Trie& query, const Trie& target, RowFn row, i64 reach = 1)
        : Walk(query, target, std::move(row), reach, query.levels().size()) {}
    Walk(const Trie& query, const Trie& target, RowFn row, i64 reach, size_t depth)
        : query_(query),
          target_(target),
          row_(std::move(row)),
          reach_(reach),
          depth_(depth),
          near_(query.levels().size() + 1) {}

    void run(Range cells) {
        if (cells.size() == 0 || target_.top() == 0) return;
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
        near_[0].assign(1, {0, target_.top()});
        visit(0, bounds_[0]);
    }

  private:
    void visit(size_t l, Span nodes) {
        nodes = {std::max(nodes.begin, bounds_[l].begin), std::min(nodes.end, bounds_[l].end)};
        if (l == depth_) return row_(nodes.begin, nodes.end, near_[l]);
        const auto& query = query_.levels()[l];
        const auto& target = target_.levels()[l];
        for (u32 q = nodes.begin; q < nodes.end; ++q) {
            const i64 v = query.value[q];
            bool changed = false;
            near_[l + 1].clear();
            for (Span& span : near_[l]) {
                while (span.begin < span.end && target.value[span.begin] < v - reach_) ++span.begin;
                for (u32 k = span.begin; k < span.end && target.value[k] <= v + reach_; ++k) {
                    near_[l + 1].push_back({target.first_child[k], target.first_child[k + 1]});
                    changed |= target.changed[k] != 0;
                }
            }
            if (changed) visit(l + 1, {query.first_child[q], query.first_child[q + 1]});
        }
    }

    const Trie& query_;
    const Trie& target_;
    RowFn row_;
    i64 reach_;
    size_t depth_;
    std::vector<Span> bounds_;             // per level: the nodes above the range of query cells
    std::vector<std::vector<Span>> near_;  // per level: the children of neighbouring nodes not yet passed
};

}  // namespace mspp
