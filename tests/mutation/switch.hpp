// The switch between the mutants of one build: each mutated expression asks whether its mutant is active.
//
// `a < b` becomes `a <Less{7}> b`, in C++ two operators of the same precedence, so no expression is
// parsed. Constant expressions keep their value. While no mutant is active, a trace can note the mutants
// that would have changed a value; a test that notes none of a mutant cannot fail for it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>

extern "C" {
__attribute__((visibility("default"), used)) inline int mspp_mutant = -1;  // the active one
__attribute__((visibility("default"), used)) inline unsigned char mspp_mutant_trace[1 << 13] = {};
}

namespace mspp::mutation {

inline constexpr int kTrace = -2;  // in place of an active mutant

// Programs without Python read the mutant from the environment, and write the trace to a file.
struct Program {
    const char* trace = std::getenv("MSPP_MUTANT_TRACE");
    Program() {
        if (const char* id = std::getenv("MSPP_MUTANT")) mspp_mutant = std::atoi(id);
    }
    ~Program() {
        std::FILE* file = trace && mspp_mutant == kTrace ? std::fopen(trace, "wb") : nullptr;
        if (!file) return;
        std::fwrite(mspp_mutant_trace, 1, sizeof mspp_mutant_trace, file);
        std::fclose(file);
    }
};
inline Program program;

constexpr bool on(int id) {
    if (std::is_constant_evaluated()) return false;
    if (mspp_mutant == kTrace) mspp_mutant_trace[id] = 1;
    return mspp_mutant == id;
}

template <class T>
constexpr T pick(int id, T usual, T changed) {
    if (std::is_constant_evaluated()) return usual;
    if (mspp_mutant == kTrace) {
        if constexpr (requires { static_cast<bool>(usual != changed); }) {
            if (usual != changed) mspp_mutant_trace[id] = 1;
        } else {
            mspp_mutant_trace[id] = 1;
        }
    }
    return mspp_mutant == id ? changed : usual;
}

#define MSPP_MUTANT_OPERATOR(Name, op, other)                                                            \
    struct Name {                                                                                        \
        int id;                                                                                          \
    };                                                                                                   \
    template <class A>                                                                                   \
    struct Name##Left {                                                                                  \
        A a;                                                                                             \
        int id;                                                                                          \
        template <class B>                                                                               \
        constexpr auto operator op(const B& b) const -> decltype(a op b) {                               \
            if constexpr (requires { a other b; })                                                       \
                if (!std::is_constant_evaluated())                                                       \
                    return pick<decltype(a op b)>(id, a op b, static_cast<decltype(a op b)>(a other b)); \
            return a op b;                                                                               \
        }                                                                                                \
    };                                                                                                   \
    template <class A>                                                                                   \
    constexpr Name##Left<std::decay_t<A>> operator op(A&& a, Name at) {                                  \
        return {a, at.id};                                                                               \
    }

MSPP_MUTANT_OPERATOR(Add, +, -)
MSPP_MUTANT_OPERATOR(Subtract, -, +)
MSPP_MUTANT_OPERATOR(Multiply, *, +)
MSPP_MUTANT_OPERATOR(Divide, /, *)
MSPP_MUTANT_OPERATOR(Equal, ==, !=)
MSPP_MUTANT_OPERATOR(Differ, !=, ==)
#undef MSPP_MUTANT_OPERATOR

// Both signs of a comparison are in use: `a <Less{7}> b`, `a >More{7}< b`.
#define MSPP_MUTANT_COMPARISON(Name, op, left, right, other)              \
    struct Name {                                                         \
        int id;                                                           \
    };                                                                    \
    template <class A>                                                    \
    struct Name##Left {                                                   \
        A a;                                                              \
        int id;                                                           \
        template <class B>                                                \
        constexpr bool operator right(const B& b) const {                 \
            return pick<bool>(id, a op b, a other b);                     \
        }                                                                 \
    };                                                                    \
    template <class A>                                                    \
    constexpr Name##Left<std::decay_t<A>> operator left(A&& a, Name at) { \
        return {a, at.id};                                                \
    }

MSPP_MUTANT_COMPARISON(Less, <, <, >, <=)
MSPP_MUTANT_COMPARISON(AtMost, <=, <, >, <)
MSPP_MUTANT_COMPARISON(More, >, >, <, >=)
MSPP_MUTANT_COMPARISON(AtLeast, >=, >, <, >)
#undef MSPP_MUTANT_COMPARISON

// `a += b` becomes `a += Sign{7} * b`.
struct Sign {
    int id;
};
template <class B>
constexpr B operator*(Sign at, const B& b) {
    if constexpr (requires { static_cast<B>(-b); }) return pick<B>(at.id, b, static_cast<B>(-b));
    return b;
}

template <class T>
constexpr T least(int id, std::type_identity_t<T> a, std::type_identity_t<T> b) {
    return pick<T>(id, b < a ? b : a, b < a ? a : b);
}
template <class T>
constexpr T most(int id, std::type_identity_t<T> a, std::type_identity_t<T> b) {
    return pick<T>(id, a < b ? b : a, a < b ? a : b);
}
template <class A>
constexpr A least(int id, const A& a, const A& b) {
    return pick<A>(id, b < a ? b : a, b < a ? a : b);
}
template <class A>
constexpr A most(int id, const A& a, const A& b) {
    return pick<A>(id, a < b ? b : a, a < b ? a : b);
}

// A tenth more, as far as the type allows.
constexpr double number(int id, double value) { return pick(id, value, value * 1.1); }

}  // namespace mspp::mutation
