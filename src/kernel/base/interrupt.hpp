// Interruption: how a loop of any thread ends early when the caller wants it to, for example at Ctrl-C.
//
// A Call is one call of the kernel. Loops poll: on the thread that made the call, poll() asks the caller's
// check about ten times a second, which may throw; on a worker, it looks whether that check has thrown.
// threads.hpp passes the call on to workers, and the exception of the check to the caller. Without a Call,
// as in the tests of the kernel, poll() does nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "kernel/base/numbers.hpp"

// glibc allocates other thread-local variables of a library at their first use, and ends the process if that
// fails.
#if defined(__GLIBC__)
#define MSPP_STATIC_TLS [[gnu::tls_model("initial-exec")]]
#else
#define MSPP_STATIC_TLS
#endif

namespace mspp {

// Ends the loops of a worker; parallel() replaces it by the exception of the check.
struct Interrupted {};

class Call {
  public:
    using Duration = std::chrono::steady_clock::duration;

    // IN interval: the least time between two calls of check(), which takes longer than a poll.
    explicit Call(std::function<void()> check, Duration interval = std::chrono::milliseconds(100))
        : check_(std::move(check)), interval_(interval), scope_(this) {}

    // The call that this thread works for, or null.
    static Call* current() { return current_; }

    // Makes a call the current one of this thread, and prepares the thread for exceptions: the first one of a
    // thread needs memory, and glibc ends the process if there is none.
    class Scope {
      public:
        explicit Scope(Call* call) : before_(std::exchange(current_, call)) {
            [[maybe_unused]] volatile int prepared = std::uncaught_exceptions();
        }
        ~Scope() { current_ = before_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Call* before_;
    };

    void poll() {
        if (std::this_thread::get_id() == owner_) {
            if (!stopped()) ask();
            rethrow_if_stopped();
        } else if (stopped()) {
            throw Interrupted{};
        }
    }
    // Throws the exception of the check, if there was one.
    void rethrow_if_stopped() const {
        if (!stopped()) return;
        if (std::this_thread::get_id() != owner_) throw Interrupted{};
        std::rethrow_exception(error_);
    }

  private:
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
    void ask() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < interval_) return;
        last_ = now;
        try {
            check_();
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = true;
        }
    }

    MSPP_STATIC_TLS static inline constinit thread_local Call* current_ = nullptr;
    std::function<void()> check_;
    Duration interval_;
    std::atomic<bool> stopped_{false};
    std::exception_ptr error_;  // of the check; only the owner reads it
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    Scope scope_;
};

// Throws if the caller wants the loop to end. Takes about 30 ns.
inline void poll() {
    if (Call* call = Call::current()) call->poll();
}

// Polls after some work; cheap enough for inner loops.
class Poller {
  public:
    // IN work: done since the last time, in units of a few nanoseconds.
    void operator()(i64 work = 1) {
        if ((work_ += work) < kWork) return;
        work_ = 0;
        poll();
    }

  private:
    static constexpr i64 kWork = 1 << 16;
    i64 work_ = 0;
};

}  // namespace mspp
