// Runs the kernel's tests, without Python: all of them, those whose name contains an argument, or a part of
// all: `test_kernel 2/3` runs the second of three.
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
    int failed = 0, run = 0, number = 0, part = 1, parts = 1;
    const bool in_parts = argc == 2 && std::sscanf(argv[1], "%d/%d", &part, &parts) == 2;
    for (const check::Test& test : check::tests()) {
        bool selected = argc < 2 || (in_parts && number++ % parts == part - 1);
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
