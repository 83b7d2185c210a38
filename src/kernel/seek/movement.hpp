// Movement: whether the points moved further in a step than the tolerance.
#pragma once

#include <algorithm>

#include "kernel/base/numbers.hpp"

namespace mspp {

// A sum of distances that is only compared with a tolerance. It is an integer, so the order of adding does
// not matter.
class Movement {
  public:
    explicit Movement(double tol) : tol_(tol) {}
    void add(double distance) {
        if (distance >= tol_)
            exceeds_ = exceeds_ || distance > 0;
        else
            parts_ += static_cast<u64>(distance / tol_ * 0x1p32);
    }
    void add(const Movement& other) {
        exceeds_ |= other.exceeds_;
        parts_ = std::min(parts_, u64{1} << 62) + std::min(other.parts_, u64{1} << 62);
    }
    bool exceeds() const { return exceeds_ || parts_ >= (u64{1} << 32); }

  private:
    double tol_;
    u64 parts_ = 0;  // in units of tol / 2^32
    bool exceeds_ = false;
};

}  // namespace mspp
