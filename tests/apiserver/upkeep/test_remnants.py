# SPDX-License-Identifier: Apache-2.0
"""The conditions of a namespace that waits, and storage that waits for those that use it."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import MERGE, Asking, pod

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.upkeep.upkeep import Upkeep

SPACES = "/api/v1/namespaces"
CLAIMS = f"{SPACES}/default/persistentvolumeclaims"
PODS = f"{SPACES}/default/pods"
MAPS = f"{SPACES}/default/configmaps"
CLAIM = {
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.fixture
def upkeep(sim: Simulation, ask: Asking) -> Upkeep:
    return Upkeep(sim.host("upkeep"), ask.server)


def patch(ask: Asking, path: str, obj: Any) -> Any:
    return ask.ok("PATCH", path, obj, headers={"content-type": MERGE})


def test_a_namespace_that_waits_says_for_what(ask: Asking, upkeep: Upkeep) -> None:
    ask.ok("POST", SPACES, {"metadata": {"name": "n"}})
    for name in "ab":
        ask.ok("POST", f"{SPACES}/n/configmaps", {"metadata": {"name": name, "finalizers": ["example.com/f"]}})
    ask.ok("POST", f"{SPACES}/n/secrets", {"metadata": {"name": "s"}})
    ask.ok("DELETE", f"{SPACES}/n")

    assert upkeep.settle()
    conditions = ask.ok("GET", f"{SPACES}/n")["status"]["conditions"]
    patch(ask, f"{SPACES}/n/configmaps/a", {"metadata": {"finalizers": None}})
    assert upkeep.settle()
    later = ask.ok("GET", f"{SPACES}/n")["status"]["conditions"]
    patch(ask, f"{SPACES}/n/configmaps/b", {"metadata": {"finalizers": None}})
    assert upkeep.settle()

    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain"),
        ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain"),
    ]
    assert conditions[3]["message"] == "Some resources are remaining: configmaps. has 2 resource instances"
    assert conditions[4]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/f in 2 resource instances"
    )
    assert later[3]["message"].endswith("configmaps. has 1 resource instances")
    assert ask("GET", f"{SPACES}/n")[0] == 404


def test_a_claim_stays_while_a_pod_uses_it(ask: Asking, upkeep: Upkeep) -> None:
    ask.ok("POST", CLAIMS, CLAIM)
    ask.ok("POST", PODS, pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]))
    ask.ok("DELETE", f"{CLAIMS}/c")

    assert upkeep.settle()
    assert "deletionTimestamp" in ask.ok("GET", f"{CLAIMS}/c")["metadata"]
    ask.ok("DELETE", f"{PODS}/p")
    assert upkeep.settle()

    assert ask("GET", f"{CLAIMS}/c")[0] == 404


def test_a_volume_stays_while_it_is_bound(ask: Asking, upkeep: Upkeep) -> None:
    volumes = "/api/v1/persistentvolumes"
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
    ask.ok("POST", volumes, {"metadata": {"name": "v"}, "spec": spec})
    patch(ask, f"{volumes}/v/status", {"status": {"phase": "Bound"}})
    ask.ok("DELETE", f"{volumes}/v")

    assert upkeep.settle()
    assert ask("GET", f"{volumes}/v")[0] == 200
    patch(ask, f"{volumes}/v/status", {"status": {"phase": "Released"}})
    assert upkeep.settle()

    assert ask("GET", f"{volumes}/v")[0] == 404


def test_a_reference_that_says_nothing_of_a_controller_does_not_say_it_afterwards(ask: Asking, upkeep: Upkeep) -> None:
    owners = [ask.ok("POST", MAPS, {"metadata": {"name": name}}) for name in "ab"]
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
        for one in owners
    ]
    ask.ok("POST", MAPS, {"metadata": {"name": "c", "ownerReferences": references}})
    assert upkeep.settle()
    ask.ok("DELETE", f"{MAPS}/a")

    assert upkeep.settle()

    assert ask.ok("GET", f"{MAPS}/c")["metadata"]["ownerReferences"] == references[1:]


def test_pods_of_a_job_that_was_deleted_without_a_policy_stay(ask: Asking, upkeep: Upkeep) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = ask.ok("POST", jobs, {"metadata": {"name": "j"}, "spec": {"template": template}})
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}
    ask.ok("POST", PODS, {**pod("p"), "metadata": {"name": "p", "ownerReferences": [reference]}})
    assert upkeep.settle()

    ask.ok("DELETE", f"{jobs}/j")
    assert upkeep.settle()

    assert ask("GET", f"{jobs}/j")[0] == 404
    assert "ownerReferences" not in ask.ok("GET", f"{PODS}/p")["metadata"]
