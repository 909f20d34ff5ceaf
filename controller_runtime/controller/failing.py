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
"""The number of failing objects of one source that have a log line each; further ones are counted."""

TRACEBACKS = 16
"""The number of tracebacks that one source logs: one for each place in the code at which errors were raised."""


@attrs.frozen
class Failing:
    """One thing that user code fails for.

    Attributes:
        kind: The kind of the object; empty for a periodic function.
        key: The object; None for a periodic function.
        failures: How often it has failed.
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
    """A source of requests whose user code may fail. Threads: any."""

    @property
    def kind(self) -> str:
        """The kind of its objects; empty for a periodic function."""

    @property
    def errors(self) -> int:
        """The number of times that its user code has raised."""

    def failing(self, limit: int) -> tuple[int, list[Failing]]:
        """Return how many things fail now, and up to `limit` of them."""


class FailureLog:
    """Logs the failures of one source: a line for each of the first objects, and a traceback for each place.

    Args:
        controller: The controller's name.
        what: The failure, such as "change cannot be mapped", for the log.

    Threads: any. Two that fail at the same instant may both log the same traceback.
    """

    def __init__(self, controller: str, what: str) -> None:
        self._controller = controller
        self._what = what
        self._places: set[tuple[str, str, int]] = set()

    def failed(self, error: BaseException, failing: int, failures: int, **fields: object) -> bool:
        """Log that something has failed; call it while `error` is being handled.

        Args:
            error: The error.
            failing: How many things fail, this one included.
            failures: How often this one has failed.
            **fields: The failed object or change, for the log.

        Returns:
            Whether people have been notified of this failure, so that its end should be told as well.
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
    """Return the class and the message of an error, in one line and bounded: see `kept_text`."""
    return kept_text(f"{type(error).__name__}: {error}")


def _place_of(error: BaseException) -> tuple[str, str, int]:
    """Return the class of an error, and the file and line at which it was raised."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    if not frames:
        return type(error).__name__, "", 0
    frame, line = frames[-1]
    return type(error).__name__, frame.f_code.co_filename, line
