# SPDX-License-Identifier: Apache-2.0
"""A test's own checks: conditions that hold after each write, and conditions that hold once nothing changes any
more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stop
from controller_runtime.testing.simulation.simulation import SimulatedHost
from embedded_apiserver import APIServer, Change

Check = Callable[[], object]
"""Reads the state of the cluster. The condition does not hold if it raises, or returns a false value other than
None.
"""

_PAUSES = (0.0, 0.1, 0.4, 0.5, 1.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
"""Virtual seconds between two evaluations of a check for the end, 640 in all."""

_OURS = ("controller_runtime", "contextlib", "pluggy")


def caller() -> str:
    """Return the file and line of the code outside of this library that led to this call; empty if it is pytest's."""
    frame = sys._getframe(1)
    while (package := frame.f_globals.get("__name__", "").partition(".")[0]) in _OURS and frame.f_back is not None:
        frame = frame.f_back
    if package == "_pytest":
        return ""
    path = Path(frame.f_code.co_filename)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{frame.f_lineno}"


class _NamedCheck(NamedTuple):
    check: Check
    name: str


class Checks:
    """Collects the checks that failed until the end of a test.

    Attributes:
        is_checking: True while the checks of `always` are evaluated.

    Threads: any. A write during that evaluation is checked after it.
    """

    def __init__(self) -> None:
        self._always: list[_NamedCheck] = []
        self._eventually: list[_NamedCheck] = []
        self._broken: list[str] = []
        self._written: list[str] = []
        self.is_checking = False

    def always(self, check: Check) -> None:
        """Add a check for the present state and after each write; only its first failure is kept."""
        self._always.append(_named(check, "always"))
        self.written("at once")

    def eventually(self, check: Check) -> None:
        """Add a check for the end of the test."""
        self._eventually.append(_named(check, "eventually"))

    def landed(self, collection: str, change: Change) -> None:
        """Evaluate the checks of `always` after a write.

        Args:
            collection: The collection of the object.
            change: The change.
        """
        item = change.new or change.old
        metadata = item.decode()["metadata"] if item is not None else {}
        key = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
        what = "creation" if change.old is None else "deletion" if change.new is None else "change"
        self.written(f"after the {what} of {collection} {key}")

    def written(self, when: str) -> None:
        """Evaluate the checks of `always` after a change; `when` is a text about the change, for the message."""
        self._written.append(when)
        if self.is_checking:
            return
        self.is_checking = True
        try:
            while self._written:
                self._check_always(self._written.pop(0))
        finally:
            self.is_checking = False

    def finish(self, advance: Callable[[float], object]) -> list[str]:
        """Return a line for each check that failed, with the reason, and remove all checks.

        Args:
            advance: Lets the given seconds pass between evaluations of the checks of `eventually`.
        """
        waiting = dict.fromkeys(self._eventually, "")
        for pause in _PAUSES:
            waiting = {each: why for each in waiting if (why := _why_not(each.check))}
            if not waiting:
                break
            advance(pause)
        waiting = {each: why for each in waiting if (why := _why_not(each.check))}
        broken = [*self._broken, *(f"{each.name} does not hold at rest: {why}" for each, why in waiting.items())]
        self._always, self._eventually, self._broken = [], [], []
        return broken

    def _check_always(self, when: str) -> None:
        for each in [*self._always]:
            if why := _why_not(each.check):
                self._always.remove(each)
                self._broken.append(f"{each.name} does not hold {when}: {why}")


class ClusterChecks:
    """The checks of a cluster's test; writes are followed only once there is a check.

    Args:
        host: The host whose time passes until the checks of `eventually` hold.
        server: The server whose writes are followed.
        judged_later: True if a run of `pytest --perturb` judges the checks.

    Threads: as for `Checks`.
    """

    def __init__(self, host: Host, server: APIServer, *, judged_later: bool) -> None:
        self._host, self._server, self._is_judged_later = host, server, judged_later
        self._checks: Checks | None = None

    def own(self) -> Checks:
        """Return the checks, which are evaluated after each write from now on."""
        if self._checks is None:
            checks = self._checks = Checks()
            storage, before = self._server.storage, self._server.storage.on_commit

            def landed(collection: str, change: Change) -> None:
                if before is not None:
                    before(collection, change)
                if self._checks is checks:
                    checks.landed(collection, change)

            storage.on_commit = landed
        return self._checks

    def take_broken(self) -> list[str]:
        """Return a line for each check that failed, with the reason, and remove all checks."""
        checks, self._checks = self._checks, None
        return [] if checks is None else checks.finish(self._pass_time)

    def raise_broken(self) -> None:
        """Raise `AssertionError` if a check failed; do nothing if a run of `pytest --perturb` judges the checks."""
        if not self._is_judged_later and (broken := self.take_broken()):
            raise AssertionError("\n".join(broken))

    def is_checking(self) -> bool:
        """Return whether the checks of `always` are being evaluated."""
        return self._checks is not None and self._checks.is_checking

    def written(self, when: str) -> None:
        """Evaluate the checks of `always` after a change outside of the server; `when` is a text about the change."""
        if self._checks is not None:
            self._checks.written(when)

    def _pass_time(self, seconds: float) -> None:
        if isinstance(self._host, SimulatedHost):
            self._host.simulation.advance(seconds)
        else:
            Stop(self._host, "eventually").wait(min(seconds, 1.0))


def _named(check: Check, kind: str) -> _NamedCheck:
    name = getattr(check, "__name__", "<lambda>")
    called = "" if name == "<lambda>" else f" {name}"
    where = caller()
    return _NamedCheck(synchronous(kind, check), f"{kind}{called} ({where})" if where else f"{kind}{called}")


def _why_not(check: Check) -> str:
    """Return why a check does not hold; empty if it does."""
    try:
        answer = check()
    except Exception as error:  # noqa: BLE001  it is the test's code, and the test is told at its end
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return "" if answer is None or answer else f"it returned {answer!r}"
