// Chooses the near loops for the machine that the program runs on.
#include "kernel/bin/loops.hpp"
#include "kernel/tree/near_loops.hpp"

namespace mspp {

namespace base {
extern const NearLoops near;
}
#ifdef MSPP_X86_64
namespace avx2 {
extern const NearLoops near;
}
namespace avx512 {
extern const NearLoops near;
}
#endif

const NearChoice* near_choices(int& n) {
    static const LoopChoice* sets = loop_choices(n);  // of the same instruction sets, in the same order
    static const NearChoice choices[] = {
#ifdef MSPP_X86_64
        {sets[0].name, avx512::near, sets[0].runs_here},
        {sets[1].name, avx2::near, sets[1].runs_here},
        {sets[2].name, base::near, sets[2].runs_here},
#else
        {sets[0].name, base::near, sets[0].runs_here},
#endif
    };
    n = static_cast<int>(sizeof choices / sizeof choices[0]);
    return choices;
}

const NearLoops& near_loops() {
    int n;
    const NearChoice* choice = near_choices(n);
    while (!choice->runs_here) ++choice;
    return choice->loops;
}

}  // namespace mspp
