// The rest rule, by which every search ends: a cell that would move only a little stays where it is.
//
// The first steps are those of the paper. Cells that still move after them creep: a light cell between two
// heavy ones, which do not see each other, draws them together by its share of their weight in each step.
// From then on, a cell rests if its move is at most a limit, which doubles every few steps. No move is longer
// than a window, so all cells rest in the end.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernel/base/cell_rule.hpp"
#include "kernel/base/limits.hpp"
#include "kernel/base/numbers.hpp"

namespace mspp {

class RestRule {
  public:
    // IN tol: the first limit in cells, 0 for none; positions have `bits` bits per cell.
    RestRule(double tol, int bits, int reach) : longest_(static_cast<u64>(2 * reach + 1) << bits) {
        if (tol == 0) return;
        // Moves on a lattice may be equal to the tolerance; the shift of the tie rule lets these rest.
        first_ = static_cast<u64>(std::min(std::ldexp(tol, bits), static_cast<double>(longest_)));
        first_ = std::min(first_ + tie_shift(bits), longest_);
    }

    // The longest move along an axis of a cell that rests, in units of positions. Steps count from 1.
    u64 limit(int step) const {
        if (step <= kFreeSteps) return 0;
        const int doublings = std::min((step - kFreeSteps - 1) / kDoublingSteps, 63);
        return first_ > longest_ >> doublings ? longest_ : first_ << doublings;
    }

  private:
    u64 longest_, first_ = 0;
};

}  // namespace mspp
