# SPDX-License-Identifier: Apache-2.0
"""Detects random numbers and environment variables that user code does not take from its host, so that they are missing
in records.

Random numbers follow from the seed of the record, so that each replay draws the same ones, though not the original
ones. Environment variables are those of this process.
"""

from __future__ import annotations

import _collections_abc
import os
import random
import secrets
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from controller_runtime.core.attempts import current_attempt
from controller_runtime.testing.simulation.real_clock import is_under_test

Tell = Callable[[str], None]
"""Called with each place, such as `cabins.py:12: os.urandom`."""


@contextmanager
def noticed(attempt: object, seed: str, tell: Tell) -> Iterator[None]:
    """Report each place at which user code of an attempt uses a random number or environment variable not recorded.

    Args:
        attempt: The attempt, which is the running reconcile.
        seed: The seed of the record.
        tell: Called with each place as text. Use of the module `random` is detected by its state, so it is reported
            without a line.

    Threads: those of a simulation, one `with` block at a time.
    """

    def is_mine() -> bool:
        return current_attempt() is attempt

    drawn = random.Random(f"urandom {seed}")

    def urandom(size: int, /) -> bytes:
        if not is_mine():
            return real(size)
        told("random bytes of the system, which uuid4 takes, too")
        return drawn.randbytes(size)

    def told(what: str) -> None:
        if is_mine() and (place := _place()) is not None:
            tell(f"{place}: {what}")

    real = os.urandom
    environment: Any = os.environ
    variables = environment._data  # there is no other place that all readers pass
    state = random.getstate()
    random.seed(f"random {seed}")
    before = random.getstate()
    places: list[tuple[Any, str]] = [(os, "urandom"), (random, "_urandom")]
    for module, name in places:
        setattr(module, name, urandom)
    environment._data = _Variables(variables, lambda: told("os.environ"))
    try:
        yield
    finally:
        variables.clear()
        variables.update(environment._data)
        environment._data = variables
        for module, name in places:
            setattr(module, name, real)
        if random.getstate() != before:
            tell("the module random")
        random.setstate(state)


class _Variables(dict[Any, Any]):
    """The variables of the environment, of which each read is told."""

    def __init__(self, variables: dict[Any, Any], read: Callable[[], object]) -> None:
        super().__init__(variables)
        self._read = read

    def __getitem__(self, key: Any) -> Any:
        self._read()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        self._read()
        return super().__iter__()


_BETWEEN = (__file__, os.__file__, uuid.__file__, random.__file__, secrets.__file__, _collections_abc.__file__)


def _is_between(file: str) -> bool:
    return file in _BETWEEN or file.startswith("<frozen ")  # `os` is one of those that Python brings frozen


def _place() -> str | None:
    """Return the file and line of the user code that asked; None if other code did, such as a library's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or not is_under_test(frame.f_code):
        return None
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
