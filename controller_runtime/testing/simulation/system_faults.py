# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as values: drawn from a seed, written down when it happens, replayed as a script.

A seed is a promise for one version of the code only; a script says what happened, whatever
the code draws.
"""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Iterable, Mapping
from typing import Protocol

import attrs


class FaultKind(enum.StrEnum):
    """What can go wrong; the first five befall one call, the others a host at an instant."""

    REFUSE = "refuse"
    """The connection is refused at once."""
    LOSE_REQUEST = "lose-request"
    """The request vanishes."""
    LOSE_REPLY = "lose-reply"
    """The server acts, and its answer vanishes; a watch stays open and silent."""
    SLOW_REQUEST = "slow-request"
    """The request arrives later, though its caller may have given up or died."""
    SLOW_REPLY = "slow-reply"
    """The answer arrives later."""

    CUT = "cut"
    """Nothing passes between host and server; watches that would have, stay silent for ever."""
    PAUSE = "pause"
    """No thread of the host runs, while its clocks go on."""
    JUMP = "jump"
    """The wall clock jumps."""
    CRASH = "crash"
    """The process is killed, and started anew after so many seconds."""
    STOP = "stop"
    """The program is asked to stop, and started anew so many seconds after it has."""
    RESTORE = "restore"
    """The server is killed, and started anew on an older state of its disk, as from a backup; versions go on."""
    REWIND = "rewind"
    """The same, and its versions go back too."""


CALLS = (FaultKind.REFUSE, FaultKind.LOSE_REQUEST, FaultKind.LOSE_REPLY, FaultKind.SLOW_REQUEST, FaultKind.SLOW_REPLY)


@attrs.frozen
class SystemFault:
    """One thing that goes wrong.

    Attributes:
        kind: What.
        host: Whom it befalls. For a call the very host, restarts counted (`r1#2`); else whichever
            is `r1` at the time.
        when: The number of the host's call, from 0; else virtual seconds.
        seconds: How long, how late, or how far.
    """

    kind: FaultKind
    host: str
    when: float
    seconds: float = 0.0


Script = tuple[SystemFault, ...]


def script_to_json(script: Iterable[SystemFault]) -> str:
    """One line a fault, such as `["pause", "r2", 71.5, 19.1]`."""
    lines = [json.dumps([fault.kind.value, fault.host, fault.when, fault.seconds]) for fault in script]
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def script_from_json(text: str) -> Script:
    """The inverse of `script_to_json`.

    Raises:
        ValueError: It is none.
    """
    try:
        return tuple(
            SystemFault(FaultKind(kind), str(host), when, seconds) for kind, host, when, seconds in json.loads(text)
        )
    except TypeError as error:
        raise ValueError(f"not a script of faults: {error}") from error


class SystemFaults(Protocol):
    """Where a run takes its faults from."""

    timed: Script
    """Those at an instant, in order."""

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """What befalls this call."""


class ScriptedFaults:
    """The faults of a script, and no others."""

    def __init__(self, script: Iterable[SystemFault]) -> None:
        faults = tuple(script)
        self.timed = tuple(sorted((f for f in faults if f.kind not in CALLS), key=lambda f: f.when))
        self._calls = {(f.host, int(f.when)): f for f in faults if f.kind in CALLS}

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """What befalls this call."""
        return self._calls.get((host, call))


@attrs.frozen
class Profile:
    """A kind of bad weather.

    Attributes:
        weights: How often each timed fault, in relation to the others.
        most: How many of them in one run, at most.
        rates: Parts of the calls that something befalls; one is drawn for a run.
        longest: Seconds of the longest cut or pause.
    """

    weights: Mapping[FaultKind, int]
    most: int = 12
    rates: tuple[float, ...] = (0.0, 0.02, 0.1, 0.3)
    longest: float = 30.0


PROFILES: Mapping[str, Profile] = {
    "broad": Profile({FaultKind.CUT: 3, FaultKind.PAUSE: 3, FaultKind.JUMP: 1, FaultKind.CRASH: 2, FaultKind.STOP: 2}),
    "network": Profile({FaultKind.CUT: 1}, rates=(0.1, 0.3)),
    "freezes": Profile({FaultKind.PAUSE: 3, FaultKind.STOP: 3}, most=20, rates=(0.0, 0.1)),
    "standstills": Profile({FaultKind.PAUSE: 1}, rates=(0.0,)),
    "restarts": Profile({FaultKind.STOP: 3, FaultKind.CRASH: 1}, most=20, rates=(0.02, 0.1)),
    "calm": Profile({FaultKind.JUMP: 1}, most=0, rates=(0.0,)),
}
"""The weathers there are; focus finds rare orders that breadth does not."""


class DrawnFaults:
    """SystemFaults drawn from a seed: each run first draws which kinds there are, and how many.

    Args:
        seed: Everything follows from it.
        profile: Out of which.
        hosts: Whom timed faults may befall.
        until: Virtual seconds after which none begins.
    """

    def __init__(self, seed: int, profile: Profile, hosts: tuple[str, ...], until: float) -> None:
        chance = random.Random(f"{seed}/faults")
        self._seed = seed
        self._rate = chance.choice(profile.rates)
        self._kinds = [kind for kind in CALLS if chance.random() < 0.6] or [FaultKind.LOSE_REPLY]
        present = [kind for kind in profile.weights if chance.random() < 0.6] or list(profile.weights)
        bag = [kind for kind in present for _ in range(profile.weights[kind])]
        count = chance.randrange(profile.most + 1)
        drawn = [_draw(chance, chance.choice(bag), chance.choice(hosts), until, profile.longest) for _ in range(count)]
        self.timed = tuple(sorted(drawn, key=lambda fault: fault.when))

    def of_call(self, host: str, call: int) -> SystemFault | None:
        """What befalls this call; it depends on nothing but the seed and the call."""
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
    """A round number, so that a script is pleasant to read."""
    return round(low + (high - low) * chance.random(), 1)
