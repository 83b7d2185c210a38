// The assignment: which cell of the grid each point went to.
#pragma once

#include <memory>
#include <vector>

#include "kernel/base/memory.hpp"
#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

// For each thread's range of rows, the grid cell of each id that binning wrote for it.
class Assignment {
  public:
    struct Part {
        Range rows;
        std::shared_ptr<Array<i32>> inside;  // of ids >= 0; null: an id is the cell itself
        Array<i32> outside;                  // of ids < 0, by -1 - id
    };
    std::vector<Part> parts;
    i64 n_cells = 0;

    i64 n_points() const { return parts.back().rows.end; }

    // IN values (n_cells,), ids (n,); OUT labels[i] = values[cell of point i], or -1 for a point without a
    // cell. `labels` may be `ids`.
    void take(const i32* values, const i32* ids, i32* labels) const {
        auto resolve = [&](const Array<i32>& cells) {
            Array<i32> out(cells.size());
            each_of({0, static_cast<i64>(cells.size())},
                    [&](i64 k) { out[k] = cells[k] < 0 ? -1 : values[cells[k]]; });
            return out;
        };
        parallel(static_cast<int>(parts.size()), [&](int t) {
            const Part& part = parts[t];
            const auto resolved = part.inside ? resolve(*part.inside) : Array<i32>();
            const auto outside = resolve(part.outside);
            const i32* inside = part.inside ? resolved.data() : values;
            each_of(part.rows,
                    [&](i64 i) { labels[i] = ids[i] >= 0 ? inside[ids[i]] : outside[-1 - ids[i]]; });
        });
    }
};

}  // namespace mspp
