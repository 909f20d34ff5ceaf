# SPDX-License-Identifier: Apache-2.0
"""The judge of the simulated ring that objects of another program are never written."""

from __future__ import annotations

import json

import pytest
from kit.fault_runs.disk import Write
from kit.fault_runs.invariants import Violated
from kit.fault_runs.ring_foreign import FOREIGN, HAND, ForeignObjects

from apimachinery.http import HTTPRequest
from controller_runtime.testing.simulation import Simulation

LEASES, KEY = "leases.coordination.k8s.io", "default/r0"
PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/r0"


def stored(**annotations: str) -> Write:
    return Write(LEASES, KEY, json.dumps({"metadata": {"name": "r0", "annotations": annotations}}).encode())


@pytest.mark.parametrize("write", [stored(), stored(**{FOREIGN: "yes"}), Write(LEASES, KEY, None)])
def test_a_foreign_object_that_is_written_or_deleted_is_noticed(write: Write) -> None:
    judge = ForeignObjects()
    judge.stored(stored())
    judge.stored(stored(**{FOREIGN: "yes"}))
    assert judge.is_any

    with pytest.raises(Violated, match="a foreign object is never written: leases/default/r0"):
        judge.stored(write)


@pytest.mark.parametrize(("name", "may"), [(HAND, True), ("user", True), ("r1", False)])
def test_its_own_program_and_a_user_alone_delete_it(sim: Simulation, name: str, may: bool) -> None:
    judge = ForeignObjects()
    judge.stored(stored(**{FOREIGN: "yes"}))
    judge.begins(sim.host(name), HTTPRequest("DELETE", PATH, {}, b""))

    if may:
        judge.stored(Write(LEASES, KEY, None))
        judge.stored(stored())  # the name is free again
        assert not judge.is_any
    else:
        with pytest.raises(Violated, match="was deleted"):
            judge.stored(Write(LEASES, KEY, None))
