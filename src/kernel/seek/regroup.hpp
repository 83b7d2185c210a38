// Regrouping after a step: the moved cells are sorted, and cells that met are merged.
#pragma once

#include "kernel/seek/state.hpp"

namespace mspp {

template <int D>
class Regrouper {
  public:
    Regrouper(SearchState<D>& state, int n_threads) : s_(state), n_threads_(n_threads) {}

    // Replaces the cells by those of the next step.
    void run() {
        const i64 m = s_.keys.size();
        if (s_.incremental) move_empty();
        i64 changing = 0;
        for (const ChangingCells& cells : s_.changing) changing += cells.count();
        s_.incremental = changing < m / 4;
        if (s_.incremental) keep_left();
        const int team = team_size(m, 1 << 15, n_threads_);
        gather(s_.targets.rank(arrived_, team), team);
        if (s_.incremental) mark_changed(m);
    }

  private:
    static constexpr u32 kNone = UINT32_MAX;

    // Empty cells weigh nothing: each moves with the cell before it, and so disappears.
    void move_empty() {
        i64 occupied = 0;
        while (s_.count(occupied) == 0) ++occupied;
        each_of({0, s_.keys.size()}, s_.d(), [&](i64 i) {
            if (s_.count(i) == 0)
                s_.targets.copy(i, s_.targets, occupied);
            else
                occupied = i;
        });
    }

    // Adds the cells that are left to the targets, where nothing arrives.
    void keep_left() {
        for (const ChangingCells& cells : s_.changing)
            for (const u32 i : cells.list()) {
                if (s_.stays(i)) continue;
                const i64 end = s_.targets.size();
                s_.targets.resize(end + 1);
                s_.targets.copy(end, s_.keys, i);
            }
    }

    // IN m: the number of cells before; the targets after them are cells that were left.
    void mark_changed(i64 m) {
        s_.changed.assign(static_cast<size_t>(s_.keys.size()), 0);
        for (const ChangingCells& cells : s_.changing)
            for (const u32 i : cells.list()) s_.changed[arrived_[i]] = 1;
        for (i64 i = m; i < s_.targets.size(); ++i) s_.changed[arrived_[i]] = 1;
        s_.last_positions.swap(s_.positions);
    }

    // Adds up the arrivals of each of `distinct` cells. Each thread owns a range of cells and scans all
    // arrivals for them.
    void gather(i64 distinct, int team) {
        const size_t size = static_cast<size_t>(distinct);
        s_.next_moments.resize(size * static_cast<size_t>(s_.width()));
        s_.next_group.resize(size);
        if (s_.incremental) s_.source.resize(size);
        s_.next_keys.resize(distinct);
        parallel(team, [&](int t) { gather(part(distinct, t, team)); });
        std::swap(s_.keys, s_.next_keys);
        s_.moments.swap(s_.next_moments);
        s_.group.swap(s_.next_group);
    }

    void gather(Range own) {
        const i64 m = s_.keys.size(), width = s_.width();
        std::fill_n(&s_.next_moments[own.begin * width], own.size() * width, 0);
        std::fill_n(&s_.next_group[own.begin], own.size(), kNone);
        if (s_.incremental) std::fill_n(&s_.source[own.begin], own.size(), 0);
        each_of({0, s_.targets.size()}, 2 * width, [&](i64 i) {
            const i64 to = arrived_[i];
            if (to < own.begin || to >= own.end) return;
            s_.next_keys.copy(to, s_.targets, i);
            if (i < m) arrive(i, to);
        });
    }

    void arrive(i64 i, i64 to) {
        const int d = s_.d();
        const u64 n = s_.count(i);
        if (n == 0) return;
        u64* moments = &s_.next_moments[to * s_.width()];
        moments[0] += n;
        for (int j = 0; j < d; ++j) moments[j + 1] += n * s_.positions[i * d + j];
        if (s_.next_group[to] == kNone)
            s_.next_group[to] = s_.group[i];
        else
            s_.groups.attach(s_.group[i], s_.next_group[to]);
        if (s_.incremental) s_.source[to] = static_cast<u32>(i);
    }

    SearchState<D>& s_;
    const int n_threads_;
    Array<u32> arrived_;  // per target: the cell of the next step
};

}  // namespace mspp
