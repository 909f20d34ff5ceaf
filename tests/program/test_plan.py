# SPDX-License-Identifier: Apache-2.0
"""A program decides where and how to run before it starts anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apimachinery.errors import UsageError
from controller_runtime.program.cluster import Cluster
from controller_runtime.program.plan import ProgramOptions, ProgramPlan, lease_name_of, plan_program
from controller_runtime.ring.by import RingBy

FILE = Path("some.kubeconfig")


def decide(*, in_pod: bool = False, lease_namespace: str | None = None, **options: Any) -> ProgramPlan:
    return plan_program(ProgramOptions(**options), in_pod=in_pod, lease_name="cabins", lease_namespace=lease_namespace)


@pytest.mark.parametrize(
    ("options", "in_pod", "cluster"),
    [
        pytest.param({}, False, Cluster(embedded=True, by_default=True), id="nothing"),
        pytest.param({"embedded": True}, False, Cluster(embedded=True), id="embedded"),
        pytest.param({}, True, Cluster(embedded=False, by_default=True), id="a pod"),
        pytest.param({"embedded": True}, True, Cluster(embedded=True), id="embedded in a pod"),
        pytest.param({"kubeconfig": FILE}, True, Cluster(embedded=False, kubeconfig=FILE), id="a file in a pod"),
        pytest.param({"kubeconfig": FILE, "context": "c"}, False, Cluster(False, FILE, "c"), id="a context"),
    ],
)
def test_a_program_runs_where_it_is_told_else_in_its_pod_else_on_an_embedded_server(
    options: dict[str, Any], in_pod: bool, cluster: Cluster
) -> None:
    assert decide(in_pod=in_pod, **options).cluster == cluster


@pytest.mark.parametrize(
    ("options", "lease_namespace", "expected"),
    [
        pytest.param({}, None, ("cabins", "default"), id="nothing"),
        pytest.param({"namespace": "huts"}, None, ("cabins", "huts"), id="the program's namespace"),
        pytest.param({"namespace": "huts"}, "kube-system", ("cabins", "kube-system"), id="the program's choice"),
        pytest.param(
            {"leader_election_id": "x", "leader_election_namespace": "y"}, "kube-system", ("x", "y"), id="options"
        ),
    ],
)
def test_the_lease_is_where_it_is_told_else_where_the_program_is(
    options: dict[str, Any], lease_namespace: str | None, expected: tuple[str, str]
) -> None:
    election = decide(leader_elect=True, lease_namespace=lease_namespace, **options).leader_election

    assert election is not None
    assert (election.name, election.namespace) == expected


def test_a_ring_is_where_the_lease_would_be_and_has_its_name() -> None:
    ring = decide(ring=True, ring_by="namespace", lease_namespace="kube-system").ring

    assert ring is not None
    assert (ring.name, ring.namespace, ring.by) == ("cabins", "kube-system", RingBy.NAMESPACE)
    named = decide(ring=True, leader_election_id="huts", leader_election_namespace="ops").ring
    assert named is not None
    assert (named.name, named.namespace) == ("huts", "ops")
    assert decide().ring is None


def test_without_leader_elect_there_is_no_election() -> None:
    assert decide().leader_election is None


def test_a_plan_takes_no_lease_and_joins_no_ring_whatever_the_program_does() -> None:
    planned = decide(plan=True, kubeconfig=FILE, leader_elect=True, ring=True)

    assert (planned.leader_election, planned.ring) == (None, None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"plan": True}, "no option names a cluster: add --kubeconfig FILE", id="no cluster"),
        pytest.param({"plan": True, "embedded": True}, "a new server has nothing to plan for", id="embedded"),
        pytest.param({"plan": True, "kubeconfig": FILE, "reload": True}, "--plan and --reload exclude", id="reload"),
        pytest.param({"output": "json"}, "--output and --allow-outside are about --plan", id="output alone"),
        pytest.param({"allow_outside": ("h",)}, "--output and --allow-outside are about --plan", id="host alone"),
        pytest.param({"allow_breaking": True}, "--allow-breaking is about --install-crds", id="breaking alone"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        decide(**options)


@pytest.mark.parametrize(
    ("program", "lease"),
    [("zone_labels", "zone-labels"), ("My Operator!", "my-operator"), ("_x.y_", "x.y"), ("§", "program")],
)
def test_the_lease_of_a_program_has_its_name_as_far_as_that_may_be_one(program: str, lease: str) -> None:
    assert lease_name_of(program) == lease
