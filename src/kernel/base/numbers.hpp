// Short names for the integer types of the kernel.
#pragma once

#include <cstdint>

#include "kernel/base/limits.hpp"

namespace mspp {

using u64 = uint64_t;
using i64 = int64_t;
using u32 = uint32_t;
using i32 = int32_t;
using u16 = uint16_t;

}  // namespace mspp
