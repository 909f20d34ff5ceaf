# SPDX-License-Identifier: Apache-2.0
"""The declaration of a fake of an outside service: the errors that its calls raise, the methods that only read, and the
faults that only some services have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from apimachinery.errors import UsageError

T = TypeVar("T", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

MakeError = Callable[[str], BaseException]
"""Returns the exception for a message, as the client library of a service raises it; an exception class is enough."""

_DECLARED = "__outside__"
_READS = "__outside_reads__"


@attrs.frozen
class Declared:
    """The declared faults of a fake's calls.

    Attributes:
        refused: Makes the exception of a call that could not connect.
        timed_out: Makes the exception of a call that got no answer.
        at_least_once: True if the service may carry a call out twice.
        eventually_consistent: True if a read may be answered with the state before the last change.
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
    """Return a decorator for the class of a fake that declares how the calls of its methods may fail.

    A fake class without this decorator has the default values.

    Args:
        refused: Returns the exception of a call that could not connect, from a message. An exception class, such as
            `httpx.ConnectError`, is enough.
        timed_out: Returns the exception of a call that got no answer, from a message, such as `httpx.ReadTimeout`.
        at_least_once: True if the service may carry a call out twice, as behind a queue that delivers at least once.
        eventually_consistent: True if the service may answer a read with the state before the last change.

    Raises:
        UsageError: `refused` or `timed_out` returns no exception.
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
    """Mark a method of a fake as one that changes nothing, so that fewer faults have to be tried for its calls."""
    setattr(method, _READS, True)
    return method


def declared_by(fake: object) -> Declared:
    """Return the declaration of a fake; the default one if its class has no `outside` decorator.

    Raises:
        UsageError: The fake has no attribute `state`, or a public method is a generator.
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
    """Return whether a method of a fake has the decorator `reads`."""
    return bool(getattr(method, _READS, False))
