// Memory for large arrays: aligned to cache lines, in huge pages where the system offers them, and not
// cleared unless a value is given.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mspp {

template <class T>
struct LargeAllocator {
    using value_type = T;
    LargeAllocator() = default;
    template <class U>
    LargeAllocator(const LargeAllocator<U>&) {}

    static constexpr size_t kHuge = size_t{1} << 21;
    static std::align_val_t alignment(size_t bytes) { return std::align_val_t{bytes >= kHuge ? kHuge : 64}; }
    T* allocate(size_t n) {
        void* memory = ::operator new(n * sizeof(T), alignment(n * sizeof(T)));
#if defined(__linux__)
        if (n * sizeof(T) >= kHuge) madvise(memory, n * sizeof(T), MADV_HUGEPAGE);  // only a hint
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t n) { ::operator delete(memory, alignment(n * sizeof(T))); }
    // A plain resize leaves new elements uninitialised, because most arrays are filled right after it.
    template <class U>
    void construct(U* p) {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Args>
    void construct(U* p, Args&&... args) {
        ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
    bool operator==(const LargeAllocator&) const { return true; }
};

template <class T>
using Array = std::vector<T, LargeAllocator<T>>;

}  // namespace mspp
