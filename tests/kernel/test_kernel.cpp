// Runs the kernel's tests, without Python: all of them, or those whose name contains an argument.
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
    int failed = 0, run = 0;
    for (const check::Test& test : check::tests()) {
        bool selected = argc < 2;
        for (int k = 1; k < argc; ++k) selected = selected || std::strstr(test.name, argv[k]);
        if (!selected) continue;
        ++run;
        try {
            test.run();
        } catch (const std::exception& error) {
            ++failed;
            std::printf("FAILED %s\n  %s\n", test.name, error.what());
        }
    }
    std::printf("%d tests of the kernel, %d failed\n", run, failed);
    return failed > 0 || run == 0;
}
