// Threads: run one function on several threads without losing an error.
#pragma once

#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace mspp {

// Calls fn(t) for t = 0 .. n-1, each on its own thread; the caller's thread runs the last one. If several
// calls throw, the exception of the smallest t is rethrown: threads own rising ranges, so this is the error
// that a single thread would raise.
template <class Fn>
void parallel(int n, Fn&& fn) {
    std::vector<std::exception_ptr> errors(static_cast<size_t>(n));
    auto guarded = [&](int t) {
        try {
            fn(t);
        } catch (...) {
            errors[static_cast<size_t>(t)] = std::current_exception();
        }
    };
    std::vector<std::thread> team;
    team.reserve(static_cast<size_t>(n - 1));
    int started = 0;
    try {
        for (; started < n - 1; ++started) team.emplace_back(guarded, started);
    } catch (const std::system_error&) {  // the system has no more threads: the caller does the rest
    }
    for (int t = started; t < n; ++t) guarded(t);
    for (auto& thread : team) thread.join();
    for (auto& error : errors)
        if (error) std::rethrow_exception(error);
}

struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

// The t-th of n nearly equal parts of [0, size).
inline Range part(int64_t size, int t, int n) { return {size * t / n, size * (t + 1) / n}; }

// The number of threads worth starting: at most n_threads, and each with at least `grain` items.
inline int team_size(int64_t items, int64_t grain, int n_threads) {
#ifdef MSPP_SMALL_TEAMS  // fuzzers share few items too
    grain = 1;
#endif
    const int64_t useful = items / grain;
    return useful < 1 ? 1 : useful < n_threads ? static_cast<int>(useful) : n_threads;
}

}  // namespace mspp
