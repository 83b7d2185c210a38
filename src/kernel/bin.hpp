// Binning: points -> occupied cells.
//
// Points inside the plan's box get a key, their cell's number in the box, from vectorised loops; the key
// gives an id (how, is the plan's way), and the id a row of 1 + d sums. The few points outside the box, all
// points where cells cannot be numbered, and the points that are no numbers at all go the literal way,
// through a table of whole cells. Each thread sums for itself; integer sums make that the same as one pass,
// and all ways give the same bits.
#pragma once

#include <memory>

#include "kernel/cells.hpp"
#include "kernel/plan.hpp"
#include "kernel/tables.hpp"

namespace mspp {

// What the threads share.
struct Job {
    const Points& points;
    const double* bandwidth;
    const u64* weights;  // or null
    i32* ids;            // OUT, or null
    const Plan& plan;
    const BlockLoops& loops;
    BitRank ranks;         // ranked: of the occupied slots
    Array<u64> all_keys;   // sorted: of all points;
    Array<u32> places;     // and their ranks
    i64 rows = 0;          // of each thread's table, where it is known before
    ByteTables bytes;      // for points that are bytes;
    Array<u64> byte_rows;  // and, dense, what each value adds to a row

    u64 weight(i64 i) const { return weights ? weights[i] : 1; }
    bool dense_bytes() const {
        return plan.way == Way::dense && points.dtype == Dtype::u8 && points.packed<uint8_t>() && !weights &&
               plan.slots * kCopies <= kDenseSlots && points.n < (i64{1} << 32);
    }
    void fill_tables() {
        const int d = points.d;
        const int width = byte_row_width(d);
        byte_rows.assign(static_cast<size_t>(d * 256 * width), 0);
        for (int j = 0; j < d; ++j)
            for (int value = 0; value < 256; ++value) {
                const double q = value / bandwidth[j], cell = std::floor(q);
                bytes.key[j][value] = (cell - plan.low[j]) * static_cast<double>(plan.stride[j]);
                bytes.offset[j][value] = offset_of(q - cell);
                u64* row = &byte_rows[(j * 256 + value) * width];
                row[0] = (static_cast<u64>(bytes.key[j][value]) << 32) + (j == 0 ? 1 : 0);
                row[j + 1] = bytes.offset[j][value];
            }
    }
};

// One thread's pass over its range of the points.
class Worker {
  public:
    explicit Worker(Job& job)
        : job_(job),
          d_(job.points.d),
          outside(d_),
          cell_(static_cast<size_t>(d_)),
          offset_(static_cast<size_t>(d_)) {
        if (job.plan.way == Way::wide) return;
        for (int k = 0; k < 8 * d_; ++k) {
            pattern_.bandwidth[k] = job.bandwidth[k % d_];
            pattern_.low[k] = job.plan.low[k % d_];
            pattern_.extent[k] = job.plan.extent[k % d_];
            pattern_.stride[k] = static_cast<double>(job.plan.stride[k % d_]);
        }
        keys_.resize(kBlock);
        offsets_.resize(static_cast<size_t>(kBlock * d_));
        widened_.resize(static_cast<size_t>(kBlock * d_));
        block_ids_.resize(kBlock);
    }

    // First pass of the ranked and sorted ways: which keys are there.
    void look(Range rows) {
        if (job_.plan.way == Way::ranked) marks.assign(static_cast<size_t>(job_.plan.slots / 64 + 1), 0);
        each_block(rows, [&](auto zero, i64 i, int n, bool inside) {
            if (job_.plan.way == Way::ranked && inside && !job_.weights)
                return job_.loops.mark(keys_.data(), n, marks.data());
            for (int k = 0; k < n; ++k) {
                const bool counts = goes_inside<decltype(zero)>(i + k, inside);
                const u64 key = counts ? static_cast<u64>(keys_[k]) : UINT64_MAX;
                if (job_.plan.way == Way::sorted)
                    job_.all_keys[i + k] = key;
                else if (counts)
                    marks[key / 64] |= u64{1} << (key % 64);
            }
        });
    }

    // The pass that sums.
    void sum(Range rows) {
        if (job_.plan.way == Way::wide)
            return with_type(job_.points.dtype, [&](auto zero) {
                for (i64 i = rows.begin; i < rows.end; ++i) add_outside<decltype(zero)>(i);
            });
        if (job_.dense_bytes()) return sum_bytes(rows);
        lanes.assign(static_cast<size_t>(job_.rows * (d_ + 1)), 0);
        each_block(rows, [&](auto zero, i64 i, int n, bool inside) {
            if (!inside || job_.weights) return add_each<decltype(zero)>(i, n, inside);
            i32* ids = job_.ids ? job_.ids + i : block_ids_.data();
            find_ids(keys_.data(), i, n, ids);
            job_.loops.add[d_](ids, offsets_.data(), n, lanes.data());
        });
    }

    Array<u64> marks;  // ranked, first pass: the slots seen
    Array<u64> lanes;  // rows of 1 + d sums
    KeyTable table;    // hash: the ids

  private:
    void sum_bytes(Range rows) {
        const i64 width = byte_row_width(d_), copy = job_.rows * width;
        Array<u64> tables(static_cast<size_t>(copy * kCopies), 0);
        for (i64 i = rows.begin; i < rows.end; i += kBlock) {
            const int n = static_cast<int>(std::min<i64>(kBlock, rows.end - i));
            const uint8_t* first = reinterpret_cast<const uint8_t*>(job_.points.at(i, 0));
            i32* ids = job_.ids ? job_.ids + i : block_ids_.data();
            job_.loops.add_u8[d_](first, n, job_.byte_rows.data(), tables.data(), copy, ids);
        }
        lanes.assign(static_cast<size_t>(job_.rows * (d_ + 1)), 0);
        for (int c = 0; c < kCopies; ++c)
            for (i64 row = 0; row < job_.rows; ++row) {
                const u64* from = &tables[c * copy + row * width];
                lanes[row * (d_ + 1)] += from[0] & 0xFFFFFFFFull;  // the count; above it are keys
                for (int j = 1; j <= d_; ++j) lanes[row * (d_ + 1) + j] += from[j];
            }
    }

    // Calls fn(value of the points' type, first row, number of rows, whether all are inside) with keys and
    // offsets filled in.
    template <class Fn>
    void each_block(Range rows, Fn&& fn) {
        with_type(job_.points.dtype, [&](auto zero) {
            for (i64 i = rows.begin; i < rows.end; i += kBlock) {
                const int n = static_cast<int>(std::min<i64>(kBlock, rows.end - i));
                fn(zero, i, n, split<decltype(zero)>(i, n));
            }
        });
    }

    template <class T>
    bool split(i64 i, int n) {
        const T* rows = reinterpret_cast<const T*>(job_.points.at(i, 0));
        if constexpr (std::is_same_v<T, float>)
            if (job_.points.packed<T>())
                return job_.loops.split_f32[d_](rows, n, pattern_, keys_.data(), offsets_.data());
        if constexpr (std::is_same_v<T, double>)
            if (job_.points.packed<T>())
                return job_.loops.split_f64[d_](rows, n, pattern_, keys_.data(), offsets_.data());
        if constexpr (std::is_same_v<T, uint8_t>)
            if (job_.points.packed<T>()) {
                job_.loops.split_u8[d_](rows, n, job_.bytes, keys_.data(), offsets_.data());
                return true;
            }
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < d_; ++j) widened_[k * d_ + j] = widen<T>(job_.points, i + k, j);
        return job_.loops.split_f64[d_](widened_.data(), n, pattern_, keys_.data(), offsets_.data());
    }

    void find_ids(const double* keys, i64 i, int n, i32* ids) {
        switch (job_.plan.way) {
            case Way::dense:
                return job_.loops.ids_of_keys(keys, n, ids);
            case Way::ranked:
                return job_.loops.rank(keys, n, job_.ranks.words().data(), ids);
            case Way::sorted:
                std::copy(&job_.places[i], &job_.places[i] + n, ids);
                return;
            default:
                break;
        }
        table.ids_of(keys, n, ids);
        const size_t needed = table.keys.size() * (d_ + 1);
        if (lanes.size() < needed) lanes.resize(needed, 0);
    }

    template <class T>
    void add_each(i64 i, int n, bool all_inside) {
        for (int k = 0; k < n; ++k) {
            if (!goes_inside<T>(i + k, all_inside)) {
                add_outside<T>(i + k);
                continue;
            }
            i32 id;
            find_ids(&keys_[k], i + k, 1, &id);
            add_row(&lanes[i64{id} * (d_ + 1)], i + k, &offsets_[k * d_]);
            if (job_.ids) job_.ids[i + k] = id;
        }
    }

    // Points of no weight make no cell, so they have no business inside.
    template <class T>
    bool goes_inside(i64 i, bool all_inside) const {
        bool inside = job_.weight(i) > 0;
        for (int j = 0; j < d_ && inside && !all_inside; ++j) {
            const double cell =
                std::floor(widen<T>(job_.points, i, j) / job_.bandwidth[j]) - job_.plan.low[j];
            inside = cell >= 0 && cell < job_.plan.extent[j];
        }
        return inside;
    }

    void add_row(u64* row, i64 i, const u64* offsets) {
        const u64 w = job_.weight(i);
        row[0] += w;
        for (int j = 0; j < d_; ++j) row[j + 1] += w * offsets[j];
    }

    // The literal way, and the only one that can fail. Ids of the outside table are kept as negative numbers.
    template <class T>
    void add_outside(i64 i) {
        for (int j = 0; j < d_; ++j) {
            const double x = widen<T>(job_.points, i, j);
            const double q = x / job_.bandwidth[j];
            if (!(std::abs(q) < kCellLimit)) reject(i, j, x, job_.bandwidth[j]);
            const double cell = std::floor(q);
            cell_[j] = static_cast<i64>(cell);
            offset_[j] = offset_of(q - cell);
        }
        const u32 id = outside.id_of(cell_.data());
        add_row(&outside.lanes[i64{id} * (d_ + 1)], i, offset_.data());
        if (job_.ids) job_.ids[i] = -1 - static_cast<i32>(id);
    }

    Job& job_;
    const int d_;

  public:
    CellTable outside;

  private:
    std::vector<i64> cell_;
    std::vector<u64> offset_;
    BoxPattern pattern_;
    Array<double> keys_, widened_;
    Array<u64> offsets_;
    Array<i32> block_ids_;
};

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

// Sums the workers' tables into the grid, a cell for each marked slot; row_of(slot, rank) is the row of the
// tables.
template <class RowOf>
void emit(const Job& job, const Workers& workers, RowOf&& row_of, GridData& grid) {
    const int d = grid.d;
    const auto& words = job.ranks.words();
    const i64 n_words = static_cast<i64>(words.size());
    const int team = static_cast<int>(workers.size());
    parallel(team, [&](int t) {
        std::vector<i64> cell(static_cast<size_t>(d));
        const Range range = part(n_words, t, team);
        for (i64 w = range.begin; w < range.end; ++w) {
            i64 rank = static_cast<i64>(words[w].before);
            for (u64 marks = words[w].marks; marks; marks &= marks - 1, ++rank) {
                const u64 slot = static_cast<u64>(w) * 64 + static_cast<u64>(std::countr_zero(marks));
                job.plan.cell_of(slot, &grid.cells[rank * d]);
                const i64 row = static_cast<i64>(row_of(slot, rank)) * (d + 1);
                grid.counts[rank] = 0;
                std::fill_n(&grid.sums[rank * d], d, 0);
                for (const auto& worker : workers) {
                    grid.counts[rank] += worker->lanes[row];
                    for (int j = 0; j < d; ++j) grid.sums[rank * d + j] += worker->lanes[row + 1 + j];
                }
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
    if (job.plan.way == Way::dense) {
        job.ranks.reset(job.plan.slots);
        for (u64 slot = 0; slot < job.plan.slots; ++slot)
            for (const auto& worker : workers)
                if (worker->lanes[slot * (d + 1)]) job.ranks.mark(slot);
        resize(grid, job.ranks.count());
        emit(job, workers, [](u64 slot, i64) { return slot; }, grid);
        auto cells = std::make_shared<Array<i32>>(job.plan.slots, -1);
        for (u64 slot = 0; slot < job.plan.slots; ++slot)
            (*cells)[slot] = static_cast<i32>(job.ranks.of(slot));
        for (auto& part : parts) part.inside = cells;
    } else if (job.plan.way == Way::ranked) {
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
    for (i64 i = 0; i < job.points.n; ++i)
        if (job.all_keys[i] != UINT64_MAX)
            job.plan.cell_of(job.all_keys[i], &grid.cells[i64{job.places[i]} * d]);
    for (i64 row = 0; row < job.rows; ++row) {
        grid.counts[row] = 0;
        std::fill_n(&grid.sums[row * d], d, 0);
        for (const auto& worker : workers) {
            grid.counts[row] += worker->lanes[row * (d + 1)];
            for (int j = 0; j < d; ++j) grid.sums[row * d + j] += worker->lanes[row * (d + 1) + 1 + j];
        }
    }
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
        for (i32& row : rows) row = kept[place[row]];
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

// IN points, bandwidth (d,), weights (n,) or null; OUT ids (n,) or null, to be read through the assignment.
inline Binned bin(const Points& points, const double* bandwidth, const u64* weights, i32* ids, int n_threads,
                  Way asked, const BlockLoops& loops) {
    const Plan plan = make_plan(points, bandwidth, asked);
    Job job{points, bandwidth, weights, ids, plan, loops, {}, {}, {}, 0, {}, {}};
    const int team = team_size(points.n, 1 << 15, n_threads);
    if (points.dtype == Dtype::u8 && plan.way != Way::wide) job.fill_tables();
    Workers workers;
    for (int t = 0; t < team; ++t) workers.push_back(std::make_unique<Worker>(job));
    auto all = [&](auto method) {
        parallel(team, [&](int t) { ((*workers[t]).*method)(part(points.n, t, team)); });
    };
    if (plan.way == Way::dense) {
        job.rows = static_cast<i64>(plan.slots);
    } else if (plan.way == Way::ranked) {
        all(&Worker::look);
        job.ranks.reset(plan.slots);
        for (auto& worker : workers)
            for (size_t w = 0; w < worker->marks.size(); ++w)
                job.ranks.mark_word(static_cast<i64>(w), worker->marks[w]);
        job.rows = job.ranks.count();
    } else if (plan.way == Way::sorted) {
        job.all_keys.resize(static_cast<size_t>(points.n));
        job.places.resize(static_cast<size_t>(points.n));
        all(&Worker::look);
        job.rows = RadixSort().rank(job.all_keys.data(), points.n, job.places.data());
    }
    all(&Worker::sum);

    Binned binned{{points.d, {}, {}, {}}, {}};
    binned.assignment.parts.resize(static_cast<size_t>(team));
    for (int t = 0; t < team; ++t) binned.assignment.parts[t].rows = part(points.n, t, team);
    bool whole = plan.way == Way::dense || plan.way == Way::ranked || plan.way == Way::sorted;
    for (auto& worker : workers) whole = whole && worker->outside.size() == 0;
    if (plan.way == Way::sorted)
        collect_sorted(job, workers, binned.grid);
    else
        collect_inside(job, workers, binned);
    if (!whole) unite(workers, binned);
    binned.assignment.n_cells = binned.grid.size();
    const u64 peak =
        binned.grid.size() ? *std::max_element(binned.grid.counts.begin(), binned.grid.counts.end()) : 0;
    if (peak > kCountLimit)
        throw BadInput(
            "a cell holds a weight of " + std::to_string(peak) +
            ", more than the 2**32 - 1 whose sum is exact; take a smaller bandwidth or smaller weights");
    return binned;
}

}  // namespace mspp
