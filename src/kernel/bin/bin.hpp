// Binning: from points to occupied cells.
//
// A plan (plan.hpp) chooses a box of cells around a sample of the points and a strategy. Vectorised loops
// (loops.hpp) give each point inside the box a key, which is the number of its cell in the box; the strategy
// turns the key into an id, and the id selects a row of moments: the count and d sums. The few points outside
// the box, and all points if cells cannot be numbered, go through a hash table of whole cells (hash.hpp);
// that path also reports non-finite values. Each thread sums into its own tables (worker.hpp), which are then
// added into one grid (collect.hpp). All sums are integers, so the grid is bit-identical for every strategy,
// instruction set and number of threads.
#pragma once

#include "kernel/bin/collect.hpp"

namespace mspp {

// Runs a pass of each worker over its part of the points.
template <class Pass>
void run(const Job& job, Workers& workers, Pass pass) {
    const int team = static_cast<int>(workers.size());
    parallel(team, [&](int t) { ((*workers[t]).*pass)(part(job.points.n, t, team)); });
}

// Sets the number of rows of the workers' tables; the ranked and sorted strategies need a pass over all
// points for it.
inline void count_rows(Job& job, Workers& workers) {
    const Plan& plan = job.plan;
    const i64 n = job.points.n;
    if (plan.strategy == Strategy::dense) {
        job.rows = static_cast<i64>(plan.slots);
    } else if (plan.strategy == Strategy::ranked) {
        run(job, workers, &Worker::collect_keys);
        job.ranks.reset(plan.slots);
        for (auto& worker : workers)
            for (size_t w = 0; w < worker->marks.size(); ++w)
                job.ranks.mark_word(static_cast<i64>(w), worker->marks[w]);
        job.rows = job.ranks.count();
    } else if (plan.strategy == Strategy::sorted) {
        job.all_keys.resize(static_cast<size_t>(n));
        job.key_ranks.resize(static_cast<size_t>(n));
        run(job, workers, &Worker::collect_keys);
        job.rows = RadixSort().rank(job.all_keys.data(), n, job.key_ranks.data());
    }
    // Every worker has a table of all rows, so with about as many rows as points more workers only cost
    // memory.
    const bool dense = plan.strategy == Strategy::dense;
    const i64 useful = std::max<i64>(1, dense || job.rows == 0 ? n : n / job.rows);
    if (static_cast<i64>(workers.size()) > useful) workers.resize(static_cast<size_t>(useful));
}

inline void check_counts(const GridData& grid) {
    const u64 peak = grid.size() ? *std::max_element(grid.counts.begin(), grid.counts.end()) : 0;
    if (peak > kCountLimit)
        throw BadInput(
            "a cell holds a weight of " + std::to_string(peak) +
            ", more than the 2**32 - 1 whose sum is exact; take a smaller bandwidth or smaller weights");
}

// IN points, cell_size (d,), weights (n,) or null; OUT ids (n,) or null, to be read through the assignment.
inline Binned bin(const Points& points, const double* cell_size, const u64* weights, i32* ids, int n_threads,
                  Strategy strategy, const BlockLoops& loops) {
    const Plan plan = make_plan(points, cell_size, strategy);
    Job job{points, cell_size, weights, ids, plan, loops, n_threads, {}, {}, {}, 0, {}, {}};
    if (points.dtype == Dtype::u8 && plan.strategy != Strategy::wide) job.fill_byte_tables();
    Workers workers(static_cast<size_t>(team_size(points.n, 1 << 15, n_threads)));
    for (auto& worker : workers) worker = std::make_unique<Worker>(job);
    count_rows(job, workers);
    run(job, workers, &Worker::sum);
    Binned binned = collect(job, workers);
    check_counts(binned.grid);
    return binned;
}

}  // namespace mspp
