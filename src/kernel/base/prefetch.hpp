// MSPP_PREFETCH(p): a hint that address p will be read or written soon.
#pragma once

#if !defined(_MSC_VER)
#define MSPP_PREFETCH(p) __builtin_prefetch(p)
#elif defined(_M_X64)
#include <intrin.h>
#define MSPP_PREFETCH(p) _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0)
#else
#define MSPP_PREFETCH(p) static_cast<void>(p)
#endif
