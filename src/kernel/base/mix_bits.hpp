// A hash of a number.
#pragma once

#include "kernel/base/numbers.hpp"

namespace mspp {

// Mixes the bits of x (the finaliser of SplitMix64).
inline u64 mix_bits(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

}  // namespace mspp
