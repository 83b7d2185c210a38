// The unit of a bitmap that ranks: shared by rank.hpp and the loops of each instruction set.
#pragma once

#include <cstdint>

namespace mspp {

struct RankWord {
    uint64_t marks;   // 64 slots
    uint64_t before;  // the number of marks in all earlier words
};

}  // namespace mspp
