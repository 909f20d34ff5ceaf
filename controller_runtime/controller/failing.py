# SPDX-License-Identifier: Apache-2.0
"""The failures of a source, shown and logged: enough to find the cause, however many objects fail."""

from __future__ import annotations

import traceback
from typing import Protocol

import attrs

from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.texts import kept_text

log = get_logger(__name__)

TOLD = 10
"""The most failing objects of one source that get a log line each; further ones are only counted."""

TRACEBACKS = 16
"""The most tracebacks that one source logs: one for each line of code at which errors were raised."""


@attrs.frozen
class Failing:
    """An object, or a periodic function, for which user code fails.

    Attributes:
        kind: The kind of the object; empty for a periodic function.
        key: The key of the object; None for a periodic function.
        failures: The number of failures so far.
        error: The last error as text.
    """

    kind: str
    key: ObjectKey | None
    failures: int
    error: str

    def __str__(self) -> str:
        what = f"{self.kind} {self.key}" if self.key is not None else "a periodic function"
        return f"{what}: {self.error}"


class Fallible(Protocol):
    """A source of requests that calls user code, which may fail. Threads: any."""

    @property
    def kind(self) -> str:
        """The kind of the source's objects; empty for a periodic function."""

    @property
    def errors(self) -> int:
        """The number of times that user code has raised."""

    def failing(self, limit: int) -> tuple[int, list[Failing]]:
        """Return the number of objects (or functions) that fail now, and up to `limit` of them."""


class FailureLog:
    """Logs the failures of one source: a line for each of the first `TOLD` objects, and one traceback for each line of
    code that raised an error, at most `TRACEBACKS`.

    Args:
        controller: The controller's name.
        what: The message of the log lines, such as "change cannot be mapped".

    Threads: any. Two threads that fail at the same moment may log the same traceback twice.
    """

    def __init__(self, controller: str, what: str) -> None:
        self._controller = controller
        self._what = what
        self._places: set[tuple[str, str, int]] = set()

    def failed(self, error: BaseException, failing: int, failures: int, **fields: object) -> bool:
        """Log a failure. Call it inside the `except` that caught `error`.

        Args:
            error: The error.
            failing: The number of objects that fail now, this one included.
            failures: The number of failures of this object.
            **fields: Fields of the log line, such as the object.

        Returns:
            True if this failure has its own log line above debug level, so that its end should be logged as well.
        """
        fields = {"controller": self._controller, **fields, "failures": failures, "error": error_text(error)}
        if failures > 1:
            log.debug(self._what, **fields)
            return False
        if failing <= TOLD:
            if self._is_new(error):
                log.exception(self._what, **fields)
            else:
                log.error(self._what, **fields)
            return True
        log.debug(self._what, **fields)
        if str(failing).rstrip("0") == "1":  # 100, 1000, and so on
            log.error(f"{self._what}: many objects", **fields, failing=failing)
        return False

    def _is_new(self, error: BaseException) -> bool:
        place = _place_of(error)
        if place in self._places or len(self._places) >= TRACEBACKS:
            return False
        self._places.add(place)
        return True


def error_text(error: BaseException) -> str:
    """Return the class and message of an error in one line, of bounded length; see `kept_text`."""
    return kept_text(f"{type(error).__name__}: {error}")


def _place_of(error: BaseException) -> tuple[str, str, int]:
    """Return the class of an error, and the file and line at which it was raised."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    if not frames:
        return type(error).__name__, "", 0
    frame, line = frames[-1]
    return type(error).__name__, frame.f_code.co_filename, line
