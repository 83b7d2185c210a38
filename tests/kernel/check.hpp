// A minimal test framework: TEST(name) { CHECK(...); }.
//
// A failed CHECK prints its place and expression, and ends its test. test_kernel.cpp runs all tests.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Test {
    const char* name;
    void (*run)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

inline void require(bool passed, const char* expression, const char* file, int line,
                    const std::string& note) {
    if (passed) return;
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + expression +
                             (note.empty() ? "" : " (" + note + ")"));
}

}  // namespace check

#define TEST(name)                                             \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(expression) check::require((expression), #expression, __FILE__, __LINE__, "")
#define CHECK_NOTE(expression, note) check::require((expression), #expression, __FILE__, __LINE__, (note))
