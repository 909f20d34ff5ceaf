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
    with pytest.raises(UsageError, match="--dry-run and --ring exclude each other"):
        decide(ring=True, dry_run=True)


def test_without_leader_elect_there_is_no_election() -> None:
    assert decide().leader_election is None


def test_a_dry_run_without_an_election_is_allowed_and_one_with_it_refused() -> None:
    assert decide(dry_run=True).leader_election is None
    with pytest.raises(UsageError, match="--dry-run and --leader-elect exclude each other"):
        decide(dry_run=True, leader_elect=True)


def test_a_dry_run_installs_no_definitions() -> None:
    with pytest.raises(UsageError, match="--dry-run and --install-crds exclude each other"):
        decide(dry_run=True, install_crds=True)
    with pytest.raises(UsageError, match="--allow-breaking is about --install-crds: give both, or neither"):
        decide(allow_breaking=True)


@pytest.mark.parametrize(
    ("program", "lease"),
    [("zone_labels", "zone-labels"), ("My Operator!", "my-operator"), ("_x.y_", "x.y"), ("§", "program")],
)
def test_the_lease_of_a_program_has_its_name_as_far_as_that_may_be_one(program: str, lease: str) -> None:
    assert lease_name_of(program) == lease
