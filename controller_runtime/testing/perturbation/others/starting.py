# SPDX-License-Identifier: Apache-2.0
"""Detects that an operator has started: by its first watch, by repeated lists, or by a condition of the story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from apimachinery.host import Host
from controller_runtime.client.client import Client
from controller_runtime.testing.perturbation.others.server import OperatorsServer
from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.story import Ready
from embedded_apiserver import APIServer

_KEPT = 1 << 20
"""The number of bytes at the end of an operator's output that are kept."""


def tail(log: Path) -> str:
    """Return the end of an operator's output; empty if there is none yet."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _KEPT))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


class Starting:
    """One start of an operator.

    Args:
        host: The clock.
        between: The server that counts the operator's requests.
        ready: The user's condition by which the operator counts as started; None for none.
        user: The client that reads the objects of that condition.
        log: The file with the operator's output.

    Attributes:
        number: The number of the start, from 1.

    Threads: one.
    """

    def __init__(self, host: Host, between: OperatorsServer, ready: Ready | None, user: Client, log: Path) -> None:
        between.starts += 1
        self.number = between.starts
        self._host, self._between, self._ready, self._user, self._log = host, between, ready, user, log
        self._watches = between.seen.watches
        self._listed = Counter(between.seen.listed)
        self._first: dict[str, tuple[float, int]] = {}
        self._printed = log.stat().st_size if log.exists() else 0

    def is_over(self, quiet: float) -> bool:
        """Return whether the operator has started.

        Args:
            quiet: Seconds without a request after which an operator that has opened a watch counts as started; one
                without a watch counts once it lists the same resource again after as many seconds.
        """
        now = self._host.monotonic()
        if self._ready is not None:
            if self._ready.until is not None:
                return self._ready.until.holds(self._user)
            printed = self._log.read_bytes()[self._printed :] if self._log.exists() else b""
            return self._ready.log.encode() in printed
        if self._between.seen.watches > self._watches:
            return now - self._between.asked_at > quiet
        return self._polls(now, quiet)

    def why_not(self, patience: float) -> str:
        """Return a message that the operator has not started within `patience` seconds, and how to correct that."""
        what = "opened no watch" if self._ready is None else f"was not ready ({self._ready})"
        again = "after it was started again " if self.number > 1 else ""
        remedy = "raise --patience" + ("" if self._ready else ", or say in the story how it is seen (`ready:`)")
        return f"the operator {what} {again}within {patience:g} s: {remedy}"

    def _polls(self, now: float, quiet: float) -> bool:
        for resource, count in list(self._between.seen.listed.items()):
            if count > self._listed[resource]:
                at, before = self._first.setdefault(resource, (now, count))
                if count > before and now >= at + quiet:
                    return True
        return False


def wait_for_cluster(host: Host, server: APIServer, settings: Settings, pause: Callable[[float], object]) -> None:
    """Wait until a cluster has its nodes and nothing changes, because later changes would be attributed to the run.

    The wait ends after `patience` seconds of the settings in any case; `pause` waits for the given seconds.
    """
    storage, before, deadline = server.storage, -1, host.monotonic() + settings.patience
    while host.monotonic() < deadline and (before != storage.version or not storage.read("nodes").items):
        before = storage.version
        pause(settings.rest(is_calm=True))
