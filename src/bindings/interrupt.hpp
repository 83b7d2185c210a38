// Ctrl-C in long loops.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace mspp {

namespace nb = nanobind;

// Raises KeyboardInterrupt after Ctrl-C; looks for it ten times a second.
struct CheckInterrupt {
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
    void operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(100)) return;
        last = now;
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
};

}  // namespace mspp
