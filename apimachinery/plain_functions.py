# SPDX-License-Identifier: Apache-2.0
"""Functions that a program gives and that are called without `await`: a coroutine in their place is refused.

A call of an `async def` only makes a coroutine. Nothing in it runs, and the coroutine is a true value, so a check that
is one always holds, and work that is one counts as done. `plain` refuses the function where it is given. A lambda, a
partial or a decorated function may still return a coroutine, which only the call shows; so `called` judges the result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import TypeVar, TypeVarTuple, cast

from apimachinery.errors import UsageError

F = TypeVar("F")
Args = TypeVarTuple("Args")
R = TypeVar("R")

_USUAL = frozenset({type(None), bool, str, bytes, int, float, list, tuple, dict})
"""The types of most results. They are known to be plain, which saves a fifth of a microsecond in each call."""


def plain(what: str, function: F, instead: str = "") -> F:
    """Return `function` unchanged, unless it is asynchronous.

    Args:
        what: The place where the program passed the function, for the error's message.
        function: The function. A value that is not callable is returned as well, so that None can mean that there is no
            function.
        instead: Advice for code that has to await, for the message; empty for none.

    Raises:
        UsageError: `function` is an `async def`, a `functools.partial` of one, or an object whose `__call__` is one.
    """
    inner = _whole(function)
    if _is_asynchronous(inner) or _is_asynchronous(inspect.getattr_static(type(inner), "__call__", None)):
        remedy = f"write a plain `def`{_or(instead)}"
        raise UsageError(f"{what}: {_named(inner)} is an `async def`, and nothing would await it: {remedy}")
    return function


def called(what: str, function: Callable[[*Args], R], *args: *Args) -> R:
    """Call `function` and return its result, which must not be awaitable.

    Args:
        what: As for `plain`.
        function: The function.
        *args: The arguments of the call.

    Raises:
        UsageError: The result is awaitable, or an asynchronous generator.
        Exception: An exception of `function`.
    """
    result = function(*args)
    if type(result) not in _USUAL:
        refuse_awaitable(what, function, result)
    return result


def synchronous(what: str, function: Callable[[*Args], R], instead: str = "") -> Callable[[*Args], R]:
    """Return a function that calls `function` and refuses an awaitable result, as `called` does.

    `function` itself is checked immediately, as by `plain`.

    Args:
        what: As for `plain`.
        function: The function.
        instead: As for `plain`.

    Raises:
        UsageError: As for `plain`.
    """
    return cast("Callable[[*Args], R]", functools.partial(called, what, plain(what, function, instead)))


def refuse_awaitable(what: str, function: object, result: object, instead: str = "") -> None:
    """Raise `UsageError` if `result`, which `function` returned, is awaitable or an asynchronous generator.

    A coroutine is closed, so that Python does not warn about it later, without the place and the remedy.

    Args:
        what: As for `plain`.
        function: The function.
        result: The result of the function.
        instead: As for `plain`.

    Raises:
        UsageError: The result is awaitable, or an asynchronous generator.
    """
    kind = type(result)
    if not (hasattr(kind, "__await__") or hasattr(kind, "__aiter__")):
        return
    if isinstance(result, Coroutine):
        result.close()
    remedy = f"return the value itself{_or(instead)}"
    raise UsageError(f"{what}: {_named(_whole(function))} returned a {kind.__name__}, which nothing awaits: {remedy}")


def _is_asynchronous(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _whole(function: object) -> object:
    """Return the function of which a partial is a part."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _named(function: object) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


def _or(instead: str) -> str:
    return f", or {instead}" if instead else ""
