// Errors about the user's input, as data: the bindings raise them as InvalidInputError.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace mspp {

// Data or a parameter that the kernel cannot process. what() is the problem without the place of the value,
// for example "is NaN: every coordinate must be a finite number".
struct BadInput : std::runtime_error {
    explicit BadInput(const std::string& problem, int64_t row = -1, int64_t column = -1)
        : std::runtime_error(problem), row(row), column(column) {}
    int64_t row, column;  // of the value, or -1
};

}  // namespace mspp
