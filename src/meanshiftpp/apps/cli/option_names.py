"""Name options in the errors of the library, which name parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from meanshiftpp.errors import InvalidInputError

OPTIONS = {
    "bandwidth": "--bandwidth",
    "detail": "--detail",
    "min_size": "--min-size",
    "n_threads": "--threads",
    "space": "--space",
    "spatial": "--spatial",
    "window": "--window",
}


def with_option_name(error: InvalidInputError) -> InvalidInputError:
    """Return the error with the option in place of the parameter, if there is such an option.

    Examples
    --------
    >>> from meanshiftpp.apps.cli.option_names import with_option_name
    >>> from meanshiftpp.errors import InvalidInputError
    >>> error = InvalidInputError.for_parameter("min_size", "a whole number from 1", 0)
    >>> print(with_option_name(error))
    --min-size must be a whole number from 1, got 0
    """
    option = OPTIONS.get(error.parameter or "")
    return error if option is None else error.named(option)


@contextmanager
def option_names() -> Iterator[None]:
    """Name options, not parameters, in the errors raised in this context."""
    try:
        yield
    except InvalidInputError as error:
        raise with_option_name(error) from error
