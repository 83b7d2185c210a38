"""The switch between the mutants of the package: rewritten modules call it at each operator.

As in `switch.hpp`, a trace notes the mutants that would have changed a value while none is active.
Mutants of the kernel share the variables.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MOST_MUTANTS = 1 << 13  # as in switch.hpp
TRACE = -2  # as in switch.hpp

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


class Switch:
    """The active mutant, and those that the trace has noted.

    Parameters
    ----------
    library : Path or None
        The native module with mutants, if the kernel has any.
    """

    def __init__(self, library: Path | None) -> None:
        self.library = library
        if library:
            variables = ctypes.CDLL(str(library))
            self.active = ctypes.c_int.in_dll(variables, "mspp_mutant")
            self.noted = (ctypes.c_ubyte * MOST_MUTANTS).in_dll(variables, "mspp_mutant_trace")
        else:
            self.active = ctypes.c_int(-1)
            self.noted = (ctypes.c_ubyte * MOST_MUTANTS)()

    def on(self, id: int) -> bool:
        """Return whether a mutant is active."""
        if self.active.value == TRACE:
            self.noted[id] = 1
        return self.active.value == id

    def pick(self, id: int, usual: Any, changed: Callable[[], Any]) -> Any:
        """Return a value, or another if the mutant is active."""
        if self.active.value == TRACE:
            self.noted[id] |= not _equal(usual, changed)
        return changed() if self.active.value == id else usual

    def operate(self, id: int, usual: str, changed: str, a: Any, b: Any) -> Any:
        """Apply one of two operators."""
        if self.active.value == id:
            return OPERATORS[changed](a, b)
        return self.pick(id, OPERATORS[usual](a, b), lambda: OPERATORS[changed](a, b))

    def compare(self, operands: tuple[Any, ...], *links: tuple[int, str, str]) -> Any:
        """Apply a chain of comparisons, each one of two operators."""
        result: Any = True
        for a, b, link in zip(operands, operands[1:], links, strict=False):
            result = self.operate(*link, a, b)
            if len(links) > 1 and not result:
                break
        return result

    def unless(self, id: int, value: Any, neutral: bool) -> Any:
        """Return an operand of `and` or `or`, or the value that leaves the decision to others."""
        if self.active.value == TRACE:
            self.noted[id] |= bool(value) is not neutral
        return neutral if self.active.value == id else value

    def negated(self, id: int, condition: Any) -> Any:
        """Return a condition, or its opposite."""
        return not condition if self.on(id) else condition

    def number(self, id: int, value: Any) -> Any:
        """Return a number, or one more; a tenth more if it is not whole."""
        return self.pick(id, value, lambda: value * 1.1 if value % 1 else value + 1)

    def function(self, id: int, usual: Callable[..., Any], changed: Callable[..., Any]) -> Any:
        """Return one of two functions."""
        if self.active.value != TRACE:
            return changed if self.active.value == id else usual

        def traced(*args: Any, **options: Any) -> Any:
            if any(isinstance(arg, Iterator) for arg in args):  # only one function can read it
                self.on(id)
                return usual(*args, **options)
            return self.pick(id, usual(*args, **options), lambda: changed(*args, **options))

        return traced

    def method(self, id: int, owner: Any, usual: str, changed: str) -> Any:
        """Return one of two methods."""
        return self.function(id, getattr(owner, usual), getattr(owner, changed))


def _equal(usual: Any, changed: Callable[[], Any]) -> bool:
    """Return whether a change leaves a value and its type as they are."""
    try:
        other = changed()
        if getattr(usual, "dtype", type(usual)) != getattr(other, "dtype", type(other)):
            return False
        return bool(np.array_equal(usual, other))
    except Exception:  # the change raises, or the values cannot be compared
        return False
