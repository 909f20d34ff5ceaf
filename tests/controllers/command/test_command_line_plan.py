# SPDX-License-Identifier: Apache-2.0
"""`controllers run` makes its decisions from its options before it starts anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apimachinery.errors import UsageError
from controller_runtime.ring.by import RingBy
from controllers.command import catalog
from controllers.command.run import RunOptions, plan

FILE = Path("some.kubeconfig")


def decide(*, in_cluster: bool = False, **options: Any) -> Any:
    return plan(RunOptions(**options), in_cluster=in_cluster)


def test_without_a_cluster_flag_it_runs_on_the_embedded_server() -> None:
    assert decide().cluster.embedded


def test_without_a_cluster_flag_in_a_pod_it_runs_on_the_pods_cluster() -> None:
    decided = decide(in_cluster=True, controllers="node-ttl")

    assert not decided.cluster.embedded
    assert decided.cluster.kubeconfig is None


def test_embedded_wins_over_the_pods_cluster() -> None:
    assert decide(in_cluster=True, embedded=True).cluster.embedded


def test_a_kubeconfig_is_used_only_when_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/else")

    assert decide().cluster.embedded
    assert decide(kubeconfig=FILE, controllers="node-ttl").cluster.kubeconfig == FILE


def test_hollow_nodes_join_a_cluster_when_that_is_allowed() -> None:
    decided = decide(kubeconfig=FILE, controllers="node-ttl", hollow_nodes=3, allow_fake_nodes=True)

    assert not decided.cluster.embedded


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"embedded": True, "kubeconfig": FILE}, "exclude each other", id="two clusters"),
        pytest.param({"context": "there"}, "--context needs --kubeconfig", id="context without a file"),
        pytest.param({"kubeconfig": FILE}, "--controllers is required on a cluster", id="everything on a cluster"),
        pytest.param(
            {"kubeconfig": FILE, "controllers": "node-ttl", "hollow_nodes": 1},
            "--allow-fake-nodes",
            id="fake nodes on a cluster",
        ),
        pytest.param(
            {"kubeconfig": FILE, "controllers": "node-ttl", "plan": True, "hollow_nodes": 1, "allow_fake_nodes": True},
            "--plan and --hollow-nodes exclude each other",
            id="a plan of nodes without machines",
        ),
        pytest.param({"pods": 1}, "--pods needs --hollow-nodes", id="pods without nodes"),
        pytest.param(
            {"hollow_nodes": 1, "toleration_seconds": 5}, "--toleration-seconds needs --pods", id="patience of no pods"
        ),
        pytest.param({"leader_election_id": "x"}, "need --leader-elect", id="a lease nobody asked for"),
        pytest.param({"coordinated": True}, "--coordinated needs --leader-elect", id="no election to coordinate"),
        pytest.param(
            {"leader_elect": True, "binary_version": "1.0"}, "need --coordinated", id="a version of no candidate"
        ),
        pytest.param(
            {"leader_elect": True, "coordinated": True, "binary_version": "new"},
            "cannot be a candidate: binary_version",
            id="no version",
        ),
        pytest.param(
            {"leader_elect": True, "coordinated": True, "controllers": "lease-candidate-election"},
            "cannot elect its own leader",
            id="who elects waits to be elected",
        ),
        pytest.param(
            {"ring": True, "controllers": "node-lifecycle"},
            "--ring cannot share node-lifecycle: node-lifecycle needs the whole: how many nodes of a zone are silent "
            "decides about each of them; run it with --leader-elect alone",
            id="a ring of what needs the whole",
        ),
        pytest.param(
            {"ring": True, "controllers": "node-ttl,taint-eviction"},
            "cannot share taint-eviction: .*; add --leader-elect for it",
            id="a ring beside what would run twice",
        ),
        pytest.param({"controllers": "node-tlt"}, "did you mean 'node-ttl'", id="misspelt name"),
        pytest.param({"controllers": "xyz"}, "there are: node-ttl", id="unknown name"),
        pytest.param({"controllers": " , "}, "names nothing", id="no name"),
    ],
)
def test_options_that_contradict_or_could_harm_are_refused_with_the_remedy(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        decide(**options)


def test_what_needs_the_whole_stays_with_the_leader_beside_a_ring() -> None:
    assert decide(ring=True, controllers="node-ttl").ring is not None
    decided = decide(ring=True, leader_elect=True, controllers="node-ttl,node-lifecycle")

    assert (decided.ring.name, decided.ring.namespace, decided.ring.by) == ("controllers", "kube-system", RingBy.NAME)
    assert {*catalog.NEEDS_THE_WHOLE} == {*catalog.CATALOG} - {"node-ttl"}


def test_replicas_share_a_lease_only_if_asked_to() -> None:
    by_default = decide(leader_elect=True).leader_election
    named = decide(leader_elect=True, leader_election_id="mine", leader_election_namespace="there").leader_election

    assert decide().leader_election is None
    assert (by_default.name, by_default.namespace) == ("controllers", "kube-system")
    assert (named.name, named.namespace) == ("mine", "there")


def test_names_are_taken_once_and_in_the_order_given() -> None:
    assert decide(controllers="node-ttl, *,node-ttl").names[0] == "node-ttl"
    assert decide(controllers="node-ttl, node-ttl").names == ["node-ttl"]


def test_a_candidate_says_what_it_is() -> None:
    decided = decide(leader_elect=True, coordinated=True, binary_version="1.36.2", emulation_version="v1.35")

    assert decided.leader_election.coordinated.binary_version == "1.36.2"
    assert decided.leader_election.coordinated.emulation_version == "1.35.0"


def test_what_the_server_hosts_is_no_part_of_everything_but_can_be_named() -> None:
    assert "lease-candidate-election" not in decide().names
    assert decide(controllers="lease-candidate-election").names == ["lease-candidate-election"]


def test_what_deletes_pods_on_a_cluster_must_be_named() -> None:
    everything = decide(kubeconfig=FILE, controllers="*").names

    assert not {"node-lifecycle", "taint-eviction"} & {*everything}
    assert decide(kubeconfig=FILE, controllers="taint-eviction").names == ["taint-eviction"]
