// Chooses the block loops for the machine the program runs on.
#include "kernel/block.hpp"

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

const BlockLoops& block_loops() {
#ifdef MSPP_X86_64
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return avx512::loops;
    if (__builtin_cpu_supports("avx2")) return avx2::loops;
#endif
    return base::loops;
}

}  // namespace mspp
