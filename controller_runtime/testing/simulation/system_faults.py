# SPDX-License-Identifier: Apache-2.0
"""Faults of a simulated system as values, and scripts of them. Faults of single transports are in `testing.faults`."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Protocol

import attrs


class FaultKind(enum.StrEnum):
    """The kinds of faults: the first six affect one call, the others a host at a given time."""

    REFUSE = "refuse"
    """The connection is refused at once."""
    LOSE_REQUEST = "lose-request"
    """The request is lost."""
    LOSE_REPLY = "lose-reply"
    """The server carries out the request, and its answer is lost; a watch stays open and silent."""
    SLOW_REQUEST = "slow-request"
    """The request arrives later, even if its caller has given up or crashed by then."""
    SLOW_REPLY = "slow-reply"
    """The answer arrives later."""
    FAIL = "fail"
    """The caller gets a 5xx at once, as from a proxy that stopped waiting; the request arrives later all the same."""

    CUT = "cut"
    """Nothing passes between host and server. A watch that loses events stays silent after the cut, too."""
    CUT_OUT = "cut-out"
    """Nothing passes from the host to the server: the host's messages are lost, and the server's arrive."""
    CUT_IN = "cut-in"
    """Nothing passes from the server to the host: the server carries requests out, and the host gets no answer."""
    BROWN_OUT = "brown-out"
    """Two thirds or more of the host's writes are late, lose their answers, or fail as with `FAIL`. The seed determines
    whether its watches are silent, and whether a quarter of its reads has faults, too.
    """
    PAUSE = "pause"
    """No thread of the host runs, while its clocks continue."""
    SUSPEND = "suspend"
    """No thread of the host runs, and its monotonic clock stands still, while its wall clock continues."""
    JUMP = "jump"
    """The wall clock jumps."""
    CRASH = "crash"
    """The process is killed, and started again after a number of seconds."""
    STOP = "stop"
    """The program is asked to stop, and started again a number of seconds after it has ended."""
    RESTORE = "restore"
    """The server is killed, and started with an older state of its disk, as from a backup; versions do not go back."""
    REWIND = "rewind"
    """The server is killed, and started with an older state of its disk, and its versions go back, too."""

    UNWELL = "unwell"
    """The replica reports itself as unhealthy for a number of seconds."""
    DELETE_LEASE = "delete-lease"
    """A person deletes the lease of the replica."""
    UNLABEL_LEASE = "unlabel-lease"
    """A person removes the ring's label from the lease of the replica."""
    RETURN_LEASE = "return-lease"
    """The lease of an earlier run of the replica exists again, as from a backup of single objects."""
    FOREIGN_LEASE = "foreign-lease"
    """An object of another program has the name of the replica's lease, for a number of seconds."""
    FOREIGN_MAP = "foreign-map"
    """An object of another program has the name of the ring's ConfigMap, for a number of seconds."""
    CHANGE_VERSION = "change-version"
    """The program is asked to stop, and started in the other of its two versions, which distribute objects
    differently.
    """


USUAL_CALLS = (
    FaultKind.REFUSE,
    FaultKind.LOSE_REQUEST,
    FaultKind.LOSE_REPLY,
    FaultKind.SLOW_REQUEST,
    FaultKind.SLOW_REPLY,
)
"""The faults of calls in most profiles."""
CALLS = (*USUAL_CALLS, FaultKind.FAIL)
"""All faults of calls."""


@attrs.frozen
class SystemFault:
    """One fault.

    Attributes:
        kind: The kind of the fault.
        host: The name of the affected host. For a fault of a call it includes the number of restarts (`r1#2`); for
            other faults it is `r1`, which stands for the successor that runs at the time.
        when: For a call, its number among the host's calls, from 0; for other faults, virtual seconds.
        seconds: The duration, the delay, the seconds until a restart, or the seconds by which a clock jumps.
    """

    kind: FaultKind
    host: str
    when: float
    seconds: float = 0.0


Script = tuple[SystemFault, ...]


class SystemFaults(Protocol):
    """Chooses the faults of one run of a simulated system: those at a given time, and those of single calls."""

    timed: Script
    """The faults that happen at a given time, in order."""

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """Return the fault of the host's call with the number `call`, from 0; None if it has none."""


class ScriptedFaults:
    """The faults of a script, and no others."""

    def __init__(self, script: Iterable[SystemFault]) -> None:
        faults = tuple(script)
        self.timed = tuple(sorted((f for f in faults if f.kind not in CALLS), key=lambda f: f.when))
        self._calls = {(f.host, int(f.when)): f for f in faults if f.kind in CALLS}

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """Return the fault of the host's call with the number `call`, from 0; None if it has none."""
        return self._calls.get((host, call))
