# SPDX-License-Identifier: Apache-2.0
"""A ring under faults: no slot has two owners, no request leaves its interval, and in the end each slot has an owner.

`tox -e simulation` runs a thousand seeds.
"""

from __future__ import annotations

import pytest
from kit.fault_runs.ring import run
from kit.fault_runs.ring_faults import PROFILES

from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault

pytestmark = pytest.mark.once

PROFILE_NAMES = tuple(PROFILES)


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(len(PROFILES)))
def test_a_ring_holds_under_faults_of_every_profile(seed: int) -> None:
    assert run(seed, profile=PROFILE_NAMES[seed % len(PROFILE_NAMES)]).message == ""


@pytest.mark.parametrize(
    ("seed", "profile"),
    [
        pytest.param(1311, "restarts", id="a deadline that the member has not heard of"),
        pytest.param(3806, "freezes", id="a member that is lost a moment after it came back"),
        pytest.param(48, "bursts", id="a cache that is behind shows an earlier state after the last one was seen"),
        pytest.param(61, "brown-outs", id="an answer that comes after its request was given up"),
    ],
)
def test_a_ring_holds_in_seeds_that_were_judged_wrongly_once(seed: int, profile: str) -> None:
    assert run(seed, profile=profile).message == ""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            (SystemFault(FaultKind.CUT, "r0", 20.0, 25.0), SystemFault(FaultKind.RESTORE, "server", 25.0, 1.0)),
            id="a member is cut off while the server is restored from a backup",
        ),
        pytest.param(
            tuple(SystemFault(FaultKind.PAUSE, f"r{n}", 16.0 + 8 * n, 7.0) for n in range(3)),
            id="each freezes for longer than its lease",
        ),
        pytest.param(
            tuple(SystemFault(FaultKind.STOP, f"r{n % 3}", 12.0 + 5 * n, 0.5) for n in range(9)), id="rolling restarts"
        ),
        pytest.param((SystemFault(FaultKind.CRASH, "server", 20.0, 30.0),), id="the server is away for half a minute"),
        pytest.param(
            (SystemFault(FaultKind.CUT_IN, "r0", 20.0, 12.0), SystemFault(FaultKind.CUT_OUT, "r1", 36.0, 12.0)),
            id="one hears nothing, then another is not heard",
        ),
    ],
)
def test_a_ring_holds_in_kept_scripts(script: Script) -> None:
    assert run(1, script=script).message == ""


def test_a_cache_that_is_behind_owns_its_slots_again_after_a_cut() -> None:
    """Found as a fault of the judge: it wanted objects in the cache that are younger than the cut."""
    assert run(25, script=(SystemFault(FaultKind.CUT, "server", 37.7, 11.8),)).message == ""


def test_a_member_that_leaves_gives_all_up_at_once_when_a_restored_backup_ends_its_membership() -> None:
    """Found as a fault of the judge: it took the new membership for slots that are given back one by one."""
    script = (
        SystemFault(FaultKind.STOP, "r0", 14.7, 0.1),
        SystemFault(FaultKind.STOP, "r1", 23.6, 0.1),
        SystemFault(FaultKind.RESTORE, "server", 25.2, 0.1),
    )
    assert run(2239, script=script).message == ""


def test_a_late_claim_by_an_older_assignment_keeps_the_member_with_the_newer_one_waiting() -> None:
    """Two members die; r1 is back when r0's slots go to r2, which stands still between reading that and claiming."""
    script = (
        SystemFault(FaultKind.CRASH, "r1", 13.0, 0.5),
        SystemFault(FaultKind.CRASH, "r0", 13.6, 8.0),
        SystemFault(FaultKind.PAUSE, "r2", 19.35, 0.6),
    )
    assert run(21, script=script).message == ""


def test_a_claim_that_was_under_way_while_the_server_was_restored_is_not_that_of_a_member_that_goes_on() -> None:
    """Found as a fault of the judge: it took a late request of the old membership for one of a member that goes on."""
    lost = [("user", 0), ("r1", 6), ("r0", 12), ("user", 16), ("r2", 20), ("r0", 27), ("r1", 37)]
    slow = [("r2", 7, 16.0), ("user", 7, 8.4), ("r2", 14, 5.3), ("r0", 54, 0.3), ("r0", 62, 7.5)]
    script = (
        *(SystemFault(FaultKind.LOSE_REQUEST, host, call, 0.1) for host, call in lost),
        *(SystemFault(FaultKind.SLOW_REQUEST, host, call, seconds) for host, call, seconds in slow),
        SystemFault(FaultKind.STOP, "r2", 17.6, 0.1),
        SystemFault(FaultKind.RESTORE, "server", 29.7, 0.1),
    )
    assert run(5014, script=script).message == ""


def test_a_reconcile_does_not_see_an_object_vanish_that_was_there_when_it_began() -> None:
    """Found as an error of the ring: an object could go from a whole cache between two reads."""
    lost = [("user", 0), ("r1", 6), ("r0", 12), ("user", 16), ("r2", 20), ("r1", 37)]
    slow = [("r2", 7, 16.0), ("user", 7, 8.4), ("r2", 14, 5.3), ("r0", 54, 0.3), ("r0", 62, 7.5)]
    script = (
        *(SystemFault(FaultKind.LOSE_REQUEST, host, call, 0.1) for host, call in lost),
        *(SystemFault(FaultKind.SLOW_REQUEST, host, call, seconds) for host, call, seconds in slow),
        SystemFault(FaultKind.STOP, "r2", 17.6, 0.1),
        SystemFault(FaultKind.RESTORE, "server", 29.7, 0.1),
    )
    assert run(5014, script=script).message == ""
