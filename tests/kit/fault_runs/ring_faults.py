# SPDX-License-Identifier: Apache-2.0
"""The faults of a simulated ring: profiles to draw them from, and orders of them that chance would hardly bring."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import attrs

from controller_runtime.testing.simulation.system_faults import CALLS, FaultKind, Script, SystemFault
from kit.fault_runs.drawing import Profile
from kit.fault_runs.ring_program import CONFIG

MEMBERS = ("r0", "r1", "r2")
SERVER = "server"
FAULTS_UNTIL = 60.0
"""Virtual seconds during which faults begin: ten durations of a lease."""
CUTS = (FaultKind.CUT, FaultKind.CUT_IN, FaultKind.CUT_OUT)
THROTTLED, BURSTS, BROWN_OUTS, SUSPENSIONS = "throttled", "bursts", "brown-outs", "suspensions"
HANDS, VERSIONS = "hands", "versions"
"""The profiles whose timed faults the functions below draw."""

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
    BROWN_OUTS: Profile({FaultKind.CUT: 1}, most=0, rates=(0.0, 0.02), calls=CALLS),
    SUSPENSIONS: Profile({FaultKind.CUT: 1}, most=0, rates=(0.0, 0.02), calls=CALLS),
    HANDS: Profile({FaultKind.CUT: 1}, most=0, rates=(0.0, 0.02), calls=CALLS),
    VERSIONS: Profile({FaultKind.CUT: 1}, most=0, rates=(0.0, 0.02), calls=CALLS),
}
"""The kinds of faults for a ring, by name."""


class _Kind(NamedTuple):
    weight: int
    least: float  # seconds
    most: float


_IN_BURSTS: Mapping[FaultKind, _Kind] = {
    FaultKind.UNWELL: _Kind(6, 0.2, 1.0),
    FaultKind.BROWN_OUT: _Kind(6, 1.5, 6.0),
    FaultKind.DELETE_LEASE: _Kind(2, 0.1, 0.1),
    FaultKind.CUT: _Kind(1, 0.3, 4.0),
    FaultKind.CUT_IN: _Kind(1, 0.3, 4.0),
    FaultKind.CUT_OUT: _Kind(1, 0.3, 4.0),
    FaultKind.PAUSE: _Kind(2, 0.3, 6.0),
    FaultKind.STOP: _Kind(1, 0.1, 2.0),
    FaultKind.CRASH: _Kind(1, 0.1, 6.0),
    FaultKind.JUMP: _Kind(1, -7200.0, 7200.0),
    # Those below are of the profiles that name them alone.
    FaultKind.SUSPEND: _Kind(0, 0.5, 12.0),
    FaultKind.UNLABEL_LEASE: _Kind(0, 0.1, 0.1),
    FaultKind.RETURN_LEASE: _Kind(0, 0.1, 0.1),
    FaultKind.FOREIGN_LEASE: _Kind(0, 0.5, 8.0),
    FaultKind.FOREIGN_MAP: _Kind(0, 0.5, 8.0),
}
"""The kinds of faults in bursts: how often each is drawn, and how long it lasts."""
_BY_HAND = (
    FaultKind.DELETE_LEASE,
    FaultKind.UNLABEL_LEASE,
    FaultKind.RETURN_LEASE,
    FaultKind.FOREIGN_LEASE,
    FaultKind.FOREIGN_MAP,
)


def timed_faults(profile: str, chance: random.Random, drawn: Script) -> Script:
    """Return the timed faults of a profile: those that were drawn one by one, or those of its own order."""
    match profile:
        case "throttled":
            return throttled(chance)
        case "bursts":
            return bursts(chance, ())
        case "brown-outs" if chance.random() < 0.3:
            return bursts(chance, (FaultKind.BROWN_OUT, FaultKind.UNWELL))
        case "brown-outs":
            return flapping(chance)
        case "suspensions":
            return bursts(chance, (FaultKind.SUSPEND,))
        case "hands":
            return bursts(chance, chance.sample(_BY_HAND, 2))
        case "versions":
            return versions(chance)
        case _:
            return with_disasters(chance, drawn)


def bursts(chance: random.Random, kinds: Iterable[FaultKind]) -> Script:
    """Return faults that come in bursts, so that each meets the effects of others.

    A run has a few kinds of faults. In a burst each of them happens once or more within some seconds. All happen to one
    member, or each kind has a member of its own, which is hit by it again and again; one fault in five happens to any
    member. A brown-out in four bursts is that of all members.

    Args:
        chance: Draws the faults.
        kinds: The kinds that the run has, besides those that are drawn: three without any, else one.
    """
    bag = [kind for kind, drawn in _IN_BURSTS.items() for _ in range(drawn.weight)]
    present = [*dict.fromkeys([*kinds, *chance.choices(bag, k=1 if kinds else 3)])]
    found: list[SystemFault] = []
    when = chance.uniform(8.0, 12.0)
    while when < FAULTS_UNTIL - 5.0:
        hosts = dict.fromkeys(present, chance.choice(MEMBERS))
        if chance.random() < 0.7:
            hosts = dict(zip(present, chance.sample(MEMBERS, len(MEMBERS)), strict=False))
        if chance.random() < 0.25:
            hosts[FaultKind.BROWN_OUT] = SERVER
        length = chance.uniform(1.0, 6.0)
        for _ in range(chance.randint(4, 9)):
            kind = chance.choice(present)
            host = hosts[kind] if chance.random() < 0.8 else chance.choice(MEMBERS)
            seconds = chance.uniform(*_IN_BURSTS[kind][1:])
            begins = when + chance.uniform(0.0, length)
            for _ in range(6 if kind is FaultKind.UNWELL else 1):  # the assignment follows it to and fro
                found.append(SystemFault(kind, host, round(begins, 1), round(seconds, 1)))
                begins += seconds + chance.uniform(0.2, 1.0)
        when += length + chance.uniform(5.0, 10.0)
    return _in_order(found)


def flapping(chance: random.Random) -> Script:
    """Return faults in which the assignment follows one member to and fro, while another one is in a brown-out."""
    found: list[SystemFault] = []
    when = chance.uniform(8.0, 12.0)
    while when < FAULTS_UNTIL - 5.0:
        flaps, slow = chance.sample(MEMBERS, 2)
        ends = when + chance.uniform(5.0, 9.0)
        found.append(SystemFault(FaultKind.BROWN_OUT, slow, round(when, 1), round(ends - when, 1)))
        begins = when - 1.0
        while begins < ends:
            seconds = chance.uniform(0.3, 2.0)
            found.append(SystemFault(FaultKind.UNWELL, flaps, round(begins, 1), round(seconds, 1)))
            begins += seconds + chance.uniform(0.3, 2.0)
        when = ends + chance.uniform(2.0, 6.0)
    return _in_order(found)


def versions(chance: random.Random) -> Script:
    """Return faults in which members are replaced by another version and back, amid the faults of a burst or two."""
    kinds = chance.choice(((), (FaultKind.BROWN_OUT,), (FaultKind.DELETE_LEASE,), (FaultKind.UNLABEL_LEASE,)))
    found = [*bursts(chance, kinds)] if chance.random() < 0.7 else []
    found = chance.sample(found, len(found) // 2)
    when = chance.uniform(6.0, 16.0)
    while when < FAULTS_UNTIL - 5.0:
        for name in chance.sample(MEMBERS, chance.choice((1, 2, 3))):
            found.append(
                SystemFault(FaultKind.CHANGE_VERSION, name, round(when, 1), round(chance.uniform(0.1, 2.0), 1))
            )
            when += chance.uniform(0.1, 8.0)
        when += chance.uniform(5.0, 15.0)
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
