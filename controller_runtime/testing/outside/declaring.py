# SPDX-License-Identifier: Apache-2.0
"""The declaration of a fake of an outside service: its library's errors, its reads, and the faults of its calls that
not every network has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from apimachinery.errors import UsageError

T = TypeVar("T", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

MakeError = Callable[[str], BaseException]
"""Makes an error of a service's library from a message; a class of exceptions will do."""

_DECLARED = "__outside__"
_READS = "__outside_reads__"


@attrs.frozen
class Declared:
    """The declaration of a fake.

    Attributes:
        refused: Makes the error of a call that could not connect.
        timed_out: Makes the error of a call that got no answer.
        at_least_once: Whether a call may be carried out twice.
        eventually_consistent: Whether a read may be answered as if the last change had not been made.
    """

    refused: MakeError = ConnectionRefusedError
    timed_out: MakeError = TimeoutError
    at_least_once: bool = False
    eventually_consistent: bool = False


def outside(
    *,
    refused: MakeError = ConnectionRefusedError,
    timed_out: MakeError = TimeoutError,
    at_least_once: bool = False,
    eventually_consistent: bool = False,
) -> Callable[[T], T]:
    """Return a decorator for the class of a fake, which declares how the calls of its methods may fail.

    Without it a fake has the defaults.

    Args:
        refused: Makes the error of a call that could not connect, from a message. A class of exceptions, such as
            `httpx.ConnectError`, is enough.
        timed_out: Makes the error of a call that got no answer, such as `httpx.ReadTimeout`.
        at_least_once: The service may carry a call out twice, as behind a queue that delivers at least once.
        eventually_consistent: The service may answer a read as if the last change had not been made.

    Raises:
        UsageError: `refused` or `timed_out` makes no exception.
    """
    make: Any
    for name, make in (("refused", refused), ("timed_out", timed_out)):
        if not isinstance(make("a trial") if callable(make) else None, BaseException):
            raise UsageError(f"@outside({name}=…) takes a class of exceptions, or a function from a text to one")
    declared = Declared(refused, timed_out, at_least_once, eventually_consistent)

    def declare(kind: T) -> T:
        setattr(kind, _DECLARED, declared)
        return kind

    return declare


def reads(method: F) -> F:
    """Mark a method of a fake that changes nothing, so that fewer plans are needed for its calls."""
    setattr(method, _READS, True)
    return method


def declared_by(fake: object) -> Declared:
    """Return the declaration of a fake.

    Raises:
        UsageError: The fake has no `state`, or a method is a generator.
    """
    kind = type(fake)
    if not hasattr(fake, "state"):
        raise UsageError(f"{kind.__name__} has no attribute `state`: keep in it what the service holds, such as a dict")
    for name in dir(kind):
        method = inspect.getattr_static(kind, name, None)
        if not name.startswith("_") and (inspect.isasyncgenfunction(method) or inspect.isgeneratorfunction(method)):
            raise UsageError(f"{kind.__name__}.{name} is a generator, which is not a call: let it return a list")
    found = getattr(kind, _DECLARED, None)
    return found if isinstance(found, Declared) else Declared()


def is_read(method: object) -> bool:
    """Return whether a method of a fake is marked by `reads`."""
    return bool(getattr(method, _READS, False))
