# SPDX-License-Identifier: Apache-2.0
"""The fakes of outside services of one cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from apimachinery.errors import UsageError
from controller_runtime.testing.outside.line import Line
from controller_runtime.testing.outside.place import Place
from controller_runtime.testing.outside.proxy import Proxy

T = TypeVar("T")


class Outsides:
    """Puts fakes of outside services into a cluster.

    Args:
        place: The surroundings of the fakes: the present process, the observer, and how a call waits.

    Attributes:
        lines: The connections to the fakes, in the order in which they were made.
        made: The objects that tests and programs use in place of the fakes, in the same order.

    Threads: one.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._names: Counter[str] = Counter()
        self.lines: list[Line] = []
        self.made: list[Any] = []

    def __call__(self, fake: T) -> T:
        """Return an object that stands for a fake of an outside service; give it to the program under test.

        Each method call of the program, sync or `async`, counts as one over a network: `--perturb` refuses it, loses
        the request or the answer, delays it, and kills the program before and after it. Calls of the test are carried
        out at once. A thread or a coroutine of a program that was killed can call nothing. See `docs/outside.md`.

        Raises:
            UsageError: `fake` is a class, stands for a fake already, has no attribute `state`, from which its changes
                are seen, or has a public method that is a generator.
        """
        if isinstance(fake, type):
            raise UsageError(f"give an object of the class, as in cluster.outside({fake.__name__}())")
        if type(fake) is Proxy:
            raise UsageError("it is the outside of a cluster already: give the fake itself")
        kind = type(fake).__name__
        self._names[kind] += 1
        line = Line(fake, kind if self._names[kind] == 1 else f"{kind}-{self._names[kind]}", self._place)
        self.lines.append(line)
        self._place.observer.added(line)
        self.made.append(made := cast("T", Proxy(line)))
        return made

    @contextmanager
    def borrowed(self, lines: Sequence[Line]) -> Iterator[None]:
        """Use the fakes of another cluster within the `with` block, each with its initial state.

        Args:
            lines: The connections to these fakes; the other cluster has them again afterwards.

        Raises:
            AttributeError: The state of a fake cannot be set.
        """
        own, places = self.lines, [line.place for line in lines]
        self.lines = [*own, *lines]
        try:
            for line in lines:
                line.place = self._place
                line.begin_again()
            yield
        finally:
            self.lines = own
            for line, place in zip(lines, places, strict=True):
                line.place = place

    def program_ended(self) -> None:
        """Tell all fakes that the program, and with it its connections, has ended."""
        for line in self.lines:
            line.program_ended()
