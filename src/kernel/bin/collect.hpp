// Collecting: from the workers' tables to one sorted grid, and to the cell of each id.
#pragma once

#include <memory>

#include "kernel/bin/assignment.hpp"
#include "kernel/bin/worker.hpp"
#include "kernel/cells/merge.hpp"

namespace mspp {

struct Binned {
    GridData grid;
    Assignment assignment;
};

using Workers = std::vector<std::unique_ptr<Worker>>;

// OUT a cell of the grid: the sum of that row over the workers' tables.
inline void sum_row(const Workers& workers, i64 row, GridData& grid, i64 cell) {
    const i64 d = grid.d, first = row * (d + 1);
    grid.counts[cell] = 0;
    std::fill_n(&grid.sums[cell * d], d, 0);
    for (const auto& worker : workers) {
        grid.counts[cell] += worker->moments[first];
        for (i64 j = 0; j < d; ++j) grid.sums[cell * d + j] += worker->moments[first + 1 + j];
    }
}

// OUT a cell of the grid for each marked slot; row_of(slot, rank) is its row in the workers' tables.
template <class RowOf>
void sum_marked(const Job& job, const Workers& workers, RowOf&& row_of, GridData& grid) {
    const int d = grid.d;
    const auto& words = job.ranks.words();
    const i64 n_words = static_cast<i64>(words.size());
    const int team = static_cast<int>(workers.size());
    parallel(team, [&](int t) {
        const Range range = part(n_words, t, team);
        each_of(range, [&](i64 w) {
            i64 rank = static_cast<i64>(words[w].before);
            for (u64 marks = words[w].marks; marks; marks &= marks - 1, ++rank) {
                const u64 slot = static_cast<u64>(w) * 64 + static_cast<u64>(std::countr_zero(marks));
                job.plan.cell_at(slot, &grid.cells[rank * d]);
                sum_row(workers, static_cast<i64>(row_of(slot, rank)), grid, rank);
            }
        });
    });
}

inline void collect_dense(Job& job, const Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    job.ranks.reset(job.plan.slots);
    for (u64 slot = 0; slot < job.plan.slots; ++slot)
        for (const auto& worker : workers)
            if (worker->moments[slot * (grid.d + 1)]) job.ranks.mark(slot);
    grid.resize(job.ranks.count());
    sum_marked(job, workers, [](u64 slot, i64) { return slot; }, grid);
    auto cells = std::make_shared<Array<i32>>(job.plan.slots, -1);
    for (u64 slot = 0; slot < job.plan.slots; ++slot)
        if (job.ranks.is_marked(slot)) (*cells)[slot] = static_cast<i32>(job.ranks.rank_of(slot));
    for (auto& part : binned.assignment.parts) part.inside = cells;
}

inline void collect_ranked(const Job& job, const Workers& workers, Binned& binned) {
    binned.grid.resize(job.rows);
    sum_marked(job, workers, [](u64, i64 rank) { return rank; }, binned.grid);
}

// A rank is a cell, and all points of one rank have the same key.
inline void collect_sorted(const Job& job, const Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    grid.resize(job.rows);
    Array<u64> key_of(static_cast<size_t>(job.rows));
    each_of({0, job.points.n}, [&](i64 i) { key_of[job.key_ranks[i]] = job.all_keys[i]; });
    const int team = team_size(job.rows, 1 << 14, job.n_threads);
    parallel(team, [&](int t) {
        each_of(part(job.rows, t, team), grid.d, [&](i64 row) {
            i64* cell = &grid.cells[row * grid.d];
            if (key_of[row] != UINT64_MAX)
                job.plan.cell_at(key_of[row], cell);
            else  // points outside the box have a rank too, but no cell
                std::fill_n(cell, grid.d, 0);
            sum_row(workers, row, grid, row);
        });
    });
}

// The cells are not sorted, and repeat if several workers have them; join() sorts and merges them.
inline void collect_hash(const Job& job, const Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    std::vector<i64> cell(static_cast<size_t>(grid.d));
    for (size_t t = 0; t < workers.size(); ++t) {
        const auto& keys = workers[t]->table.keys;
        auto& inside = binned.assignment.parts[t].inside = std::make_shared<Array<i32>>();
        each_of({0, static_cast<i64>(keys.size())}, [&](i64 id) {
            inside->push_back(static_cast<i32>(grid.size()));
            job.plan.cell_at(keys[id], cell.data());
            grid.append(cell.data(), &workers[t]->moments[id * (grid.d + 1)]);
        });
    }
}

// Removes cells of weight 0. OUT new_index[i]: the new index of cell i, or -1.
inline void drop_empty(GridData& grid, Array<i32>& new_index) {
    const int d = grid.d;
    new_index.resize(static_cast<size_t>(grid.size()));
    i64 m = 0;
    each_of({0, grid.size()}, d, [&](i64 i) {
        new_index[i] = grid.counts[i] ? static_cast<i32>(m) : -1;
        if (!grid.counts[i]) return;
        std::copy_n(&grid.cells[i * d], d, &grid.cells[m * d]);
        std::copy_n(&grid.sums[i * d], d, &grid.sums[m * d]);
        grid.counts[m++] = grid.counts[i];
    });
    grid.resize(m);
}

// Joins the cells inside the box, perhaps of several tables, and those outside it into one sorted grid
// without empty cells.
inline void join(const Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    auto& parts = binned.assignment.parts;
    const int d = grid.d;
    for (size_t t = 0; t < workers.size(); ++t) {
        const CellTable& outside = workers[t]->outside;
        each_of({0, outside.size()}, d, [&](i64 id) {
            parts[t].outside.push_back(static_cast<i32>(grid.size()));
            grid.append(&outside.cells[id * d], &outside.moments[id * (d + 1)]);
        });
    }
    Array<u32> ranks;
    Array<i32> new_index;
    GridData merged = merge(grid.view(), ranks);
    drop_empty(merged, new_index);
    auto translate = [&](Array<i32>& rows) {
        each_of({0, static_cast<i64>(rows.size())}, [&](i64 k) {
            if (rows[k] >= 0)
                rows[k] = new_index[ranks[rows[k]]];  // an empty slot of a dense table has no row
        });
    };
    const Array<i32>* done = nullptr;
    for (auto& part : parts) {
        if (!part.inside) {
            part.inside = std::make_shared<Array<i32>>(static_cast<size_t>(grid.size()));
            std::iota(part.inside->begin(), part.inside->end(), 0);
        }
        if (part.inside.get() != done) translate(*part.inside);
        done = part.inside.get();
        translate(part.outside);
    }
    grid = std::move(merged);
}

inline Binned collect(Job& job, const Workers& workers) {
    const int team = static_cast<int>(workers.size());
    Binned binned{{job.points.d, {}, {}, {}}, {}};
    binned.assignment.parts.resize(workers.size());
    for (int t = 0; t < team; ++t) binned.assignment.parts[t].rows = part(job.points.n, t, team);
    bool sorted = true;
    switch (job.plan.strategy) {
        case Strategy::dense:
            collect_dense(job, workers, binned);
            break;
        case Strategy::ranked:
            collect_ranked(job, workers, binned);
            break;
        case Strategy::sorted:
            collect_sorted(job, workers, binned);
            break;
        default:  // the wide strategy has empty tables inside the box
            collect_hash(job, workers, binned);
            sorted = false;
    }
    for (auto& worker : workers) sorted = sorted && worker->outside.size() == 0;
    if (!sorted) join(workers, binned);
    binned.assignment.n_cells = binned.grid.size();
    return binned;
}

}  // namespace mspp
