// Division of many numbers by one.
#pragma once

#include "kernel/base/numbers.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace mspp {

// The upper 64 bits of a product.
inline u64 high_product(u64 a, u64 b) {
#if defined(_MSC_VER)
    return __umulh(a, b);
#else
    return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64);
#endif
}

// Divides by multiplying with floor(2^64 / k) + 1, which is exact for every x with x * k < 2^64.
class Divisor {
  public:
    explicit Divisor(u64 k) : k_(k), inverse_(~u64{0} / k + 1), limit_(k == 1 ? 0 : ~u64{0} / k) {}
    u64 value() const { return k_; }
    u64 quotient(u64 x) const { return x < limit_ ? high_product(x, inverse_) : x / k_; }

  private:
    u64 k_, inverse_, limit_;
};

}  // namespace mspp
