"""Commands that are imported when called, and whose options are converted without pydantic.

typer converts every value of a command with pydantic, whose import takes longer than clustering a
small file, and whose errors do not state the value. Numbers and choices are converted here, and
empty names of files are errors; other values that are not plainly valid are left to typer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

# Each command is the function, or the group, of this name in the module of this name, or in the
# module `command` of the package of this name.
COMMANDS = {
    "cluster": "Find the clusters of the points in FILE.",
    "segment": "Segment photographs and videos into regions.",
    "sweep": "Cluster the points in FILE at many bandwidths, reading it once.",
    "track": "Track objects through a video.",
    "studio": "Open a web page for pictures, tables and videos.",
    "demo": "Draw results for points, a photograph and a video.",
    "grid": "Build, merge and inspect grids.",
}
_PACKAGES = {"cluster", "segment", "track"}
_CLICK_NUMBERS = {"integer": int, "integer range": int, "float": float, "float range": float}
_PATH_FLAGS = ("exists", "writable", "resolve_path", "allow_dash", "path_type")
_PATH_LIMITS = ("file_okay", "dir_okay", "readable")
_CLICK_PATHS = {"path", "file", "directory"}
_A_NAME = "the name of a file or folder"


class Command(TyperCommand):
    """A `TyperCommand` that leaves to typer only the values that `convert` does not take."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _converted_here(super().get_params(ctx))


class Group(TyperGroup):
    """A `TyperGroup` of such commands; its own options are converted in the same way."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _converted_here(super().get_params(ctx))


class MainGroup(Group):
    """The group of all `COMMANDS`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


class _Commands(Mapping[str, Any]):
    """The commands by name, imported when looked up."""

    def __getitem__(self, name: str) -> Any:
        return _load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _load_command(name: str) -> Any:
    if name not in COMMANDS:
        raise KeyError(name)
    module = f"{name}.command" if name in _PACKAGES else name
    command = getattr(import_module(f"meanshiftpp.apps.cli.{module}"), name)
    if isinstance(command, typer.Typer):
        return get_command(command)
    only = typer.Typer(add_completion=False, rich_markup_mode=None)
    only.command(name, cls=Command)(command)
    return get_command(only)


def _converted_here(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        # typer before 0.29 converts with the types of click instead, and has no such method.
        typers = getattr(parameter, "get_runtime_param", None)
        if typers is None:
            parameter.type = _with_stated_values(parameter.type)
        elif not isinstance(typers, partial):
            parameter.get_runtime_param = partial(_Converter, typers)
    return parameters


def _with_stated_values(click_type: Any) -> Any:
    """Return a type of click whose errors state the expected values, as those of `_Converter`."""
    kind = _CLICK_NUMBERS.get(click_type.name)
    stated_here = click_type.name in {"choice", *_CLICK_NUMBERS, *_CLICK_PATHS}
    if isinstance(click_type.convert, partial) or not stated_here:
        return click_type
    least, most = getattr(click_type, "min", None), getattr(click_type, "max", None)
    limits = SimpleNamespace(parser=None, min=least, max=most, clamp=False)

    def converted(clicks: Callable[..., Any], value: Any, param: Any, ctx: Any) -> Any:
        if click_type.name in _CLICK_PATHS and value != "":
            return clicks(value, param, ctx)
        expected = _A_NAME
        if click_type.name not in _CLICK_PATHS:
            try:
                return clicks(value, param, ctx) if kind is None else _number(value, kind, limits)
            except (ValueError, typer.BadParameter):
                expected = _expected(kind, limits) or f"one of {', '.join(click_type.choices)}"
        raise typer.BadParameter(f"expected {expected}; got {value!r}", ctx=ctx, param=param)

    stated = copy(click_type)  # click shares the type of numbers without limits
    stated.convert = partial(converted, click_type.convert)
    return stated


class _Converter:
    """The method of typer's converters that its parameters call."""

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the value of a parameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        described = param.type_descriptor
        kind, settings = described.annotation, described.parameter_info
        try:
            return convert(value, kind, settings)
        except ValueError:
            expected = _expected(kind, settings)
            if _has_empty_name(value, kind):
                expected, value = _A_NAME, ""
            if expected is None:
                return self._typers().coerce(value, param=param, ctx=ctx)
        raise typer.BadParameter(f"expected {expected}; got {value!r}", ctx=ctx, param=param)


def convert(value: Any, kind: Any, settings: Any) -> Any:
    """Convert a value as typer does, or raise ValueError if it is not plainly valid.

    Parameters
    ----------
    value : object
        The default, or a text of the command line; a tuple if there may be several.
    kind : type
        The type of the parameter, without None.
    settings : typer.models.ParameterInfo
        The limits of the value.
    """
    if settings.parser is not None:
        raise ValueError
    if get_origin(kind) is list and isinstance(value, list | tuple):
        (item,) = get_args(kind)
        return [convert(each, item, settings) for each in value]
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind is Path and value != "" and isinstance(value, str | Path):
        return _path(Path(value), settings)
    if kind in (int, float) and isinstance(value, str | int | float):
        return _number(value, kind, settings)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    raise ValueError


def _has_empty_name(value: Any, kind: Any) -> bool:
    """Return whether a path has no text; it would be the current folder."""
    texts = value if isinstance(value, list | tuple) else (value,)
    return "" in texts and Path in (kind, *get_args(kind))


def _expected(kind: Any, settings: Any) -> str | None:
    """Describe the values that a number or a choice may have; None for other parameters."""
    if settings.parser is not None or not isinstance(kind, type):
        return None
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(each.value) for each in kind)}"
    names = {int: "a whole number", float: "a number"}
    if kind not in names:
        return None
    lower = "" if settings.min is None else f" of at least {settings.min:,}"
    if settings.max is not None:
        lower = f" from {settings.min:,} to {settings.max:,}"
    return names[kind] + lower


def _path(path: Path, settings: Any) -> Path:
    from meanshiftpp._support.files import exists

    limits = [getattr(settings, name) for name in _PATH_LIMITS]
    flags = [getattr(settings, name) for name in _PATH_FLAGS]
    if any(flags) or not all(limits) or (exists(path) and not os.access(path, os.R_OK)):
        raise ValueError
    return path


def _number(value: Any, kind: type[int] | type[float], settings: Any) -> float:
    if isinstance(value, bool) or (kind is int and isinstance(value, float)):
        raise ValueError
    number = kind(value)
    least = number if settings.min is None else settings.min
    most = number if settings.max is None else settings.max
    if settings.clamp or not least <= number <= most:
        raise ValueError
    return number
