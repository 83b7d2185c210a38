// A frame of a video: RGB bytes with strides; it is never copied.
#pragma once

#include "kernel/base/numbers.hpp"

namespace mspp {

struct Frame {
    const uint8_t* data;
    i64 height, width;
    i64 row, column, channel;  // strides in bytes
    const uint8_t* at(i64 y, i64 x) const { return data + y * row + x * column; }
};

}  // namespace mspp
