# SPDX-License-Identifier: Apache-2.0
"""States of the world are compared without what differs in each run."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.testing.perturbation.world import DELETED, State, differences, simplified, varying
from embedded_apiserver.perturbation.names import Name, name_of

ONE = "11111111-1111-1111-1111-111111111111"
TWO = "22222222-2222-2222-2222-222222222222"

READY, LATE = {"type": "Ready", "status": "True"}, {"type": "Late", "status": "False"}


def pod(uid: str = ONE, version: str = "7", **more: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "default", "uid": uid, "resourceVersion": version}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, **more}


def differing(calm: dict[str, Any], here: dict[str, Any]) -> list[str]:
    return [str(each) for each in differences(simplified({"pods": [calm]}), simplified({"pods": [here]}))]


@pytest.mark.parametrize(
    ("calm", "here"),
    [
        (pod(ONE, "7"), pod(TWO, "9")),
        (pod(metadata={"creationTimestamp": "2026-01-01T00:00:00Z"}), pod(metadata={"creationTimestamp": "x"})),
        (pod(status={"at": "2026-01-01T00:00:00Z"}), pod(status={"at": "2027-01-01T00:00:00.5+01:00"})),
        (pod(status={"at": "2026-01-01T00:00:00.123456"}), pod(status={"at": "2027-01-01T00:00:00"})),
        (pod(status={"of": ONE}), pod(TWO, status={"of": TWO})),
        (
            pod(metadata={"generation": 2}, status={"observedGeneration": 2}),
            pod(metadata={"generation": 3}, status={"observedGeneration": 3}),
        ),
        (
            pod(spec={"clusterIPs": ["10.0.0.2"], "ports": [{"nodePort": 30001}]}),
            pod(spec={"clusterIPs": ["10.0.0.3"], "ports": [{"nodePort": 30002}]}),
        ),
        (
            pod(metadata={"name": "web-abc", "generateName": "web-"}),
            pod(metadata={"name": "web-xyz", "generateName": "web-"}),
        ),
        (pod(metadata={"name": f"of-{ONE}"}), pod(metadata={"name": f"of-{TWO}"})),
        (pod(status={"conditions": [READY, LATE]}), pod(status={"conditions": [LATE, READY]})),
        (pod(spec={"path": f"/of-{ONE}", "podIP": "10.1.2.3"}), pod(spec={"path": f"/of-{TWO}", "podIP": "10.1.2.4"})),
    ],
)
def test_uids_versions_times_generated_names_and_the_order_of_conditions_are_no_difference(
    calm: dict[str, Any], here: dict[str, Any]
) -> None:
    assert differing(calm, here) == []


@pytest.mark.parametrize(
    ("calm", "here", "told"),
    [
        (pod(spec={"size": 1}), pod(spec={"size": 2}), "spec.size: 1 in a calm run, 2 here"),
        (pod(spec={"size": 1}), pod(spec={}), "spec.size: 1 in a calm run, absent here"),
        (
            pod(spec=[{"type": "b"}, {"type": "a"}]),
            pod(spec=[{"type": "a"}, {"type": "b"}]),
            "spec.0.type: 'b' in a calm",
        ),
        (pod(spec=[1, 2]), pod(spec=[1, 3]), "spec.1: 2 in a calm run, 3 here"),
        (pod(spec={"clusterIP": "10.0.0.2"}), pod(spec={"clusterIP": "None"}), "spec.clusterIP: '<address>' in a calm"),
        (pod(status={"of": ONE}), pod(ONE, status={"of": TWO}), "status.of: '<uid of pods default/web>' in a calm run"),
        (
            pod(metadata={"generation": 2}, status={"observedGeneration": 2}),
            pod(metadata={"generation": 2}, status={"observedGeneration": 1}),
            "status.observedGeneration: 'current' in a calm run, 'behind' here",
        ),
    ],
)
def test_a_difference_is_told_by_its_path(calm: dict[str, Any], here: dict[str, Any], told: str) -> None:
    assert [each for each in differing(calm, here) if told in each]


@pytest.mark.parametrize(
    ("calm", "here", "told"),
    [
        (
            {"data": {"password": "b25l"}},
            {"data": {"password": "dHdv"}},
            "data.password: a value in a calm run, a value",
        ),
        ({}, {"data": {"password": "dHdv"}}, "data: absent in a calm run, a value here"),
        ({"data": ["b25l"]}, {"data": ["dHdv"]}, "data.0: a value in a calm run, a value here"),
    ],
)
def test_values_of_a_secret_are_not_told(calm: dict[str, Any], here: dict[str, Any], told: str) -> None:
    (found,) = differences(simplified({"secrets": [pod(**calm)]}), simplified({"secrets": [pod(**here)]}))

    assert str(found).startswith(f"secrets default/web {told}")
    assert "dHdv" not in str(found)
    assert "b25l" not in str(found)


def test_each_of_several_objects_with_a_generated_name_is_there() -> None:
    one, two = (pod(uid, metadata={"name": f"web-{uid[:3]}", "generateName": "web-"}) for uid in (ONE, TWO))

    assert [str(each) for each in differences(simplified({"pods": [one, two]}), simplified({"pods": [one]}))] == [
        "pods default/web-*: there in a calm run, absent here"
    ]


def test_objects_that_are_missing_or_too_many_differ() -> None:
    state = simplified({"pods": [pod()]})
    deleted = {Name("pods", "default/web"): [DELETED]}

    assert [str(each) for each in differences(state, {})] == ["pods default/web: there in a calm run, absent here"]
    assert [str(each) for each in differences(deleted, {})] == ["pods default/web: deleted in a calm run, absent here"]


def served(address: str, **pods: str) -> State:
    """Return the state of pods, each with its address, and of an endpoint slice with one address."""
    found = [pod(name, metadata={"name": name}, status={"podIP": of}) for name, of in pods.items()]
    slices = [pod(endpoints=[{"addresses": [address]}])]
    return simplified({"pods": found, "endpointslices.discovery.k8s.io": slices})


def test_the_address_of_a_pod_in_another_object_is_that_of_the_pod() -> None:
    calm = served("10.1.0.5", a="10.1.0.5", b="10.1.0.6")
    again = served("10.1.0.9", a="10.1.0.9", b="10.1.0.5")
    other = served("10.1.0.6", a="10.1.0.5", b="10.1.0.6")

    assert differences(calm, again) == []
    assert [str(each) for each in differences(calm, other)] == [
        "endpointslices.discovery.k8s.io default/web endpoints.0.addresses.0: "
        "'<address of pods default/a>' in a calm run, '<address of pods default/b>' here"
    ]


def test_what_varies_between_calm_runs_is_ignored_with_all_below_it() -> None:
    calm, again = (simplified({"pods": [pod(status={"port": port, "ok": True})]}) for port in (1, 2))
    other = simplified({"pods": [pod(status={"port": {"of": 3}, "ok": False})]})

    ignored = varying(calm, again)

    assert [each.path for each in differences(calm, other, ignored)] == ["status.ok"]


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"name": "a"}, "a"),
        ({"name": "a", "namespace": "n"}, "n/a"),
        ({"name": "a-x", "generateName": "a-", "namespace": "n"}, "n/a-*"),
        ({"name": "b", "generateName": "a-"}, "b"),
    ],
)
def test_the_name_of_an_object_is_that_in_every_run(metadata: dict[str, str], key: str) -> None:
    assert name_of("pods", metadata) == Name("pods", key)
