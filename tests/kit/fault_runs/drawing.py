# SPDX-License-Identifier: Apache-2.0
"""Faults that are drawn from a seed, and scripts of faults as JSON.

A seed gives the same faults only with the same code. A script lists the faults themselves, so it stays valid when the
code changes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping

import attrs

from controller_runtime.testing.simulation.system_faults import USUAL_CALLS, FaultKind, Script, SystemFault


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
