# SPDX-License-Identifier: Apache-2.0
"""The panics of a test: unexpected errors of reconciles, mappers, predicates and periodic functions, most likely
bugs.
"""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from collections.abc import Iterator

from controller_runtime.controller.panics import Function, Panic
from controller_runtime.controller.self_wakes import SelfWake, SelfWakes

_SHOWN = 8
"""The most panics that the message lists; for the first one it has the traceback as well."""


class ReconcilesPanicked(AssertionError):
    """Reconciles, mappers, predicates or periodic functions raised errors that the test did not expect."""


class ControllersWakeThemselves(AssertionError):
    """A controller's own writes caused its reconciles again and again, without any other change."""


class Panics:
    """Collects panics, which are unexpected errors of the program's functions, until the end of a test.

    Args:
        allows: True to keep only panics that an open block of `expect` awaits, because each holds the frames of its
            reconcile; and to ignore controllers that wake themselves.

    Threads: any. Each method changes one list by one operation, so no lock is needed.
    """

    def __init__(self, *, allows: bool = False) -> None:
        self._allows = allows
        self._unexpected: list[Panic] = []
        self._self_wakes: list[SelfWakes] = []
        self._told: set[SelfWake] = set()
        # The innermost block comes last.
        self._expected: list[_Expected] = []

    def watch(self, self_wakes: SelfWakes) -> None:
        """Treat controllers that wake themselves, as `self_wakes` detects, as errors of the test, unless `allows`."""
        self._self_wakes.append(self_wakes)

    def note(self, panic: Panic) -> None:
        """Record a panic; it counts as expected if an open block of `expect` names its type."""
        for expected in reversed(self._expected):
            if isinstance(panic.error, expected.kinds):
                expected.seen.append(panic)
                return
        if not self._allows:
            self._unexpected.append(panic)

    @contextlib.contextmanager
    def expect(self, *kinds: type[BaseException]) -> Iterator[list[Panic]]:
        """Expect at least one panic of these types within the `with` block; its value lists those seen so far.

        Raises:
            AssertionError: The block ends without an error, and nothing has raised one of `kinds` inside.
            TypeError: `kinds` is empty, or not all are exception classes.
        """
        if not kinds or not all(map(_is_class_of_errors, kinds)):
            raise TypeError("expect_panics needs the types of the errors, such as expect_panics(KeyError)")
        expected = _Expected(kinds)
        self._expected.append(expected)
        try:
            yield expected.seen
        finally:
            self._expected.remove(expected)
        if not expected.seen:
            names = " or ".join(kind.__name__ for kind in kinds)
            raise AssertionError(f"no reconcile, mapper, predicate or periodic function raised {names}")

    def raise_unexpected(self) -> None:
        """Raise `ReconcilesPanicked` if there are unexpected panics; they are then cleared.

        Raises:
            AssertionError: No panic is unexpected and `allows` is False, but a controller wakes itself, or another;
                each is reported once.
        """
        panics, self._unexpected = self._unexpected, []
        if panics:
            raise ReconcilesPanicked(_told(panics)) from None
        found = [each for wakes in self._self_wakes for each in reversed(wakes.found()) if each not in self._told]
        self._told.update(found)
        if found and not self._allows:
            hint = "if it ends by itself, say so where the controller is made: may_wake_itself=True"
            raise ControllersWakeThemselves("\n  ".join([*map(str, found), hint])) from None


def first_of(failed: BaseException) -> str:
    """Return the text of an error in one line; for `ReconcilesPanicked` with the first of its errors."""
    first, *others = str(failed).splitlines() or [""]
    return f"{first.partition(';')[0]}: {others[0].strip()}" if isinstance(failed, ReconcilesPanicked) else first


class _Expected:
    """The types that one block expects, and the panics that it has seen."""

    def __init__(self, kinds: tuple[type[BaseException], ...]) -> None:
        self.kinds = kinds
        self.seen: list[Panic] = []


def _is_class_of_errors(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


_PLURALS: dict[Function, str] = {
    "reconcile": "reconciles",
    "mapper or predicate": "mappers or predicates",
    "periodic function": "periodic functions",
}


def _counted(panics: list[Panic]) -> str:
    """Return how many functions of each kind raised, such as `2 reconciles and a periodic function`."""
    counts = Counter(panic.function for panic in panics)
    texts = [f"a {name}" if n == 1 else f"{n} {_PLURALS[name]}" for name, n in counts.items()]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _told(panics: list[Panic]) -> str:
    lines = [
        f"{panic.controller} {panic.request or panic.function}: "
        + "".join(traceback.format_exception_only(panic.error)).strip()
        for panic in panics[:_SHOWN]
    ]
    if len(panics) > _SHOWN:
        lines.append(f"and {len(panics) - _SHOWN} more")
    subject = _counted(panics)
    return "\n".join(
        [
            f"{subject} raised an unexpected error; if the test means it, say so: `with cluster.expect_panics(...)`",
            *(f"  {line}" for line in lines),
            "the first one:",
            "".join(traceback.format_exception(panics[0].error)),
        ]
    )
