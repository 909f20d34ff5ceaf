# SPDX-License-Identifier: Apache-2.0
"""Faults of a simulated system as values: drawn from a seed, recorded when they happen, and repeated from a script.

A seed gives the same faults only with the same code. A script lists the faults themselves, so it stays valid when the
code changes. Faults of a single transport are in `testing.faults`.
"""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Iterable, Mapping
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


def script_to_json(script: Iterable[SystemFault]) -> str:
    """Return a script as JSON with a line for each fault, such as `["pause", "r2", 71.5, 19.1]`."""
    lines = [json.dumps([fault.kind.value, fault.host, fault.when, fault.seconds]) for fault in script]
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def script_from_json(text: str) -> Script:
    """Return the script in `text`, in the form of `script_to_json`.

    Raises:
        ValueError: The text is not a script.
    """
    try:
        return tuple(
            SystemFault(FaultKind(kind), str(host), when, seconds) for kind, host, when, seconds in json.loads(text)
        )
    except TypeError as error:
        raise ValueError(f"not a script of faults: {error}") from error


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


@attrs.frozen
class Profile:
    """The frequencies by which the faults of a run are drawn.

    Attributes:
        weights: The relative frequency of each kind of timed fault.
        most: The largest number of timed faults in one run.
        rates: Shares (0..1) of the calls that have a fault; one of them is drawn for each run.
        longest: Seconds of the longest cut or pause.
        calls: The kinds of faults that calls may have.
    """

    weights: Mapping[FaultKind, int]
    most: int = 12
    rates: tuple[float, ...] = (0.0, 0.02, 0.1, 0.3)
    longest: float = 30.0
    calls: tuple[FaultKind, ...] = USUAL_CALLS


PROFILES: Mapping[str, Profile] = {
    "broad": Profile({FaultKind.CUT: 3, FaultKind.PAUSE: 3, FaultKind.JUMP: 1, FaultKind.CRASH: 2, FaultKind.STOP: 2}),
    "network": Profile({FaultKind.CUT: 1}, rates=(0.1, 0.3)),
    "freezes": Profile({FaultKind.PAUSE: 3, FaultKind.STOP: 3}, most=20, rates=(0.0, 0.1)),
    "standstills": Profile({FaultKind.PAUSE: 1}, rates=(0.0,)),
    "restarts": Profile({FaultKind.STOP: 3, FaultKind.CRASH: 1}, most=20, rates=(0.02, 0.1)),
    "calm": Profile({FaultKind.JUMP: 1}, most=0, rates=(0.0,)),
}
"""The profiles by name: a broad one, and narrow ones, which find rarer orders of events."""


class DrawnFaults:
    """The faults that follow from a seed: each run draws first the kinds of faults, then their number, then each fault.

    Args:
        seed: Determines all faults.
        profile: The frequencies.
        hosts: The names of the hosts that timed faults may affect.
        until: Virtual seconds after which no timed fault begins.
    """

    def __init__(self, seed: int, profile: Profile, hosts: tuple[str, ...], until: float) -> None:
        chance = random.Random(f"{seed}/faults")
        self._seed = seed
        self._rate = chance.choice(profile.rates)
        self._kinds = [kind for kind in profile.calls if chance.random() < 0.6] or [FaultKind.LOSE_REPLY]
        present = [kind for kind in profile.weights if chance.random() < 0.6] or list(profile.weights)
        bag = [kind for kind in present for _ in range(profile.weights[kind])]
        count = chance.randrange(profile.most + 1)
        drawn = [_draw(chance, chance.choice(bag), chance.choice(hosts), until, profile.longest) for _ in range(count)]
        self.timed = tuple(sorted(drawn, key=lambda fault: fault.when))

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """Return the fault of the host's call with the number `call`, from 0; None if it has none.

        The result depends only on the seed, the host and the number.
        """
        chance = random.Random(f"{self._seed}/{host}/{call}")
        if chance.random() >= self._rate:
            return None
        return SystemFault(chance.choice(self._kinds), host, call, _tenths(chance, 0.1, 20.0))


def _draw(chance: random.Random, kind: FaultKind, host: str, until: float, longest: float) -> SystemFault:
    when = _tenths(chance, 1.0, until)
    match kind:
        case FaultKind.JUMP:
            seconds = _tenths(chance, -7200.0, 7200.0)
        case FaultKind.CRASH | FaultKind.STOP | FaultKind.RESTORE | FaultKind.REWIND:
            seconds = _tenths(chance, 0.5, 10.0)
        case _:
            seconds = _tenths(chance, 0.5, longest)
    return SystemFault(kind, host, when, seconds)


def _tenths(chance: random.Random, low: float, high: float) -> float:
    """Draw a number of whole tenths, so that scripts are short."""
    return round(low + (high - low) * chance.random(), 1)
