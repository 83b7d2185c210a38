// Binning: points -> occupied cells.
//
// Points inside the plan's box get a key, their cell's number in the box, from vectorised loops; the key
// gives an id (how, is the plan's way), and the id a row of 1 + d sums. The few points outside the box, all
// points where cells cannot be numbered, and the points that are no numbers at all go the literal way,
// through a table of whole cells. Each thread sums for itself; integer sums make that the same as one pass,
// and all ways give the same bits.
#pragma once

#include <memory>

#include "kernel/base/errors.hpp"
#include "kernel/bin/worker.hpp"
#include "kernel/cells/cells.hpp"

namespace mspp {

// Where the points went: for each range of rows, the grid cell behind each id that was written for it.
class Assignment {
  public:
    struct Part {
        Range rows;
        std::shared_ptr<Array<i32>> inside;  // null: an id is the cell itself
        Array<i32> outside;
    };
    std::vector<Part> parts;
    i64 n_cells = 0;

    // OUT labels[i] = values[cell of point i], -1 where there is none; labels may be the ids themselves.
    void take(const i32* values, const i32* ids, i32* labels) const {
        auto resolve = [&](const Array<i32>& cells) {
            Array<i32> out(cells.size());
            for (size_t k = 0; k < cells.size(); ++k) out[k] = cells[k] < 0 ? -1 : values[cells[k]];
            return out;
        };
        parallel(static_cast<int>(parts.size()), [&](int t) {
            const Part& part = parts[t];
            const auto translated = part.inside ? resolve(*part.inside) : Array<i32>();
            const auto outside = resolve(part.outside);
            const i32* inside = part.inside ? translated.data() : values;
            for (i64 i = part.rows.begin; i < part.rows.end; ++i)
                labels[i] = ids[i] >= 0 ? inside[ids[i]] : outside[-1 - ids[i]];
        });
    }
};

struct Binned {
    GridData grid;
    Assignment assignment;
};

using Workers = std::vector<std::unique_ptr<Worker>>;

// A cell of the grid: what the workers' tables have in this row.
inline void sum_row(const Workers& workers, i64 row, GridData& grid, i64 cell) {
    const i64 d = grid.d, lane = row * (d + 1);
    grid.counts[cell] = 0;
    std::fill_n(&grid.sums[cell * d], d, 0);
    for (const auto& worker : workers) {
        grid.counts[cell] += worker->lanes[lane];
        for (i64 j = 0; j < d; ++j) grid.sums[cell * d + j] += worker->lanes[lane + 1 + j];
    }
}

// Sums the workers' tables into the grid, a cell for each marked slot; row_of(slot, rank) is the row of the
// tables.
template <class RowOf>
void emit(const Job& job, const Workers& workers, RowOf&& row_of, GridData& grid) {
    const int d = grid.d;
    const auto& words = job.ranks.words();
    const i64 n_words = static_cast<i64>(words.size());
    const int team = static_cast<int>(workers.size());
    parallel(team, [&](int t) {
        const Range range = part(n_words, t, team);
        for (i64 w = range.begin; w < range.end; ++w) {
            i64 rank = static_cast<i64>(words[w].before);
            for (u64 marks = words[w].marks; marks; marks &= marks - 1, ++rank) {
                const u64 slot = static_cast<u64>(w) * 64 + static_cast<u64>(std::countr_zero(marks));
                job.plan.cell_of(slot, &grid.cells[rank * d]);
                sum_row(workers, static_cast<i64>(row_of(slot, rank)), grid, rank);
            }
        }
    });
}

inline void resize(GridData& grid, i64 m) {
    grid.cells.resize(static_cast<size_t>(m * grid.d));
    grid.counts.resize(static_cast<size_t>(m));
    grid.sums.resize(static_cast<size_t>(m * grid.d));
}

inline void append(GridData& grid, const i64* cell, const u64* lanes) {
    grid.cells.insert(grid.cells.end(), cell, cell + grid.d);
    grid.counts.push_back(lanes[0]);
    grid.sums.insert(grid.sums.end(), lanes + 1, lanes + 1 + grid.d);
}

// The cells inside the box, with the way from a worker's ids to them. The hash way leaves them unsorted and
// repeated.
inline void collect_inside(Job& job, Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    const int d = grid.d;
    auto& parts = binned.assignment.parts;
    if (job.plan.strategy == Strategy::dense) {
        job.ranks.reset(job.plan.slots);
        for (u64 slot = 0; slot < job.plan.slots; ++slot)
            for (const auto& worker : workers)
                if (worker->lanes[slot * (d + 1)]) job.ranks.mark(slot);
        resize(grid, job.ranks.count());
        emit(job, workers, [](u64 slot, i64) { return slot; }, grid);
        auto cells = std::make_shared<Array<i32>>(job.plan.slots, -1);
        for (u64 slot = 0; slot < job.plan.slots; ++slot)
            if (job.ranks.marked(slot)) (*cells)[slot] = static_cast<i32>(job.ranks.of(slot));
        for (auto& part : parts) part.inside = cells;
    } else if (job.plan.strategy == Strategy::ranked) {
        resize(grid, job.rows);
        emit(job, workers, [](u64, i64 rank) { return rank; }, grid);
    } else {
        std::vector<i64> cell(static_cast<size_t>(d));
        for (size_t t = 0; t < workers.size(); ++t) {
            const auto& keys = workers[t]->table.keys;
            parts[t].inside = std::make_shared<Array<i32>>();
            for (size_t id = 0; id < keys.size(); ++id) {
                parts[t].inside->push_back(static_cast<i32>(grid.size()));
                job.plan.cell_of(keys[id], cell.data());
                append(grid, cell.data(), &workers[t]->lanes[id * (d + 1)]);
            }
        }
    }
}

// The sorted way: a rank is a cell, and the points of one rank have one key.
inline void collect_sorted(const Job& job, const Workers& workers, GridData& grid) {
    const int d = grid.d;
    resize(grid, job.rows);
    std::fill(grid.cells.begin(), grid.cells.end(), 0);  // points outside have a rank too, but no cell
    for (i64 i = 0; i < job.points.n; ++i)
        if (job.all_keys[i] != UINT64_MAX)
            job.plan.cell_of(job.all_keys[i], &grid.cells[i64{job.places[i]} * d]);
    for (i64 row = 0; row < job.rows; ++row) sum_row(workers, row, grid, row);
}

// Brings cells from outside the box, and from several tables, into one sorted grid without empty cells.
inline void unite(Workers& workers, Binned& binned) {
    GridData& grid = binned.grid;
    auto& parts = binned.assignment.parts;
    const int d = grid.d;
    for (size_t t = 0; t < workers.size(); ++t) {
        const CellTable& outside = workers[t]->outside;
        for (i64 id = 0; id < outside.size(); ++id) {
            parts[t].outside.push_back(static_cast<i32>(grid.size()));
            append(grid, &outside.cells[id * d], &outside.lanes[id * (d + 1)]);
        }
    }
    Array<u32> place;
    GridData merged = merge(grid.view(), place);
    Array<i32> kept(static_cast<size_t>(merged.size()));
    i64 m = 0;
    for (i64 i = 0; i < merged.size(); ++i) {
        kept[i] = merged.counts[i] ? static_cast<i32>(m) : -1;
        if (!merged.counts[i]) continue;
        std::copy_n(&merged.cells[i * d], d, &merged.cells[m * d]);
        std::copy_n(&merged.sums[i * d], d, &merged.sums[m * d]);
        merged.counts[m++] = merged.counts[i];
    }
    resize(merged, m);
    auto translate = [&](Array<i32>& rows) {
        for (i32& row : rows)
            if (row >= 0) row = kept[place[row]];  // an empty slot of a dense table has no row
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

inline void refuse_overflow(const GridData& grid) {
    const u64 peak = grid.size() ? *std::max_element(grid.counts.begin(), grid.counts.end()) : 0;
    if (peak > kCountLimit)
        throw BadInput(
            "a cell holds a weight of " + std::to_string(peak) +
            ", more than the 2**32 - 1 whose sum is exact; take a smaller bandwidth or smaller weights");
}

// Runs a pass of each worker over its part of the points.
template <class Pass>
void run(const Job& job, Workers& workers, Pass pass) {
    const int team = static_cast<int>(workers.size());
    parallel(team, [&](int t) { ((*workers[t]).*pass)(part(job.points.n, t, team)); });
}

// Finds out how many rows of sums there are, for which the ranked and the sorted way look at all points
// first.
inline void count_rows(Job& job, Workers& workers) {
    const Plan& plan = job.plan;
    const i64 n = job.points.n;
    if (plan.strategy == Strategy::dense) {
        job.rows = static_cast<i64>(plan.slots);
    } else if (plan.strategy == Strategy::ranked) {
        run(job, workers, &Worker::look);
        job.ranks.reset(plan.slots);
        for (auto& worker : workers)
            for (size_t w = 0; w < worker->marks.size(); ++w)
                job.ranks.mark_word(static_cast<i64>(w), worker->marks[w]);
        job.rows = job.ranks.count();
    } else if (plan.strategy == Strategy::sorted) {
        job.all_keys.resize(static_cast<size_t>(n));
        job.places.resize(static_cast<size_t>(n));
        run(job, workers, &Worker::look);
        job.rows = RadixSort().rank(job.all_keys.data(), n, job.places.data());
    }
    // Every worker has a table of all rows: with about as many rows as points more workers only cost memory.
    const i64 useful = std::max<i64>(1, plan.strategy == Strategy::dense || job.rows == 0 ? n : n / job.rows);
    if (static_cast<i64>(workers.size()) > useful) workers.resize(static_cast<size_t>(useful));
}

// IN points, cell_size (d,), weights (n,) or null; OUT ids (n,) or null, to be read through the assignment.
inline Binned bin(const Points& points, const double* cell_size, const u64* weights, i32* ids, int n_threads,
                  Strategy asked, const BlockLoops& loops) {
    const Plan plan = make_plan(points, cell_size, asked);
    Job job{points, cell_size, weights, ids, plan, loops, {}, {}, {}, 0, {}, {}};
    if (points.dtype == Dtype::u8 && plan.strategy != Strategy::wide) job.fill_tables();
    Workers workers(static_cast<size_t>(team_size(points.n, 1 << 15, n_threads)));
    for (auto& worker : workers) worker = std::make_unique<Worker>(job);
    count_rows(job, workers);
    run(job, workers, &Worker::sum);

    const int team = static_cast<int>(workers.size());
    Binned binned{{points.d, {}, {}, {}}, {}};
    binned.assignment.parts.resize(workers.size());
    for (int t = 0; t < team; ++t) binned.assignment.parts[t].rows = part(points.n, t, team);
    if (plan.strategy == Strategy::sorted)
        collect_sorted(job, workers, binned.grid);
    else
        collect_inside(job, workers, binned);
    bool sorted = plan.strategy == Strategy::dense || plan.strategy == Strategy::ranked ||
                  plan.strategy == Strategy::sorted;
    for (auto& worker : workers) sorted = sorted && worker->outside.size() == 0;
    if (!sorted) unite(workers, binned);
    binned.assignment.n_cells = binned.grid.size();
    refuse_overflow(binned.grid);
    return binned;
}

}  // namespace mspp
