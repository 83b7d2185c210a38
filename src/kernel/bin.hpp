// Binning: points -> occupied cells, in one pass.
//
// A few thousand points, taken evenly, tell the box in which most of the data lies. Points inside get a key
// (their place in the box) from vectorised loops and are added to a table indexed by it: a dense one where
// the box is small, an open-addressing one where it is large. The few points outside, and any data whose box
// has too many cells to number, go to a table of whole cells. All ways give the same bits.
#pragma once

#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

#include "kernel/block.hpp"
#include "kernel/cells.hpp"

namespace mspp {

enum class Dtype { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };
enum class Way { automatic, dense, hash, wide };

// The caller's points, untouched: any strides, in bytes.
struct Points {
    const char* data;
    Dtype dtype;
    i64 n;
    int d;
    i64 row_stride, column_stride;

    const char* at(i64 row, int column) const { return data + row * row_stride + column * column_stride; }
    bool packed(i64 itemsize) const { return column_stride == itemsize && row_stride == itemsize * d; }
};

template <class Fn>
auto with_type(Dtype dtype, Fn&& fn) {
    switch (dtype) {
        case Dtype::u8:
            return fn(uint8_t{});
        case Dtype::i8:
            return fn(int8_t{});
        case Dtype::u16:
            return fn(uint16_t{});
        case Dtype::i16:
            return fn(int16_t{});
        case Dtype::u32:
            return fn(uint32_t{});
        case Dtype::i32:
            return fn(int32_t{});
        case Dtype::u64:
            return fn(uint64_t{});
        case Dtype::i64:
            return fn(int64_t{});
        case Dtype::f32:
            return fn(float{});
        default:
            return fn(double{});
    }
}

template <class T>
double widen(const Points& points, i64 row, int column) {
    T x;
    std::memcpy(&x, points.at(row, column), sizeof x);
    const double wide = static_cast<double>(x);
    if constexpr (std::numeric_limits<T>::is_integer && sizeof(T) == 8) {
        if (wide > 0x1p53 || wide < -0x1p53)
            throw BadInput("X[" + std::to_string(row) + ", " + std::to_string(column) + "] is " +
                           std::to_string(x) +
                           ", which float64 cannot hold exactly: integers must lie within +-2**53; subtract "
                           "an offset first");
    }
    return wide;
}

[[noreturn]] inline void reject(i64 row, int column, double x, double bandwidth) {
    std::ostringstream text;
    text.precision(17);
    text << "X[" << row << ", " << column << "] is ";
    if (std::isnan(x))
        text << "NaN: every coordinate must be a finite number";
    else if (std::isinf(x))
        text << (x < 0 ? "-inf" : "inf") << " (infinity): every coordinate must be a finite number";
    else
        text << x << ", too large for bandwidth " << bandwidth
             << ": |x / bandwidth| must stay below 2**51; subtract an offset or take a larger bandwidth";
    throw BadInput(text.str());
}

// Open addressing from whole cells, rows of d integers, to consecutive ids.
class WideTable {
  public:
    explicit WideTable(int d) : table(d), slots_(64, kFree) {}
    u32 id_of(const i64* cell) {
        const int d = table.d;
        size_t slot = hash(cell) & (slots_.size() - 1);
        for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1))
            if (std::equal(cell, cell + d, &table.cells[i64{slots_[slot]} * d])) return slots_[slot];
        const u32 id = static_cast<u32>(table.size());
        slots_[slot] = id;
        table.cells.insert(table.cells.end(), cell, cell + d);
        table.lanes.resize(table.lanes.size() + d + 1);
        if (2 * static_cast<size_t>(id) > slots_.size()) grow();
        return id;
    }
    CellTable table;

  private:
    static constexpr u32 kFree = UINT32_MAX;
    size_t hash(const i64* cell) const {
        u64 h = 0;
        for (int j = 0; j < table.d; ++j)
            h = (std::rotl(h, 23) ^ static_cast<u64>(cell[j])) * 0x9E3779B97F4A7C15ull;
        return static_cast<size_t>(h >> 20);
    }
    void grow() {
        slots_.assign(slots_.size() * 4, kFree);
        for (i64 id = 0; id < table.size(); ++id) {
            size_t slot = hash(&table.cells[id * table.d]) & (slots_.size() - 1);
            while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<u32>(id);
        }
    }
    std::vector<u32> slots_;
};

// Open addressing from keys below 2^53 to consecutive ids.
class KeyTable {
  public:
    KeyTable() : slots_(1 << 12, Slot{kFree, 0}), shift_(64 - 12) {}
    u32 id_of(u64 key) {
        size_t slot = hash(key);
        for (; slots_[slot].key != key; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].key != kFree) continue;
            slots_[slot] = {key, static_cast<u32>(keys.size())};
            keys.push_back(key);
            if (2 * keys.size() > slots_.size()) grow();
            return static_cast<u32>(keys.size() - 1);
        }
        return slots_[slot].id;
    }
    std::vector<u64> keys;

  private:
    struct Slot {
        u64 key;
        u32 id;
    };
    static constexpr u64 kFree = UINT64_MAX;
    size_t hash(u64 key) const { return static_cast<size_t>((key * 0x9E3779B97F4A7C15ull) >> shift_); }
    void grow() {
        shift_ -= 2;
        slots_.assign(slots_.size() * 4, Slot{kFree, 0});
        for (size_t id = 0; id < keys.size(); ++id) {
            size_t slot = hash(keys[id]);
            while (slots_[slot].key != kFree) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = {keys[id], static_cast<u32>(id)};
        }
    }
    std::vector<Slot> slots_;
    int shift_;
};

// Which box of cells to number, and how to keep what falls into it.
struct Plan {
    Way way = Way::wide;
    std::vector<double> low, extent, stride;
    i64 volume = 0;  // cells in the box
};

inline Plan make_plan(const Points& points, const double* bandwidth, Way asked) {
    constexpr i64 kSample = 4096, kDenseCells = i64{1} << 18;
    const int d = points.d;
    Plan plan;
    if (asked == Way::wide || d > kMaxFixedAxes) return plan;
    const i64 step = std::max<i64>(1, points.n / kSample);
    const auto limit = [](double q) {
        return std::isfinite(q) ? std::clamp(q, -kCellLimit, kCellLimit) : 0.0;
    };
    std::vector<double> low(d, kCellLimit), high(d, -kCellLimit);
    with_type(points.dtype, [&](auto zero) {
        for (i64 i = 0; i < points.n; i += step)
            for (int j = 0; j < d; ++j) {
                decltype(zero) x;
                std::memcpy(&x, points.at(i, j), sizeof x);
                const double cell = std::floor(limit(static_cast<double>(x) / bandwidth[j]));
                low[j] = std::min(low[j], cell);
                high[j] = std::max(high[j], cell);
            }
    });
    double volume = 1;
    for (int j = 0; j < d; ++j) {
        const double margin = step == 1 ? 0 : std::max(1.0, std::floor((high[j] - low[j]) / 4));
        low[j] -= margin;
        high[j] += margin;
        volume *= high[j] - low[j] + 1;
    }
    if (!(volume < 0x1p53)) return plan;
    plan.low = low;
    plan.extent.resize(d);
    plan.stride.resize(d);
    double stride = 1;
    for (int j = d - 1; j >= 0; --j) {
        plan.extent[j] = high[j] - low[j] + 1;
        plan.stride[j] = stride;
        stride *= plan.extent[j];
    }
    plan.volume = static_cast<i64>(volume);
    const bool small = plan.volume <= std::min(kDenseCells, std::max<i64>(4096, points.n));
    plan.way = asked != Way::automatic ? asked : small ? Way::dense : Way::hash;
    if (plan.way == Way::dense && plan.volume > (i64{1} << 26))
        throw BadInput("the box of " + std::to_string(plan.volume) + " cells is too large for a dense table");
    return plan;
}

// What one thread has seen: a table over the box and one for the cells outside of it.
class Worker {
  public:
    Worker(const Points& points, const double* bandwidth, const u64* weights, const Plan& plan, i32* ids)
        : points_(points),
          bandwidth_(bandwidth),
          weights_(weights),
          plan_(plan),
          ids_(ids),
          outside(points.d),
          cell_(static_cast<size_t>(points.d)) {
        const int d = points.d;
        if (plan.way == Way::wide) return;
        if (plan.way == Way::dense) lanes.resize(static_cast<size_t>(plan.volume * (d + 1)));
        for (int k = 0; k < 8 * d; ++k) {
            pattern_.bandwidth[k] = bandwidth[k % d];
            pattern_.low[k] = plan.low[k % d];
            pattern_.extent[k] = plan.extent[k % d];
            pattern_.stride[k] = plan.stride[k % d];
        }
        keys_.resize(kBlock);
        offsets_.resize(static_cast<size_t>(kBlock * d));
    }

    void run(Range rows) {
        with_type(points_.dtype, [&](auto zero) {
            if (plan_.way == Way::wide)
                for (i64 i = rows.begin; i < rows.end; ++i) add_outside<decltype(zero)>(i);
            else
                run_blocks<decltype(zero)>(rows);
        });
    }

    KeyTable cells;          // hash way: key -> row of lanes
    std::vector<u64> lanes;  // rows of 1 + d: by key (dense) or by id (hash)

  private:
    template <class T>
    void run_blocks(Range rows) {
        const int d = points_.d;
        const BlockLoops& loops = block_loops();
        std::vector<double> widened(static_cast<size_t>(kBlock * d));
        for (i64 i = rows.begin; i < rows.end; i += kBlock) {
            const int n = static_cast<int>(std::min<i64>(kBlock, rows.end - i));
            bool inside;
            const void* first = points_.at(i, 0);
            const bool as_is =
                points_.packed(sizeof(T)) && reinterpret_cast<uintptr_t>(first) % alignof(T) == 0;
            if constexpr (std::is_same_v<T, float>) {
                inside = as_is ? loops.split_f32[d](static_cast<const float*>(first), n, pattern_,
                                                    keys_.data(), offsets_.data())
                               : split_widened<T>(i, n, widened);
            } else if constexpr (std::is_same_v<T, double>) {
                inside = as_is ? loops.split_f64[d](static_cast<const double*>(first), n, pattern_,
                                                    keys_.data(), offsets_.data())
                               : split_widened<T>(i, n, widened);
            } else if constexpr (std::is_same_v<T, uint8_t>) {
                inside = as_is ? loops.split_u8[d](static_cast<const uint8_t*>(first), n, pattern_,
                                                   keys_.data(), offsets_.data())
                               : split_widened<T>(i, n, widened);
            } else {
                inside = split_widened<T>(i, n, widened);
            }
            if (inside && plan_.way == Way::dense && !weights_)
                loops.add[d](keys_.data(), offsets_.data(), n, lanes.data(), ids_ ? ids_ + i : nullptr);
            else
                add_block<T>(i, n, inside);
        }
    }

    template <class T>
    bool split_widened(i64 i, int n, std::vector<double>& widened) {
        const int d = points_.d;
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < d; ++j) widened[k * d + j] = widen<T>(points_, i + k, j);
        return block_loops().split_f64[d](widened.data(), n, pattern_, keys_.data(), offsets_.data());
    }

    template <class T>
    void add_block(i64 i, int n, bool all_inside) {
        const int d = points_.d;
        for (int k = 0; k < n; ++k) {
            if (!all_inside && !in_box<T>(i + k)) {
                add_outside<T>(i + k);
                continue;
            }
            u32 id = static_cast<u32>(keys_[k]);
            if (plan_.way == Way::hash) {
                id = cells.id_of(static_cast<u64>(keys_[k]));
                if (id * static_cast<size_t>(d + 1) == lanes.size()) lanes.resize(lanes.size() + d + 1);
            }
            add_row(&lanes[i64{id} * (d + 1)], i + k, &offsets_[k * d]);
            if (ids_) ids_[i + k] = static_cast<i32>(id);
        }
    }

    void add_row(u64* row, i64 i, const u64* offsets) {
        const u64 w = weights_ ? weights_[i] : 1;
        row[0] += w;
        for (int j = 0; j < points_.d; ++j) row[j + 1] += w * offsets[j];
    }

    template <class T>
    bool in_box(i64 i) const {
        bool inside = true;
        for (int j = 0; j < points_.d; ++j) {
            const double cell = std::floor(widen<T>(points_, i, j) / bandwidth_[j]) - plan_.low[j];
            inside = inside && cell >= 0 && cell < plan_.extent[j];
        }
        return inside;
    }

    // The literal way, and the only one that can fail. Ids of the outside table are kept as negative numbers.
    template <class T>
    void add_outside(i64 i) {
        const int d = points_.d;
        offset_.resize(static_cast<size_t>(d));
        for (int j = 0; j < d; ++j) {
            const double x = widen<T>(points_, i, j);
            const double q = x / bandwidth_[j];
            if (!(std::abs(q) < kCellLimit)) reject(i, j, x, bandwidth_[j]);
            const double cell = std::floor(q);
            cell_[j] = static_cast<i64>(cell);
            offset_[j] = offset_of(q - cell);
        }
        const u32 id = outside.id_of(cell_.data());
        add_row(&outside.table.lanes[i64{id} * (d + 1)], i, offset_.data());
        if (ids_) ids_[i] = -1 - static_cast<i32>(id);
    }

    const Points& points_;
    const double* bandwidth_;
    const u64* weights_;
    const Plan& plan_;
    i32* ids_;

  public:
    WideTable outside;

  private:
    std::vector<i64> cell_;
    std::vector<u64> offset_;
    BoxPattern pattern_;
    std::vector<double> keys_;
    std::vector<u64> offsets_;
};

// Where the points went: for each range of rows, the grid cell behind each id that was written for it.
class Assignment {
  public:
    struct Part {
        Range rows;
        std::shared_ptr<std::vector<i32>> inside;
        std::vector<i32> outside;
    };
    std::vector<Part> parts;
    i64 n_cells = 0;

    // OUT labels[i] = values[cell of point i]; labels may be the ids themselves.
    void take(const i32* values, const i32* ids, i32* labels) const {
        auto resolve = [&](const std::vector<i32>& cells) {
            std::vector<i32> out(cells.size());
            for (size_t k = 0; k < cells.size(); ++k) out[k] = cells[k] < 0 ? -1 : values[cells[k]];
            return out;
        };
        parallel(static_cast<int>(parts.size()), [&](int t) {
            const Part& part = parts[t];
            const auto inside = resolve(*part.inside), outside = resolve(part.outside);
            for (i64 i = part.rows.begin; i < part.rows.end; ++i)
                labels[i] = ids[i] >= 0 ? inside[ids[i]] : outside[-1 - ids[i]];
        });
    }
};

struct Binned {
    CellTable table;
    Assignment assignment;
};

// The cell of a key in the plan's box.
inline void cell_of_key(const Plan& plan, u64 key, i64* cell) {
    for (size_t j = 0; j < plan.low.size(); ++j) {
        const u64 stride = static_cast<u64>(plan.stride[j]);
        cell[j] = static_cast<i64>(plan.low[j]) + static_cast<i64>(key / stride);
        key %= stride;
    }
}

// Moves the rows of all workers into one table and notes for each worker which row of it an id means.
inline Binned collect(std::vector<std::unique_ptr<Worker>>& workers, const Plan& plan, int d) {
    Binned binned{CellTable(d), {}};
    CellTable& all = binned.table;
    auto& parts = binned.assignment.parts;
    parts.resize(workers.size());
    auto append = [&](const i64* cell, const u64* lanes) {
        all.cells.insert(all.cells.end(), cell, cell + d);
        all.lanes.insert(all.lanes.end(), lanes, lanes + d + 1);
        return static_cast<i32>(all.size() - 1);
    };
    std::vector<i64> cell(static_cast<size_t>(d));
    auto append_key = [&](u64 key, const u64* lanes) {
        cell_of_key(plan, key, cell.data());
        return append(cell.data(), lanes);
    };
    if (plan.way == Way::dense) {
        auto& sum = workers[0]->lanes;
        for (size_t t = 1; t < workers.size(); ++t)
            for (size_t k = 0; k < sum.size(); ++k) sum[k] += workers[t]->lanes[k];
        auto rows = std::make_shared<std::vector<i32>>(static_cast<size_t>(plan.volume), -1);
        for (i64 key = 0; key < plan.volume; ++key)
            if (const u64* lanes = &sum[key * (d + 1)]; lanes[0])
                (*rows)[key] = append_key(static_cast<u64>(key), lanes);
        for (auto& part : parts) part.inside = rows;
    } else {
        for (size_t t = 0; t < workers.size(); ++t) {
            parts[t].inside = std::make_shared<std::vector<i32>>();
            for (size_t id = 0; id < workers[t]->cells.keys.size(); ++id)
                parts[t].inside->push_back(
                    append_key(workers[t]->cells.keys[id], &workers[t]->lanes[id * (d + 1)]));
        }
    }
    for (size_t t = 0; t < workers.size(); ++t) {
        const CellTable& outside = workers[t]->outside.table;
        for (i64 id = 0; id < outside.size(); ++id)
            parts[t].outside.push_back(append(&outside.cells[id * d], &outside.lanes[id * (d + 1)]));
    }
    workers.clear();
    return binned;
}

// Sorts the collected rows; drops cells of no weight; notes for each id the cell it means.
inline void settle(Binned& binned) {
    std::vector<u32> place;
    CellTable& table = binned.table;
    const int d = table.d;
    sort_and_merge(table, place);
    std::vector<i32> kept(static_cast<size_t>(table.size()));
    i64 m = 0;
    for (i64 i = 0; i < table.size(); ++i) {
        const u64 count = table.lanes[i * (d + 1)];
        if (count > kCountLimit)
            throw BadInput(
                "a cell holds a weight of " + std::to_string(count) +
                ", more than the 2**32 - 1 whose sum is exact; take a smaller bandwidth or smaller weights");
        kept[i] = count ? static_cast<i32>(m) : -1;
        if (count == 0) continue;
        std::copy(&table.cells[i * d], &table.cells[i * d] + d, &table.cells[m * d]);
        std::copy(&table.lanes[i * (d + 1)], &table.lanes[i * (d + 1)] + d + 1, &table.lanes[m * (d + 1)]);
        ++m;
    }
    table.cells.resize(static_cast<size_t>(m * d));
    table.lanes.resize(static_cast<size_t>(m * (d + 1)));
    auto translate = [&](std::vector<i32>& rows) {
        for (i32& row : rows)
            if (row >= 0) row = kept[place[row]];
    };
    const std::vector<i32>* done = nullptr;
    for (auto& part : binned.assignment.parts) {
        if (part.inside.get() != done) translate(*part.inside);
        done = part.inside.get();
        translate(part.outside);
    }
    binned.assignment.n_cells = m;
}

// IN points, bandwidth (d,), weights (n,) or null; OUT ids (n,) or null, to be read through the assignment.
inline Binned bin(const Points& points, const double* bandwidth, const u64* weights, i32* ids, int n_threads,
                  Way way) {
    const Plan plan = make_plan(points, bandwidth, way);
    const int team = team_size(points.n, 1 << 15, n_threads);
    std::vector<std::unique_ptr<Worker>> workers(static_cast<size_t>(team));
    parallel(team, [&](int t) {
        workers[t] = std::make_unique<Worker>(points, bandwidth, weights, plan, ids);
        workers[t]->run(part(points.n, t, team));
    });
    Binned binned = collect(workers, plan, points.d);
    for (int t = 0; t < team; ++t) binned.assignment.parts[t].rows = part(points.n, t, team);
    settle(binned);
    return binned;
}

}  // namespace mspp
