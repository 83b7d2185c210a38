// One thread's part of binning: from points to rows of moments (count and d sums). See bin.hpp.
#pragma once

#include "kernel/base/threads.hpp"
#include "kernel/bin/hash.hpp"
#include "kernel/bin/loops.hpp"
#include "kernel/bin/plan.hpp"
#include "kernel/cells/rank.hpp"

namespace mspp {

// The input, output and tables that all threads share.
struct Job {
    const Points& points;
    const double* cell_size;
    const u64* weights;  // or null
    i32* ids;            // OUT, or null
    const Plan& plan;
    const BlockLoops& loops;
    int n_threads;
    BitRank ranks;         // ranked: of the occupied slots
    Array<u64> all_keys;   // sorted: of all points, UINT64_MAX for those outside the box
    Array<u32> key_ranks;  // sorted: the rank of each point's key
    i64 rows = 0;          // of each thread's table; 0 if it grows (hash, wide)
    ByteTables bytes;      // for points that are bytes
    Array<u64> byte_rows;  // for points that are bytes, dense: what each value adds to a row

    u64 weight(i64 i) const { return weights ? weights[i] : 1; }
    bool dense_bytes() const {
        return plan.strategy == Strategy::dense && points.dtype == Dtype::u8 && points.packed<uint8_t>() &&
               !weights && plan.slots * kCopies <= kDenseSlots && points.n < (i64{1} << 32);
    }
    void fill_byte_tables() {
        const int d = points.d;
        const int width = byte_row_width(d);
        byte_rows.assign(static_cast<size_t>(d * 256 * width), 0);
        for (int j = 0; j < d; ++j)
            for (int value = 0; value < 256; ++value) {
                const double q = quotient_of(value, cell_size[j]), cell = cell_of(q);
                bytes.key[j][value] = (cell - plan.low[j]) * static_cast<double>(plan.stride[j]);
                bytes.offset[j][value] = offset_of(q, cell);
                u64* row = &byte_rows[(j * 256 + value) * width];
                row[0] = (static_cast<u64>(bytes.key[j][value]) << 32) + (j == 0 ? 1 : 0);
                row[j + 1] = bytes.offset[j][value];
            }
    }
};

// One thread's passes over its range of the points.
class Worker {
  public:
    explicit Worker(Job& job)
        : outside(job.points.d),
          job_(job),
          d_(job.points.d),
          cell_(static_cast<size_t>(d_)),
          offset_(static_cast<size_t>(d_)) {
        if (job.plan.strategy == Strategy::wide) return;
        for (int k = 0; k < 8 * d_; ++k) {
            pattern_.cell_size[k] = job.cell_size[k % d_];
            pattern_.low[k] = job.plan.low[k % d_];
            pattern_.extent[k] = job.plan.extent[k % d_];
            pattern_.stride[k] = static_cast<double>(job.plan.stride[k % d_]);
        }
        keys_.resize(kBlock);
        offsets_.resize(static_cast<size_t>(kBlock * d_));
        widened_.resize(static_cast<size_t>(kBlock * d_));
        block_ids_.resize(kBlock);
    }

    // The first pass of the ranked and sorted strategies: collects the keys.
    void collect_keys(Range rows) {
        const bool ranked = job_.plan.strategy == Strategy::ranked;
        if (ranked) marks.assign(static_cast<size_t>(job_.plan.slots / 64 + 1), 0);
        each_block(rows, [&](auto zero, i64 i, int n, bool inside) {
            if (ranked && inside && !job_.weights) return job_.loops.mark(keys_.data(), n, marks.data());
            for (int k = 0; k < n; ++k) {
                const bool has_key = is_inside<decltype(zero)>(i + k, inside);
                const u64 key = has_key ? static_cast<u64>(keys_[k]) : UINT64_MAX;
                if (!ranked)
                    job_.all_keys[i + k] = key;
                else if (has_key)
                    marks[key / 64] |= u64{1} << (key % 64);
            }
        });
    }

    // The pass that sums.
    void sum(Range rows) {
        if (job_.plan.strategy == Strategy::wide)
            return with_type(job_.points.dtype, [&](auto zero) {
                each_of(rows, 4 * d_, [&](i64 i) { add_outside<decltype(zero)>(i); });
            });
        if (job_.dense_bytes()) return sum_bytes(rows);
        assign_zeros(moments, static_cast<size_t>(job_.rows * (d_ + 1)));
        each_block(rows, [&](auto zero, i64 i, int n, bool inside) {
            if (!inside || job_.weights) return add_each<decltype(zero)>(i, n, inside);
            i32* ids = job_.ids ? job_.ids + i : block_ids_.data();
            find_ids(keys_.data(), i, n, ids);
            job_.loops.add[d_](ids, offsets_.data(), n, moments.data());
        });
    }

    Array<u64> marks;    // ranked, first pass: the occupied slots
    Array<u64> moments;  // rows of 1 + d: count and sums
    KeyTable table;      // hash: the ids
    CellTable outside;   // of points outside the box

  private:
    void sum_bytes(Range rows) {
        const i64 width = byte_row_width(d_), copy = job_.rows * width;
        Array<u64> tables(static_cast<size_t>(copy * kCopies), 0);
        for (i64 i = rows.begin; i < rows.end; i += kBlock) {
            const int n = static_cast<int>(std::min<i64>(kBlock, rows.end - i));
            const uint8_t* first = reinterpret_cast<const uint8_t*>(job_.points.at(i, 0));
            i32* ids = job_.ids ? job_.ids + i : block_ids_.data();
            poll_(n);
            job_.loops.add_u8[d_](first, n, job_.byte_rows.data(), tables.data(), copy, ids);
        }
        assign_zeros(moments, static_cast<size_t>(job_.rows * (d_ + 1)));
        for (int c = 0; c < kCopies; ++c)
            for (i64 row = 0; row < job_.rows; ++row) {
                const u64* from = &tables[c * copy + row * width];
                moments[row * (d_ + 1)] += from[0] & 0xFFFFFFFFull;  // the count; keys are above it
                for (int j = 1; j <= d_; ++j) moments[row * (d_ + 1) + j] += from[j];
            }
    }

    // Calls fn(value of the points' type, first row, number of rows, whether all are inside the box) for each
    // block, after filling keys_ and offsets_.
    template <class Fn>
    void each_block(Range rows, Fn&& fn) {
        with_type(job_.points.dtype, [&](auto zero) {
            for (i64 i = rows.begin; i < rows.end; i += kBlock) {
                const int n = static_cast<int>(std::min<i64>(kBlock, rows.end - i));
                poll_(i64{n} * d_);
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

    // OUT ids (n,): the rows of points i to i + n - 1.
    void find_ids(const double* keys, i64 i, int n, i32* ids) {
        switch (job_.plan.strategy) {
            case Strategy::dense:
                return job_.loops.ids_of_keys(keys, n, ids);
            case Strategy::ranked:
                return job_.loops.rank(keys, n, job_.ranks.words().data(), job_.rows, ids);
            case Strategy::sorted:
                std::copy(&job_.key_ranks[i], &job_.key_ranks[i] + n, ids);
                return;
            default:
                break;
        }
        table.ids_of(keys, n, ids);
        const size_t needed = table.keys.size() * (d_ + 1);
        if (moments.size() < needed) moments.resize(needed, 0);
    }

    template <class T>
    void add_each(i64 i, int n, bool all_inside) {
        for (int k = 0; k < n; ++k) {
            if (!is_inside<T>(i + k, all_inside)) {
                add_outside<T>(i + k);
                continue;
            }
            i32 id;
            find_ids(&keys_[k], i + k, 1, &id);
            add_row(&moments[i64{id} * (d_ + 1)], i + k, &offsets_[k * d_]);
            if (job_.ids) job_.ids[i + k] = id;
        }
    }

    // Zero-weight points create no cell, so they are never inside.
    template <class T>
    bool is_inside(i64 i, bool all_inside) const {
        bool inside = job_.weight(i) > 0;
        for (int j = 0; j < d_ && inside && !all_inside; ++j) {
            const double q = quotient_of(widen<T>(job_.points, i, j), job_.cell_size[j]);
            const double in_box = cell_of(q) - job_.plan.low[j];
            inside = in_box >= 0 && in_box < job_.plan.extent[j];
        }
        return inside;
    }

    void add_row(u64* row, i64 i, const u64* offsets) {
        const u64 w = job_.weight(i);
        row[0] += w;
        for (int j = 0; j < d_; ++j) row[j + 1] += w * offsets[j];
    }

    // Adds a point to the table of whole cells; the only step that can encounter a value without a cell. Ids
    // of that table are stored as -1 - id.
    template <class T>
    void add_outside(i64 i) {
        for (int j = 0; j < d_; ++j) {
            const double x = widen<T>(job_.points, i, j);
            const double q = quotient_of(x, job_.cell_size[j]);
            if (!has_cell(q)) reject(i, j, x, job_.cell_size[j]);
            const double cell = cell_of(q);
            cell_[j] = static_cast<i64>(cell);
            offset_[j] = offset_of(q, cell);
        }
        const u32 id = outside.id_of(cell_.data());
        add_row(&outside.moments[i64{id} * (d_ + 1)], i, offset_.data());
        if (job_.ids) job_.ids[i] = -1 - static_cast<i32>(id);
    }

    Job& job_;
    const int d_;
    Poller poll_;
    std::vector<i64> cell_;
    std::vector<u64> offset_;
    BoxPattern pattern_;
    Array<double> keys_, widened_;
    Array<u64> offsets_;
    Array<i32> block_ids_;
};

}  // namespace mspp
