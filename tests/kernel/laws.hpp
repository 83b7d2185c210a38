// Laws of every operation of the kernel: it ends when it is interrupted, and several callers at once get
// equal results. The thread sanitizer sees their threads share the input.
#pragma once

#include <functional>

#include "check.hpp"
#include "kernel/base/interrupt.hpp"
#include "kernel/base/threads.hpp"

namespace laws {

using namespace mspp;

struct Stop {};

// Runs an operation that is interrupted at the n-th poll. Returns whether it ended early.
inline bool is_ended(int n, const std::function<void()>& operation) {
    try {
        const Call call(
            [&] {
                if (--n == 0) throw Stop{};
            },
            std::chrono::seconds(0));
        operation();
    } catch (const Stop&) {
        return true;
    }
    return false;
}

// Interrupts an operation at its first polls. IN least: the number of polls that it must have.
inline void check_polls(int least, const std::function<void(int threads)>& operation) {
    for (const int threads : {1, 3}) {
        int n = 1;
        while (n <= least + 2 && is_ended(n, [&] { operation(threads); })) ++n;
        CHECK_NOTE(n > least, std::to_string(threads) + " threads: " + std::to_string(n - 1) + " polls");
        operation(threads);
    }
}

inline constexpr int kCallers = 3, kThreads = 3;

// Calls fn() on several threads at once; all results must be equal.
template <class Fn>
void each_caller(Fn&& fn) {
    std::vector<decltype(fn())> results(kCallers);
    parallel(kCallers, [&](int t) { results[static_cast<size_t>(t)] = fn(); });
    for (const auto& result : results) CHECK(result == results[0]);
}

}  // namespace laws
