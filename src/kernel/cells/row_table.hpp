// The rows of a trie as short numbers, which are compared several axes at a time.
#pragma once

#include <vector>

#include "kernel/base/numbers.hpp"
#include "kernel/base/threads.hpp"

namespace mspp {

class RowTable {
  public:
    // IN axes: of a row, all but the last one of a cell.
    static bool is_worthwhile(int axes) { return axes >= kMinAxes; }

    bool empty() const { return values_.empty(); }
    void clear() { values_.clear(); }

    // IN first_cell: of each row, and the end. The table stays empty if a value is too large for it.
    template <class K>
    void build(const K& keys, const std::vector<u32>& first_cell) {
        axes_ = static_cast<size_t>(keys.axes() - 1);
        const i64 n = static_cast<i64>(first_cell.size()) - 1;
        values_.resize(static_cast<size_t>(n) * axes_);
        u64 bits = 0;
        each_of({0, n}, keys.axes(), [&](i64 r) {
            for (size_t j = 0; j < axes_; ++j) {
                const i64 value = keys.at(first_cell[r], static_cast<int>(j));
                bits |= static_cast<u64>(value);
                values_[static_cast<size_t>(r) * axes_ + j] = static_cast<u32>(value);
            }
        });
        if (bits >> kValueBits) clear();
    }

    // Whether row r and row k of another table differ by at most `reach` along each axis from `axis` on.
    bool is_near(u32 r, const RowTable& other, u32 k, size_t axis, i64 reach) const {
        const u32* a = &values_[r * axes_];
        const u32* b = &other.values_[k * axes_];
        const u32 low = static_cast<u32>(reach), width = 2 * low;
        for (; axis + kBlock <= axes_; axis += kBlock) {
            u32 far = 0;
            for (size_t j = axis; j < axis + kBlock; ++j) far |= a[j] - b[j] + low > width;
            if (far) return false;
        }
        for (; axis < axes_; ++axis)
            if (a[axis] - b[axis] + low > width) return false;
        return true;
    }

  private:
    static constexpr int kMinAxes = 6;     // with fewer, rows are long and nodes have many children
    static constexpr size_t kBlock = 8;    // axes that are compared before the next decision
    static constexpr int kValueBits = 30;  // differences fit 32 bits
    size_t axes_ = 0;
    std::vector<u32> values_;  // (rows, axes)
};

}  // namespace mspp
