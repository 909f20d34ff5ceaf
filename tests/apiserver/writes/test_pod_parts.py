# SPDX-License-Identifier: Apache-2.0
"""Bindings, evictions and reviews: objects that clients POST and that are not stored."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import PODS, Asking, Object, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NAMED: Object = {"metadata": {"name": "p"}}


def binding(node: str = "n1", **more: Any) -> Object:
    return {**NAMED, "target": {"kind": "Node", "name": node}, **more}


def running(ask: Asking, name: str, **labels: str) -> None:
    """Return a ready pod that runs on a node."""
    ask.ok("POST", PODS, {**pod(name, nodeName="n1"), "metadata": {"name": name, "labels": labels}})
    is_ready(ask, name, "True")


def is_ready(ask: Asking, name: str, status: str) -> None:
    conditions = [{"type": "Ready", "status": status}]
    assert ask.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})[0] == 200


def budget(ask: Asking, name: str, allowed: int, *, observed: int = 1) -> None:
    """Return a disruption budget for the pods of the app `a`, with the status that its controller would write."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    ask.ok("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})
    counts = {"desiredHealthy": 1, "currentHealthy": 1, "disruptionsAllowed": allowed, "expectedPods": 2}
    status, _ = ask.patch(f"{BUDGETS}/{name}/status", {"status": {**counts, "observedGeneration": observed}})
    assert status == 200


def test_a_bound_pod_is_on_its_node_once_and_for_all(ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p"))

    status, answer = ask("POST", f"{PODS}/p/binding", binding())
    again, refused = ask("POST", f"{PODS}/p/binding", binding("n2"))

    assert (status, answer["status"]) == (201, "Success")
    bound = ask.ok("GET", f"{PODS}/p")
    assert bound["spec"]["nodeName"] == "n1"
    assert [one["type"] for one in bound["status"]["conditions"]] == ["PodScheduled"]
    assert (again, refused["reason"]) == (409, "Conflict")
    assert 'already assigned to node "n1"' in refused["message"]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(binding(metadata={"name": "q"}), 400, id="another pod's name"),
        pytest.param({**NAMED, "target": {"kind": "Node"}}, 500, id="no node"),
        pytest.param({**NAMED, "target": {"kind": "Moon", "name": "n"}}, 500, id="not a node"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused(sent: Object, code: int, ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p"))

    assert ask("POST", f"{PODS}/p/binding", sent)[0] == code
    assert "nodeName" not in ask.ok("GET", f"{PODS}/p")["spec"]


def test_a_dry_run_binds_nothing(ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p"))

    assert ask("POST", f"{PODS}/p/binding", binding(), dryRun="All")[0] == 201
    assert "nodeName" not in ask.ok("GET", f"{PODS}/p")["spec"]


def test_a_pod_on_its_way_out_is_not_bound(ask: Asking) -> None:
    ask.ok("POST", PODS, {**pod("p"), "metadata": {"name": "p", "finalizers": ["x.io/y"]}})
    ask.ok("DELETE", f"{PODS}/p")

    assert ask("POST", f"{PODS}/p/binding", binding())[0] == 409


def test_an_evicted_pod_is_marked_and_ends_in_its_own_time(ask: Asking) -> None:
    running(ask, "p")

    status, _ = ask("POST", f"{PODS}/p/eviction", NAMED)

    left = ask.ok("GET", f"{PODS}/p")
    assert status == 201
    assert left["metadata"]["deletionGracePeriodSeconds"] == 30
    assert left["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"


@pytest.mark.parametrize(
    ("allowed", "observed", "codes"),
    [
        pytest.param(0, 1, (429, 429), id="none may go"),
        pytest.param(1, 1, (201, 429), id="one may go"),
        pytest.param(5, 0, (429, 429), id="not looked at yet"),
    ],
)
def test_a_budget_limits_evictions(allowed: int, observed: int, codes: tuple[int, int], ask: Asking) -> None:
    running(ask, "p", app="a")
    running(ask, "q", app="a")
    budget(ask, "b", allowed, observed=observed)

    first, _ = ask("POST", f"{PODS}/p/eviction", NAMED)
    second, refused = ask("POST", f"{PODS}/q/eviction", {"metadata": {"name": "q"}})

    assert (first, second) == codes
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"


def test_a_pod_that_does_no_work_is_evicted_past_its_budget(ask: Asking) -> None:
    ask.ok("POST", PODS, {**pod("p"), "metadata": {"name": "p", "labels": {"app": "a"}}})
    budget(ask, "b", 0)

    assert ask("POST", f"{PODS}/p/eviction", NAMED)[0] == 201
    assert ask("GET", f"{PODS}/p")[0] == 404


@pytest.mark.parametrize(
    ("policy", "healthy", "code"),
    [
        pytest.param(None, 1, 201, id="enough others are healthy"),
        pytest.param("IfHealthyBudget", 0, 429, id="not enough are"),
        pytest.param("AlwaysAllow", 0, 201, id="always"),
    ],
)
def test_a_pod_that_is_not_ready_may_go_past_its_budget(
    policy: str | None, healthy: int, code: int, ask: Asking
) -> None:
    running(ask, "p", app="a")
    is_ready(ask, "p", "False")
    budget(ask, "b", 0)
    ask.patch(f"{BUDGETS}/b", {"spec": {"unhealthyPodEvictionPolicy": policy}})
    ask.patch(f"{BUDGETS}/b/status", {"status": {"currentHealthy": healthy, "observedGeneration": 9}})

    assert ask("POST", f"{PODS}/p/eviction", NAMED)[0] == code


def test_an_eviction_of_one_version_finds_that_version(ask: Asking) -> None:
    running(ask, "p")
    version = ask.ok("GET", f"{PODS}/p")["metadata"]["resourceVersion"]

    def evict(version: str) -> int:
        sent = {**NAMED, "deleteOptions": {"preconditions": {"resourceVersion": version}}}
        code, _ = ask("POST", f"{PODS}/p/eviction", sent)
        return code

    assert evict("1") == 409
    assert ask.ok("GET", f"{PODS}/p")["metadata"]["resourceVersion"] == version, "nothing was written"
    assert evict(version) == 201
    assert "deletionTimestamp" in ask.ok("GET", f"{PODS}/p")["metadata"]


def test_an_eviction_that_is_repeated_changes_nothing(ask: Asking) -> None:
    running(ask, "p")
    assert ask("POST", f"{PODS}/p/eviction", NAMED)[0] == 201
    before = ask.ok("GET", f"{PODS}/p")

    assert ask("POST", f"{PODS}/p/eviction", NAMED)[0] == 201

    assert ask.ok("GET", f"{PODS}/p") == before


def test_a_binding_of_another_pod_of_that_name_is_refused(ask: Asking) -> None:
    made = ask.ok("POST", PODS, pod("p"))["metadata"]

    assert ask("POST", f"{PODS}/p/binding", binding(metadata={"name": "p", "uid": "other"}))[0] == 409
    assert ask("POST", f"{PODS}/p/binding", binding(metadata={"name": "p", "resourceVersion": "1"}))[0] == 409
    assert ask("POST", f"{PODS}/p/binding", binding(metadata={"name": "p", "uid": made["uid"]}))[0] == 201


def test_a_pod_of_two_budgets_is_not_evicted(ask: Asking) -> None:
    running(ask, "p", app="a")
    budget(ask, "b", 1)
    budget(ask, "c", 1)

    assert ask("POST", f"{PODS}/p/eviction", NAMED)[0] == 500


@pytest.mark.parametrize(
    ("sent", "query"),
    [
        pytest.param({**NAMED, "deleteOptions": {"dryRun": ["All"]}}, {}, id="by its options"),
        pytest.param(NAMED, {"dryRun": "All"}, id="by the query"),
    ],
)
def test_a_dry_run_evicts_nothing_and_spends_nothing(sent: Object, query: dict[str, str], ask: Asking) -> None:
    running(ask, "p", app="a")
    budget(ask, "b", 1)

    assert ask("POST", f"{PODS}/p/eviction", sent, **query)[0] == 201

    left = ask.ok("GET", f"{PODS}/p")
    assert "deletionTimestamp" not in left["metadata"]
    assert [one["type"] for one in left["status"]["conditions"]] == ["Ready"]
    assert ask.ok("GET", f"{BUDGETS}/b")["status"]["disruptionsAllowed"] == 1


def test_an_eviction_keeps_its_options(ask: Asking) -> None:
    running(ask, "p")

    assert ask("POST", f"{PODS}/p/eviction", {**NAMED, "deleteOptions": {"preconditions": {"uid": "other"}}})[0] == 409
    assert ask("POST", f"{PODS}/p/eviction", {**NAMED, "deleteOptions": {"gracePeriodSeconds": 0}})[0] == 201
    assert ask("GET", f"{PODS}/p")[0] == 404


@pytest.mark.parametrize("metadata", [{}, {"name": "q"}, {"name": "p", "namespace": "other"}])
@pytest.mark.parametrize("subresource", ["binding", "eviction"])
def test_an_object_sent_to_a_pod_names_that_pod(subresource: str, metadata: Object, ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p"))

    code, refused = ask("POST", f"{PODS}/p/{subresource}", binding(metadata=metadata))

    assert (code, "does not match" in refused["message"]) == (400, True)
    assert "deletionTimestamp" not in ask.ok("GET", f"{PODS}/p")["metadata"]
