# SPDX-License-Identifier: Apache-2.0
"""POST: the fields that the server adds and the objects that it refuses."""

from __future__ import annotations

import random
import re
import uuid
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, Asking, lease, node, pod, version

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"


@pytest.mark.scenario("H-01")
def test_created_lease_gets_a_uid_a_time_and_a_version(ask: Asking) -> None:
    """A POST is answered 201 with a random uid, the time in whole seconds and a decimal version."""
    status, created = ask("POST", LEASES, lease("a"))

    metadata = created["metadata"]
    assert status == 201
    assert uuid.UUID(metadata["uid"]).version == 4
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert re.fullmatch("[1-9][0-9]*", metadata["resourceVersion"])


@pytest.mark.scenario("H-02")
def test_metadata_of_the_server_is_not_the_clients_to_set(ask: Asking) -> None:
    """A uid, a creation time and a deletion time that are sent along are replaced or cleared."""
    sent = {"uid": "x", "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z"}

    created = ask.ok("POST", LEASES, lease("a", sent))

    assert created["metadata"]["uid"] != "x"
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert "deletionTimestamp" not in created["metadata"]


@pytest.mark.scenario("H-05")
def test_taken_name_is_refused(ask: Asking) -> None:
    """A second POST of one name is a conflict that names the object."""
    ask.ok("POST", LEASES, lease("a"))

    status, body = ask("POST", LEASES, lease("a"))

    assert (status, body["reason"]) == (409, "AlreadyExists")
    assert body["details"] == {"name": "a", "group": "coordination.k8s.io", "kind": "leases"}


@pytest.mark.scenario("H-06")
def test_name_of_a_terminating_object_is_taken_and_the_message_says_why(ask: Asking) -> None:
    """The name stays taken until the finalizers of the old object are done."""
    ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/hold"]}))
    ask.ok("DELETE", f"{LEASES}/a")

    status, body = ask("POST", LEASES, lease("a"))

    assert (status, body["reason"]) == (409, "AlreadyExists")
    assert body["message"].startswith("object is being deleted: ")


@pytest.mark.scenario("H-07", "H-08")
@pytest.mark.parametrize(
    ("prefix", "kept"),
    [
        pytest.param("a-", "a-", id="short"),
        pytest.param("a" * 70, "a" * 58, id="long"),
    ],
)
def test_name_is_generated_from_a_prefix(prefix: str, kept: str, ask: Asking) -> None:
    """A generated name is the prefix, cut to 58 characters, and five letters without vowels."""
    created = ask.ok("POST", LEASES, {"metadata": {"generateName": prefix}})

    assert re.fullmatch(kept + SUFFIX, created["metadata"]["name"])


class Stubborn(random.Random):
    """A random source that always chooses the first element."""

    def choice(self, options: Any) -> Any:
        return options[0]


def test_generated_name_that_is_taken_eight_times_is_refused(sim: Simulation) -> None:
    host = sim.host("apiserver")
    host.random = Stubborn()
    ask = Asking(APIServer(host))
    ask.ok("POST", LEASES, {"metadata": {"generateName": "a-"}})

    response = ask.response("POST", LEASES, {"metadata": {"generateName": "a-"}})

    assert response.status == 409
    assert response.headers["retry-after"] == "1"


@pytest.mark.scenario("H-09")
def test_object_without_any_name_is_refused(ask: Asking) -> None:
    """An object with neither a name nor a prefix lacks a required field."""
    status, body = ask("POST", LEASES, {"spec": {}})

    assert status == 422
    assert [(c["reason"], c["field"]) for c in body["details"]["causes"]] == [("FieldValueRequired", "metadata.name")]


@pytest.mark.scenario("H-11")
def test_namespace_of_the_body_must_be_that_of_the_path(ask: Asking) -> None:
    """A body with another namespace than the path is refused."""
    status, _ = ask("POST", LEASES, lease("a", {"namespace": "other"}))

    assert status == 400


@pytest.mark.scenario("H-21")
def test_status_is_kept_for_a_new_node_and_reset_for_a_new_pod(ask: Asking) -> None:
    """A new node keeps its status, because kubelets register with one. A new pod begins as Pending."""
    status = {"capacity": {"cpu": "4"}}

    made_node = ask.ok("POST", NODES, node("n", status=status))
    made_pod = ask.ok("POST", PODS, {**pod("p"), "status": {"phase": "Running"}})

    assert made_node["status"]["capacity"] == status["capacity"]
    assert made_pod["status"]["phase"] == "Pending"


@pytest.mark.scenario("H-23")
def test_taints_of_equal_key_and_effect_are_refused(ask: Asking) -> None:
    """A node that has two taints of one key and one effect is answered 422."""
    taint = {"key": "k", "effect": "NoSchedule"}

    status, body = ask("POST", NODES, node("n", spec={"taints": [taint, taint]}))

    assert (status, body["reason"]) == (422, "Invalid")


@pytest.mark.scenario("H-67")
@pytest.mark.parametrize(
    ("query", "status", "warning"),
    [
        pytest.param({}, 201, '299 - "unknown field \\"spec.x\\""', id="warned of by default"),
        pytest.param({"fieldValidation": "Warn"}, 201, '299 - "unknown field \\"spec.x\\""', id="warned of"),
        pytest.param({"fieldValidation": "Ignore"}, 201, None, id="ignored"),
        pytest.param({"fieldValidation": "Strict"}, 400, None, id="refused"),
        pytest.param({"fieldValidation": "Other"}, 422, None, id="no such validation"),
    ],
)
def test_unknown_field_is(query: dict[str, str], status: int, warning: str | None, ask: Asking) -> None:
    """The client chooses whether an unknown field gives a warning, a refusal or nothing."""
    response = ask.response("POST", LEASES, lease("a", x=1), **query)

    assert response.status == status
    assert response.headers.get("warning") == warning


def test_several_warnings_stand_in_one_header(ask: Asking) -> None:
    response = ask.response("POST", LEASES, lease("a", x=1, y=2))

    assert response.headers["warning"].count("299 - ") == 2


@pytest.mark.scenario("H-68")
def test_dry_run_answers_as_if_and_stores_nothing(ask: Asking) -> None:
    """The answer to a dry run has a uid and no version, and nothing is stored."""
    watch = ask.watch(LEASES)
    watch.take()
    before = ask.server.storage.version

    status, body = ask("POST", LEASES, lease("a"), dryRun="All")

    assert status == 201
    assert body["metadata"]["uid"]
    assert "resourceVersion" not in body["metadata"]
    assert ask("GET", f"{LEASES}/a")[0] == 404
    assert (ask.server.storage.version, watch.take()) == (before, ([], False))


def test_dry_run_finds_the_name_taken(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    assert ask("POST", LEASES, lease("a"), dryRun="All")[0] == 409


def test_other_dry_runs_are_refused(ask: Asking) -> None:
    status, body = ask("POST", LEASES, lease("a"), dryRun="Some")

    assert (status, body["details"]["kind"]) == (422, "CreateOptions")


@pytest.mark.scenario("H-71")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param("2026-01-02T03:04:05.678901Z", 201, id="six digits come back"),
        pytest.param("2026-01-02T03:04:05Z", 400, id="without a fraction it is refused"),
    ],
)
def test_micro_time(sent: str, status: int, ask: Asking) -> None:
    """A MicroTime has exactly six decimal digits, in requests and in answers."""
    answered, body = ask("POST", LEASES, lease("a", renewTime=sent))

    assert answered == status
    assert status == 400 or body["spec"]["renewTime"] == sent


@pytest.mark.scenario("H-72")
def test_all_faults_are_told_at_once(ask: Asking) -> None:
    """Two errors give two causes, and one message with both in brackets."""
    status, body = ask("POST", LEASES, lease("a", leaseDurationSeconds=0, leaseTransitions=-1))

    assert status == 422
    assert len(body["details"]["causes"]) == 2
    assert re.search(r"is invalid: \[.*, .*\]$", body["message"])


def test_new_objects_need_their_namespace(ask: Asking) -> None:
    status, body = ask("POST", LEASES.replace("default", "missing"), lease("a"))

    assert (status, body["message"]) == (404, 'namespaces "missing" not found')


@pytest.mark.parametrize("seed", range(10))
def test_of_two_creators_of_one_name_one_wins(seed: int) -> None:
    with Simulation(seed=seed) as sim:
        host = sim.host("apiserver")
        ask = Asking(APIServer(host))
        answers: list[int] = []
        for number in range(4):
            host.spawn(f"creator-{number}", lambda: answers.append(ask("POST", LEASES, lease("a"))[0]))
        sim.settle()

        assert sorted(answers) == [201, 409, 409, 409]


def test_versions_rise_from_object_to_object(ask: Asking) -> None:
    made: list[Any] = [ask.ok("POST", LEASES, lease(name)) for name in "ab"]

    assert version(made[0]) < version(made[1])
