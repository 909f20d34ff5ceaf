# SPDX-License-Identifier: Apache-2.0
"""Objects of all built-in kinds are stored as a real server stores them: recorded answers, replayed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.stored_samples import SAMPLES, Case, cases, comparable

FILE = Path(__file__).resolve().parents[2] / "data" / "stored-objects-1.36.json.gz"
RECORDED: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
CASES = [case for case in cases() if case.name in RECORDED]
# Here a field that is not stored has no owner: an empty list without which the object is stored as null, and a field of
# a feature that is off. A real server remembers who sent it.
OWNED_ELSEWHERE = (
    "rules=[]",
    "limits=[]",
    "schedulingGroup={}",
    'stopSignal=""',
    "secrets.0.name=null",
    'secrets.0.name=""',
    "secrets.0={}",
)


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_objects_are_stored_as_a_real_server_stores_them(number: int, ask: Asking) -> None:
    for case in (one for one in CASES if one.sample == number):
        made, expected = comparable(_created(ask, case)), RECORDED[case.name]
        if case.name.endswith(OWNED_ELSEWHERE):
            made["metadata"]["managedFields"] = expected["metadata"]["managedFields"]
        assert made == expected, case.name


def _created(ask: Asking, case: Case) -> Any:
    group = f"/apis/{case.kind.group}/{case.kind.version}" if case.kind.group else "/api/v1"
    middle = "/namespaces/default" if case.kind.namespaced else ""
    return ask.ok("POST", f"{group}{middle}/{case.kind.plural}", case.body, dryRun="All")


def test_mappings_of_a_device_to_resources_of_nodes_are_not_stored_while_their_feature_is_off(ask: Asking) -> None:
    """So a kube-apiserver of 1.36.2 did, whose record of dry runs the tool for releases made."""
    mappings = {"cpu": {"capacityKey": "example.com/cpu"}}
    device = {"name": "gpu-0", "nodeAllocatableResourceMappings": mappings}
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "example.com",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }

    made = ask.ok("POST", "/apis/resource.k8s.io/v1/resourceslices", body)

    assert made["spec"]["devices"] == [{"name": "gpu-0"}]
