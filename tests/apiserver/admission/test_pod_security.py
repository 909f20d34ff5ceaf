# SPDX-License-Identifier: Apache-2.0
"""PodSecurity: the embedded server tells of each pod, and of each request, just what a real one has told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from differential.servers import Answer, Embedded
from kit.apiserver.asking import PODS, Asking
from kit.apiserver.asking import pod as plain_pod
from kit.apiserver.pod_security import (
    LEVELS,
    MINORS,
    RECORDED,
    recorded_steps,
    requests_of_pods,
    spaces_of_pods,
    told_of,
)
from kit.apiserver.pod_security_pods import pods
from kit.apiserver.pod_security_steps import SPACES, labelled, pod, relabel, steps

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.admission.pod_security.existing import LONGEST, MOST, in_order, warnings_of
from embedded_apiserver.admission.pod_security.levels import Level, LevelVersion
from embedded_apiserver.admission.pod_security.table import CHECKS, violations
from embedded_apiserver.audit_annotations import collected
from embedded_apiserver.kinds.release import NEWEST
from embedded_apiserver.server import APIServer

REAL: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
REQUESTS = dict(requests_of_pods())
RESTRICTED = LevelVersion(Level.RESTRICTED)


def annotated(ask: Callable[[], Answer]) -> tuple[Answer, Mapping[str, str]]:
    with collected() as found:
        return ask(), found


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    """A server with the namespaces for pods."""
    with contextlib.closing(Embedded()) as server:
        for request in spaces_of_pods():
            assert told_of(server, annotated, request).status == 201
        yield server


@pytest.mark.parametrize("name", pods())
def test_a_pod_is_answered_as_by_a_real_server(embedded: Embedded, name: str) -> None:
    asked = [one for one in REQUESTS if one.startswith(f"{name}: ")]

    assert len(asked) == 4
    for one in asked:
        assert told_of(embedded, annotated, REQUESTS[one]).recorded() == REAL["pods"][one], one


def test_each_pod_is_recorded() -> None:
    assert REQUESTS.keys() == REAL["pods"].keys()
    assert {f"{name}: {level}" for name in pods() for level in LEVELS} == REAL["histories"].keys()


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_has_the_history_that_it_has_on_a_real_server(embedded: Embedded, level: str) -> None:
    for name, sent in pods().items():
        body = json.dumps(sent).encode()
        answer = embedded.ask("POST", f"{SPACES}/default/pods?dryRun=All", {"content-type": "application/json"}, body)
        assert answer.status == 201, name
        stored = json.loads(answer.body)
        real, text = dict(REAL["histories"][f"{name}: {level}"]), 0
        for minor in MINORS:
            text = real.get(minor, text)
            found = violations(LevelVersion(Level(level), minor), NEWEST.minor, stored["metadata"], stored["spec"])
            assert ", ".join(map(str, found)) == REAL["texts"][text], (name, minor)


def test_the_recorded_pods_show_each_form_of_each_check() -> None:
    # One that a server refuses before, for which the check would be made all the same.
    unmasked = {"metadata": {}, "spec": {"containers": [{"name": "c", "securityContext": {"procMount": "Unmasked"}}]}}
    sent = [*pods().values(), unmasked]
    for check in CHECKS:
        for minor, form in check.history.items():
            assert {minor, max(0, minor - 1)} <= set(MINORS), check.name
            assert {form(one["metadata"], one["spec"]) is None for one in sent} == {False, True}, (check.name, minor)


def test_requests_are_answered_as_by_a_real_server() -> None:
    with contextlib.closing(Embedded()) as server:
        found = recorded_steps(server, annotated, lambda _: None)

    for number, (ours, real, request) in enumerate(zip(found, REAL["steps"], steps(), strict=True)):
        assert ours == real, f"request {number}: {request}"


def _owned(name: str, owner: str) -> dict[str, Any]:
    return pod(name, ownerReferences=[{"uid": owner, "controller": True}])


def test_of_the_pods_of_one_controller_one_is_looked_at_first() -> None:
    found = in_order([_owned("a", "x"), _owned("b", "x"), pod("c"), _owned("d", "y"), _owned("e", "y"), pod("f")])

    assert "".join(one["metadata"]["name"] for one in found) == "acdfbe"


@pytest.mark.parametrize(
    ("count", "looks", "told"),
    [
        pytest.param(MOST, MOST, [], id="as many as are looked at"),
        pytest.param(MOST + 1, MOST, [f"the first {MOST} of {MOST + 1}"], id="one more"),
        pytest.param(9, 9, [], id="late after the last one"),
        pytest.param(9, 4, ["the first 4 of 9"], id="late"),
    ],
)
def test_not_all_pods_of_a_large_namespace_are_looked_at(count: int, looks: int, told: list[str]) -> None:
    calls = iter(range(1, count + 2))

    found = warnings_of("n", [pod("p")] * count, RESTRICTED, NEWEST.minor, lambda: next(calls) >= looks)

    which = [f"new PodSecurity enforce level only checked against {one} existing pods" for one in told]
    assert found[:-2] == which
    assert found[-1].startswith(f"p (and {looks - 1} other pods): allowPrivilegeEscalation")


def test_pods_are_looked_at_for_a_second_of_the_hosts_clock(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    host = sim.host("server")
    ask = Asking(APIServer(host))
    for number in range(5):
        ask.ok("POST", PODS, plain_pod(f"p{number}"))
    times = iter([0.0, 0.3, 0.6, LONGEST, 5.0])
    monkeypatch.setattr(host, "monotonic", lambda: next(times))

    request = relabel("default", enforce="restricted")
    response = ask.response("PATCH", request.target, request.body, headers={"content-type": request.media_type})

    assert response.status == 200
    assert "only checked against the first 3 of 5 existing pods" in response.headers["warning"]


@pytest.mark.parametrize(("release", "status"), [("1.33", 201), ("1.34", 403)])
def test_the_newest_level_is_that_of_the_release_as_which_the_server_answers(
    sim: Simulation, release: str, status: int
) -> None:
    ask = Asking(APIServer(sim.host(f"s{release}"), release=release))
    ask.patch("/api/v1/namespaces/default", {"metadata": {"labels": labelled(enforce="baseline")}})
    probe = {"httpGet": {"port": 80, "host": "elsewhere"}}

    container = {"name": "c", "image": "i", "livenessProbe": probe}
    assert ask("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})[0] == status


def test_a_namespace_that_cannot_be_found_allows_no_pod_and_any_template(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("server"), disable_admission_plugins=["NamespaceLifecycle"]))
    template = {"template": {"spec": plain_pod("p")["spec"]}, "metadata": {"name": "t"}}

    with collected() as of_pod:
        status, body = ask("POST", PODS.replace("default", "nowhere"), plain_pod("p"))
    with collected() as of_template:
        made, _ = ask("POST", "/api/v1/namespaces/nowhere/podtemplates", template)

    failure = 'failed to lookup namespace "nowhere"'
    assert (status, body["message"], made) == (500, f"Internal error occurred: {failure}", 201)
    reason = f'{failure}: namespaces "nowhere" not found'
    key = "pod-security.kubernetes.io/error"
    assert of_pod == {key: f"Internal error occurred: {reason}"}
    assert of_template == {key: reason}
