# SPDX-License-Identifier: Apache-2.0
"""The network links of simulated hosts: cuts, where nothing passes, and brown-outs, where many calls have faults."""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Iterable
from typing import NamedTuple

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.simulation.system_faults import FaultKind, SystemFault
from controller_runtime.testing.simulation.timeline import VirtualTimeline, nanoseconds

GATEWAY_ERRORS = (500, 502, 503, 504)
"""The statuses of a server or a proxy that stopped waiting; the request may still be carried out."""


class _BrownOut(NamedTuple):
    """A kind of brown-out: the faults of calls, one of these for each or None, and whether watches are silent."""

    reads: tuple[FaultKind | None, ...]
    writes: tuple[FaultKind | None, ...]
    is_silent: bool


_LATE_WRITES = (None, FaultKind.FAIL, FaultKind.FAIL, FaultKind.SLOW_REQUEST)
_BROWN_OUTS = (
    _BrownOut(
        (None, None, None, None, None, None, FaultKind.LOSE_REPLY, FaultKind.SLOW_REPLY),
        (None, None, FaultKind.LOSE_REPLY, FaultKind.SLOW_REQUEST, FaultKind.SLOW_REQUEST, FaultKind.FAIL),
        is_silent=True,
    ),
    # Where reads succeed, a client decides again while its last write is under way.
    _BrownOut((None,), _LATE_WRITES, is_silent=True),
    _BrownOut((None,), _LATE_WRITES, is_silent=False),
)
"""The kinds of brown-outs, one of which is drawn for each run. Writes are delayed longer than reads."""
_LATE = 1.0, 4.0
"""The least and the most seconds by which a request is late in a brown-out."""


class Way(enum.Enum):
    """A direction of a host's link."""

    OUT = "to the server"
    IN = "from the server"


class Links:
    """The state of each host's link to the server; a link stays the same over restarts of its host.

    Args:
        timeline: The simulation's time.
        seed: Determines the faults of calls in brown-outs.
    """

    def __init__(self, timeline: VirtualTimeline, seed: int) -> None:
        self._timeline, self._seed = timeline, seed
        self._kind = random.Random(f"{seed}/brown-outs").choice(_BROWN_OUTS)
        self._cut_until: dict[tuple[str, Way], int] = {}
        self._brown_until: dict[str, int] = {}

    def cut(self, name: str, seconds: float, ways: Iterable[Way]) -> None:
        """Let nothing pass on the link of the host `name`, in the given directions, for `seconds`."""
        for way in ways:
            until = self._timeline.now + nanoseconds(seconds)
            self._cut_until[name, way] = max(self._cut_until.get((name, way), 0), until)

    def is_cut(self, host: SimulatedHost, way: Way) -> bool:
        """Return whether the link of `host` is cut in a direction at present."""
        return self._cut_until.get((_name_of(host), way), 0) > self._timeline.now

    def brown_out(self, name: str, seconds: float) -> None:
        """Give many calls of the host `name` faults for `seconds`, as `FaultKind.BROWN_OUT` describes."""
        until = self._timeline.now + nanoseconds(seconds)
        self._brown_until[name] = max(self._brown_until.get(name, 0), until)

    def is_silent(self, host: SimulatedHost) -> bool:
        """Return whether the host is in a brown-out of a kind in which watches are silent."""
        return self._kind.is_silent and self._is_brown(host)

    def _is_brown(self, host: SimulatedHost) -> bool:
        return self._brown_until.get(_name_of(host), 0) > self._timeline.now

    def fault_in_brown_out(self, host: SimulatedHost, call: int, request: HTTPRequest) -> SystemFault | None:
        """Return the fault of the host's call with the number `call`; None outside of a brown-out, or if the call has
        none.
        """
        if not self._is_brown(host):
            return None
        chance = random.Random(f"{self._seed}/brown-out/{host.name}/{call}")
        kind = chance.choice(self._kind.reads if request.method == "GET" else self._kind.writes)
        return None if kind is None else SystemFault(kind, host.name, call, round(chance.uniform(*_LATE), 1))


def gave_up(fault: SystemFault) -> HTTPResponse:
    """Return the 5xx response of a server or a proxy that stopped waiting for the outcome of a request."""
    code = GATEWAY_ERRORS[int(fault.seconds * 10) % len(GATEWAY_ERRORS)]
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "gave up waiting"}
    return HTTPResponse(code, {"content-type": "application/json"}, json.dumps(status).encode())


def _name_of(host: SimulatedHost) -> str:
    return host.name.partition("#")[0]
