# SPDX-License-Identifier: Apache-2.0
"""The faults of a simulated ring: profiles to draw them from, and orders of them that chance would hardly bring."""

from __future__ import annotations

import random
from collections.abc import Mapping

import attrs

from controller_runtime.testing.fault_runs.ring_program import CONFIG
from controller_runtime.testing.simulation.system_faults import CALLS, FaultKind, Profile, Script, SystemFault

MEMBERS = ("r0", "r1", "r2")
SERVER = "server"
FAULTS_UNTIL = 60.0
"""Virtual seconds during which faults begin: ten durations of a lease."""
CUTS = (FaultKind.CUT, FaultKind.CUT_IN, FaultKind.CUT_OUT)
THROTTLED, BURSTS = "throttled", "bursts"
"""The profiles whose timed faults `throttled` and `bursts` draw."""

_CUTS = {FaultKind.CUT: 2, FaultKind.CUT_IN: 2, FaultKind.CUT_OUT: 1}
PROFILES = {
    "broad": Profile(
        {**_CUTS, FaultKind.PAUSE: 3, FaultKind.JUMP: 1, FaultKind.CRASH: 2, FaultKind.STOP: 2}, longest=15.0
    ),
    "network": Profile(_CUTS, rates=(0.1, 0.3), longest=12.0),
    "freezes": Profile({FaultKind.PAUSE: 3, FaultKind.STOP: 3}, most=20, rates=(0.0, 0.1), longest=12.0),
    "restarts": Profile({FaultKind.STOP: 3, FaultKind.CRASH: 1}, most=20, rates=(0.0, 0.02, 0.1)),
    "backups": Profile({FaultKind.RESTORE: 2, **_CUTS, FaultKind.PAUSE: 1}, most=8, rates=(0.0, 0.1), longest=12.0),
    THROTTLED: Profile({FaultKind.PAUSE: 1}, most=0, rates=(0.0, 0.02)),
    BURSTS: Profile({FaultKind.CUT: 1}, most=0, rates=(0.0, 0.02, 0.1), calls=CALLS),
}
"""The kinds of faults for a ring, by name."""


_IN_BURSTS: Mapping[FaultKind, tuple[float, float]] = {
    FaultKind.UNWELL: (0.5, 2.5),
    FaultKind.BROWN_OUT: (1.0, 6.0),
    FaultKind.CUT: (0.5, 6.0),
    FaultKind.CUT_IN: (0.5, 6.0),
    FaultKind.CUT_OUT: (0.5, 6.0),
    FaultKind.PAUSE: (0.3, 8.0),
    FaultKind.JUMP: (-7200.0, 7200.0),
    FaultKind.STOP: (0.1, 2.0),
    FaultKind.CRASH: (0.1, 6.0),
    FaultKind.DELETE_LEASE: (0.1, 0.1),
}
"""The faults of bursts, each with the least and the most of its seconds."""


def timed_faults(profile: str, chance: random.Random, drawn: Script) -> Script:
    """Return the timed faults of a profile: those that were drawn one by one, or those of its own order."""
    match profile:
        case "throttled":
            return throttled(chance)
        case "bursts":
            return bursts(chance)
        case _:
            return with_disasters(chance, drawn)


def bursts(chance: random.Random) -> Script:
    """Return faults that come in bursts, so that each meets the effects of others.

    A burst has a few kinds of faults, each of which happens once or more within some seconds. Mostly each kind has a
    host of its own, so that one member is hit again and again by one kind while another is hit by another kind.
    """
    found: list[SystemFault] = []
    when = chance.uniform(8.0, 14.0)
    while when < FAULTS_UNTIL - 6.0:
        kinds = chance.sample([*_IN_BURSTS], chance.randint(2, 4))
        hosts = {kind: chance.choice(MEMBERS) for kind in kinds}
        length = chance.uniform(1.0, 7.0)
        for _ in range(chance.randint(3, 9)):
            kind = chance.choice(kinds)
            host = hosts[kind] if chance.random() < 0.75 else chance.choice(MEMBERS)
            seconds = chance.uniform(*_IN_BURSTS[kind])
            found.append(SystemFault(kind, host, round(when + chance.uniform(0.0, length), 1), round(seconds, 1)))
        when += length + chance.uniform(2.0, 12.0)
    return _in_order(found)


def with_disasters(chance: random.Random, faults: Script) -> Script:
    """Return faults in which each restored backup comes after slots have moved, while a member is cut off.

    That is when it does the most harm: the backup shows owners that the slots do not have any more. In every other case
    the member that is cut off has come so late that an old backup does not know it.
    """
    found = [fault for fault in faults if fault.kind is not FaultKind.RESTORE]
    for restore in (fault for fault in faults if fault.kind is FaultKind.RESTORE):
        moving, cut = chance.sample(MEMBERS, 2)
        when, before = max(restore.when, 20.0), chance.uniform(1.0, 8.0)
        if chance.random() < 0.5:
            moving, before = cut, 8.0 + before
        found += [
            SystemFault(FaultKind.STOP, moving, round(when - before, 1), 0.5),
            SystemFault(FaultKind.CUT, cut, round(when - 0.1, 1), round(chance.uniform(2.0, 8.0), 1)),
            attrs.evolve(restore, when=when, seconds=round(chance.uniform(0.1, 1.0), 1)),
        ]
    return _in_order(found)


def throttled(chance: random.Random) -> Script:
    """Return faults in which a member runs for tenths of seconds only, as one without CPU, while slots move twice.

    Of the two others, one dies when the other one has come back. So a lease later the slots of the dead one are given
    to the member that is throttled, and at nearly the same time some of them to the one that has come back. The former
    may write what it has decided by the first assignment long after the latter has followed the second one.
    """
    found: list[SystemFault] = []
    when = 12.0 + chance.uniform(0.0, 4.0)
    while when < FAULTS_UNTIL - CONFIG.lease_duration:
        slow, dead, back = chance.sample(MEMBERS, 3)
        slow, back = max(slow, back), min(slow, back)  # the first by name publishes, as soon as it may
        again = round(chance.uniform(0.1, 0.8), 1)
        dies = when + again + chance.uniform(-0.5, 0.8)
        found += [
            SystemFault(FaultKind.CRASH, back, round(when, 1), again),
            SystemFault(FaultKind.CRASH, dead, round(dies, 1), round(chance.uniform(8.0, 10.0), 1)),
        ]
        runs_at = when + again + CONFIG.lease_duration - 1.0
        for _ in range(6):
            pause = chance.uniform(0.4, 1.2)
            found.append(SystemFault(FaultKind.PAUSE, slow, round(runs_at, 2), round(pause, 1)))
            runs_at += pause + chance.uniform(0.03, 0.3)
        when += chance.uniform(13.0, 18.0)
    return _in_order(found)


def _in_order(faults: list[SystemFault]) -> Script:
    return tuple(sorted(faults, key=lambda fault: fault.when))
