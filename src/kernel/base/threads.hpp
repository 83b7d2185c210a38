// Threads: run one function on several threads without losing an error, and loops that can be interrupted.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "kernel/base/interrupt.hpp"
#include "kernel/base/memory.hpp"

namespace mspp {

// Counts the threads of a team that have ended.
class Finished {
  public:
    void add() {
        const std::lock_guard lock(mutex_);
        ++count_;
        changed_.notify_one();
    }
    // Waits for so many threads, polling; the threads then see that the call has stopped, and end.
    void wait(size_t count) {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, kInterval, [&] { return count_ == count; })) {
            lock.unlock();
            try {
                poll();
            } catch (...) {  // the caller rethrows it once all threads have ended
            }
            lock.lock();
        }
    }

  private:
    static constexpr std::chrono::milliseconds kInterval{50};
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t count_ = 0;
};

// Whether there is memory for so many threads: their stacks, and what glibc allocates at a thread's first
// exception, without which it ends the process.
inline bool has_memory_for([[maybe_unused]] int n) {
#ifdef MSPP_SANITIZE  // sanitizers write to their shadow of all memory that is allocated
    return true;
#else
    const size_t bytes = (size_t{64} << 20) + static_cast<size_t>(n) * (size_t{16} << 20);
    void* volatile probe = std::malloc(bytes);  // volatile, or compilers would omit it
    std::free(probe);
    return probe != nullptr;
#endif
}

// Calls fn(t) for t = 0 .. n-1, each on its own thread; the caller's thread runs the last one, and those for
// which the system has no thread or no memory. If several calls throw, the exception of the smallest t is
// rethrown: threads own rising ranges, so this is the error that a single thread would raise.
template <class Fn>
void parallel(int n, Fn&& fn) {
    if (n == 1) return fn(0);
    std::vector<std::exception_ptr> errors(static_cast<size_t>(n));
    auto guarded = [&](int t) {
        try {
            fn(t);
        } catch (...) {
            errors[static_cast<size_t>(t)] = std::current_exception();
        }
    };
    Finished finished;
    std::vector<std::thread> team;
    team.reserve(static_cast<size_t>(n - 1));
    try {
        for (int t = 0; t < n - 1 && has_memory_for(n - 1 - t); ++t)
            team.emplace_back([&, t, call = Call::current()] {
                const Call::Scope scope(call);
                guarded(t);
                finished.add();
            });
    } catch (...) {
    }
    for (int t = static_cast<int>(team.size()); t < n; ++t) guarded(t);
    finished.wait(team.size());
    for (auto& thread : team) thread.join();
    if (Call* call = Call::current()) call->rethrow_if_stopped();
    for (auto& error : errors)
        if (error) std::rethrow_exception(error);
}

struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

// The t-th of n nearly equal parts of [0, size).
inline Range part(int64_t size, int t, int n) { return {size * t / n, size * (t + 1) / n}; }

// Calls fn(i) for each i of a range, and polls between blocks of them. IN work: of one call, in units of a
// few nanoseconds.
template <class Fn>
void each_of(Range range, int64_t work, Fn&& fn) {
    const int64_t block = std::max<int64_t>(1, (1 << 16) / work);
    for (int64_t begin = range.begin; begin < range.end; begin += block) {
        poll();
        for (int64_t i = begin, end = std::min(begin + block, range.end); i < end; ++i) fn(i);
    }
}
template <class Fn>
void each_of(Range range, Fn&& fn) {
    each_of(range, 4, fn);
}

// OUT array: n zeros. Polls, because gigabytes take seconds.
template <class T>
void assign_zeros(Array<T>& array, size_t n) {
    array.resize(n);
    each_of({0, static_cast<int64_t>(n)}, 1, [&](int64_t i) { array[static_cast<size_t>(i)] = T{}; });
}

// The number of threads worth starting: at most n_threads, and each with at least `grain` items.
inline int team_size(int64_t items, int64_t grain, int n_threads) {
#ifdef MSPP_SMALL_TEAMS  // fuzzers share few items too
    grain = 1;
#endif
    const int64_t useful = items / grain;
    return useful < 1 ? 1 : useful < n_threads ? static_cast<int>(useful) : n_threads;
}

}  // namespace mspp
