# SPDX-License-Identifier: Apache-2.0
"""Faults of systems as values: drawn from a seed, written to a script, read from it, and shrunk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.fault_runs.drawing import PROFILES, DrawnFaults, script_from_json, script_to_json
from kit.fault_runs.shrinking import shrunk

from controller_runtime.testing.simulation.system_faults import CALLS, FaultKind, Script, ScriptedFaults, SystemFault

pytestmark = pytest.mark.once

HOSTS = ("r0", "r1", "server")
TENTHS = st.integers(0, 1000).map(lambda n: n / 10)
FAULTS = st.builds(SystemFault, st.sampled_from(FaultKind), st.sampled_from(HOSTS), TENTHS, TENTHS)


@given(st.lists(FAULTS).map(tuple))
def test_a_script_survives_being_written_and_read(script: Script) -> None:
    assert script_from_json(script_to_json(script)) == script


@pytest.mark.parametrize("text", ["{", "[1]", '[["pause", "r0"]]', '[["thunder", "r0", 1, 2]]'])
def test_what_is_no_script_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        script_from_json(text)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(10))
def test_drawn_faults_are_of_their_profile_in_order_and_in_time(profile: str, seed: int) -> None:
    faults = DrawnFaults(seed, PROFILES[profile], HOSTS, 120.0)

    assert faults.timed == DrawnFaults(seed, PROFILES[profile], HOSTS, 120.0).timed
    assert {fault.kind for fault in faults.timed} <= set(PROFILES[profile].weights)
    assert [fault.when for fault in faults.timed] == sorted(fault.when for fault in faults.timed)
    assert all(1.0 <= fault.when <= 120.0 for fault in faults.timed)


def test_the_fault_of_a_call_depends_on_the_call_alone() -> None:
    one, other = (DrawnFaults(3, PROFILES["network"], HOSTS, 120.0) for _ in range(2))

    forwards = [one.of_call("r0", number) for number in range(200)]
    backwards = [other.of_call("r0", number) for number in reversed(range(200))]

    assert forwards == backwards[::-1]
    assert 0 < sum(fault is not None for fault in forwards) < 120


def test_a_script_has_the_faults_of_the_calls_and_instants_that_it_names() -> None:
    late, lost = SystemFault(FaultKind.PAUSE, "r0", 7.0, 1.0), SystemFault(FaultKind.LOSE_REPLY, "r1#2", 3)

    faults = ScriptedFaults([late, lost, SystemFault(FaultKind.CUT, "r0", 2.0, 1.0)])

    assert [fault.kind for fault in faults.timed] == [FaultKind.CUT, FaultKind.PAUSE]
    assert faults.of_call("r1#2", 3) == lost
    assert faults.of_call("r1", 3) is None
    assert late.kind not in CALLS


@given(st.lists(FAULTS, max_size=40).map(tuple), st.sets(st.integers(0, 39), min_size=1, max_size=3))
def test_shrinking_leaves_exactly_what_matters(script: Script, chosen: set[int]) -> None:
    guilty = {script[index] for index in chosen if index < len(script)}

    small = shrunk(script, lambda candidate: guilty <= set(candidate))

    assert set(small) == guilty
    assert len(small) == len(guilty)


def test_durations_are_halved_while_the_run_still_fails() -> None:
    script = (SystemFault(FaultKind.PAUSE, "r0", 5.0, 30.0), SystemFault(FaultKind.JUMP, "r1", 6.0, -100.0))

    small = shrunk(script, lambda candidate: any(f.kind is FaultKind.PAUSE and f.seconds >= 6.0 for f in candidate))

    assert small == (SystemFault(FaultKind.PAUSE, "r0", 5.0, 7.5),)
