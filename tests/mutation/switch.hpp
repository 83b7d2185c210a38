// The switch between the mutants of one build: each mutated expression asks whether its mutant is active.
//
// `a < b` becomes `a <Compare{7}> b`, in C++ two operators of the same precedence, so no expression is
// parsed. Constant expressions keep their value.
#pragma once

#include <cstdlib>
#include <type_traits>

extern "C" {
__attribute__((visibility("default"), used)) inline int mspp_mutant = -1;  // the active one
}

namespace mspp::mutation {

struct Start {
    Start() {
        if (const char* id = std::getenv("MSPP_MUTANT")) mspp_mutant = std::atoi(id);
    }
};
inline Start start;

constexpr bool on(int id) { return !std::is_constant_evaluated() && mspp_mutant == id; }

#define MSPP_MUTANT_OPERATOR(Name, op, other)                                \
    struct Name {                                                            \
        int id;                                                              \
    };                                                                       \
    template <class A>                                                       \
    struct Name##Left {                                                      \
        A a;                                                                 \
        int id;                                                              \
        template <class B>                                                   \
        constexpr auto operator op(const B& b) const -> decltype(a op b) {   \
            if constexpr (requires { a other b; })                           \
                if (on(id)) return static_cast<decltype(a op b)>(a other b); \
            return a op b;                                                   \
        }                                                                    \
    };                                                                       \
    template <class A>                                                       \
    constexpr Name##Left<std::decay_t<A>> operator op(A&& a, Name at) {      \
        return {a, at.id};                                                   \
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
            return on(id) ? a other b : a op b;                           \
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
    if constexpr (requires { static_cast<B>(-b); })
        if (on(at.id)) return static_cast<B>(-b);
    return b;
}

template <class T>
constexpr T least(int id, std::type_identity_t<T> a, std::type_identity_t<T> b) {
    return on(id) == (b < a) ? a : b;
}
template <class T>
constexpr T most(int id, std::type_identity_t<T> a, std::type_identity_t<T> b) {
    return on(id) == (a < b) ? a : b;
}
template <class A>
constexpr A least(int id, const A& a, const A& b) {
    return on(id) == (b < a) ? a : b;
}
template <class A>
constexpr A most(int id, const A& a, const A& b) {
    return on(id) == (a < b) ? a : b;
}

// A tenth more, as far as the type allows.
constexpr double number(int id, double value) { return on(id) ? value * 1.1 : value; }

}  // namespace mspp::mutation
