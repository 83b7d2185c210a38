// Chooses the block loops for the machine that the program runs on.
#include <cstring>

#include "kernel/bin/loops.hpp"

namespace mspp {

namespace base {
extern const BlockLoops loops;
}
#ifdef MSPP_X86_64
namespace avx2 {
extern const BlockLoops loops;
}
namespace avx512 {
extern const BlockLoops loops;
}
#endif

// __builtin_cpu_supports takes string literals only, so each instruction set is spelled out.
const LoopChoice* loop_choices(int& n) {
    static const LoopChoice choices[] = {
#ifdef MSPP_X86_64
        {"avx512", avx512::loops,
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")},
        {"avx2", avx2::loops, __builtin_cpu_supports("avx2") != 0},
#endif
        {"base", base::loops, true},
    };
    n = static_cast<int>(sizeof choices / sizeof choices[0]);
    return choices;
}

const BlockLoops* find_loops(const char* name) {
    int n;
    const LoopChoice* choices = loop_choices(n);
    for (int k = 0; k < n; ++k)
        if (choices[k].runs_here && (!name || std::strcmp(name, choices[k].name) == 0))
            return &choices[k].loops;
    return nullptr;
}

}  // namespace mspp
