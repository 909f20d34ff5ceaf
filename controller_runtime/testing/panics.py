# SPDX-License-Identifier: Apache-2.0
"""The bugs that reconciles, mappers and periodic functions show during a test, and which of them the test expects."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

from controller_runtime.controller.panics import Panic

_SHOWN = 8
"""How many panics the message lists; of the first one it shows the traceback, too."""


class ReconcilesPanicked(AssertionError):
    """Reconciles raised errors that the test did not expect."""


class Panics:
    """Collects panics until the end of a test.

    Args:
        allows: Keep only those that an open block of `expect` awaits: each panic holds the frames of its reconcile.

    Threads: any. Each method changes one list by one operation, so no lock is needed.
    """

    def __init__(self, *, allows: bool = False) -> None:
        self._allows = allows
        self._unexpected: list[Panic] = []
        # The innermost block comes last.
        self._expected: list[_Expected] = []

    def note(self, panic: Panic) -> None:
        """Record a panic, as expected if one of the blocks that are open expects its type."""
        for expected in reversed(self._expected):
            if isinstance(panic.error, expected.kinds):
                expected.seen.append(panic)
                return
        if not self._allows:
            self._unexpected.append(panic)

    @contextlib.contextmanager
    def expect(self, *kinds: type[BaseException]) -> Iterator[list[Panic]]:
        """Expect at least one panic of these types while the block lasts; the value is the list of those seen so far.

        Raises:
            AssertionError: The block ends without an error, and no reconcile has raised one of `kinds` inside.
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
            raise AssertionError(f"no reconcile raised {' or '.join(kind.__name__ for kind in kinds)}")

    def raise_unexpected(self) -> None:
        """Raise `ReconcilesPanicked` if there are unexpected panics, and forget them."""
        panics, self._unexpected = self._unexpected, []
        if panics:
            raise ReconcilesPanicked(_told(panics)) from None


class _Expected:
    """The types that one block expects, and the panics that it has seen."""

    def __init__(self, kinds: tuple[type[BaseException], ...]) -> None:
        self.kinds = kinds
        self.seen: list[Panic] = []


def _is_class_of_errors(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _told(panics: list[Panic]) -> str:
    lines = [
        f"{panic.controller} {panic.request or 'every'}: "
        + "".join(traceback.format_exception_only(panic.error)).strip()
        for panic in panics[:_SHOWN]
    ]
    if len(panics) > _SHOWN:
        lines.append(f"and {len(panics) - _SHOWN} more")
    how_many = "a reconcile" if len(panics) == 1 else f"{len(panics)} reconciles"
    return "\n".join(
        [
            f"{how_many} raised an unexpected error; if the test means it, say so: `with cluster.expect_panics(...)`",
            *(f"  {line}" for line in lines),
            "the first one:",
            "".join(traceback.format_exception(panics[0].error)),
        ]
    )
