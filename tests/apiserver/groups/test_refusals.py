# SPDX-License-Identifier: Apache-2.0
"""Objects that a real server refuses are refused here, with the same fields, reasons, order of causes and words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.refusals import NAMESPACE, Ask, Case, cases, play, recorded

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

# Cases whose answers differ, with the reason.
_DIFFERENT = {
    "pods new | spec.resources = {": "requests of a whole pod default to its limits for any resource",
    "deployments.apps new | spec.selector = {}": "an empty selector is not told from a missing one",
    "replicasets.apps new | spec.selector = {}": "an empty selector is not told from a missing one",
    "daemonsets.apps new | spec.selector = {}": "an empty selector is not told from a missing one",
    "statefulsets.apps new | spec.selector = {}": "an empty selector is not told from a missing one",
    "services new | spec.ipFamilies = [": "families are looked at first when addresses are given out",
    "ingresses.networking.k8s.io change | spec.rules = []": "an empty list is shown as null",
    'jobs.batch new | spec.podFailurePolicy = {"rules": [{"action": "Ignore", ': "an empty list is shown as null",
    "persistentvolumes new | spec.hostPath = null ; spec.azureFile = {": "an empty text is not told from a missing one",
}


def groups() -> dict[str, list[Case]]:
    """Return the cases by resource and action."""
    found: dict[str, list[Case]] = {}
    for case in cases():
        found.setdefault(f"{case.resource} {case.action}", []).append(case)
    return found


@pytest.fixture(scope="module")
def real() -> dict[str, dict[str, Any]]:
    """The answers of a real server."""
    return recorded()


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """A client of a server that has the namespace of the cases."""
    # A server that counts a quota's use moves its version, as a controller does beside a real one.
    server = APIServer(Simulation(0).host("apiserver"), disable_admission_plugins=("ResourceQuota",))
    asking = Asking(server)

    def send(method: str, path: str, obj: Any) -> tuple[int, Any]:
        where, _, query = path.partition("?")
        return asking(method, where, obj, **dict(parse_qsl(query)))

    send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    yield send
    server.close()


@pytest.mark.parametrize("group", groups())
def test_answers_are_those_of_a_real_server(group: str, ask: Ask, real: dict[str, dict[str, Any]]) -> None:
    differing = [
        (case.name, answer, real[case.name])
        for case in groups()[group]
        if (answer := play(case, ask)) != real[case.name] and not case.name.startswith(tuple(_DIFFERENT))
    ]
    assert differing == []


def test_every_case_is_recorded_and_most_are_refused(real: dict[str, dict[str, Any]]) -> None:
    assert set(real) == {case.name for case in cases()}
    assert sum(answer["code"] == 422 for answer in real.values()) > 600
