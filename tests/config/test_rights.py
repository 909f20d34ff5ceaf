# SPDX-License-Identifier: Apache-2.0
"""Each file that is not deployed by default grants the rights its program asks for, in the right place, and no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.rights import Right, is_covered, right_of, rights_of

from controller_runtime.api.http import HTTPRequest
from controller_runtime.api.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NAMESPACES, NODES, PODS
from controller_runtime.client.patches import PatchType
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.testing import EmbeddedCluster, Simulation, a_lease, a_node, a_pod
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import SELECTOR, apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.heartbeat.node_lease import NAMESPACE, node_lease
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pods import HollowPods, PodMaker
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.taint_eviction.taint_eviction import taint_eviction

RIGHTS = Path(__file__).resolve().parents[2] / "config" / "rights"


def granted(*files: str) -> set[Right]:
    documents = [d for file in files for d in yaml.safe_load_all((RIGHTS / f"{file}.yaml").read_text(encoding="utf-8"))]
    return rights_of(documents)


def run_lease_gc(sim: Simulation, cluster: EmbeddedCluster) -> None:
    old = a_lease("old", "kube-system", holder="gone", duration=60, renew_time=microtime(cluster.host.now()))
    label, _, value = SELECTOR.partition("=")
    old["metadata"]["labels"] = {label: value}
    cluster.user.create(LEASES, old)
    cluster.manager.add(apiserver_lease_gc(cluster.manager))
    cluster.start()
    sim.advance(120.0)
    assert cluster.user.list(LEASES, "kube-system") == []


def run_node_lease(sim: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.user.create(NODES, a_node("n1"))
    cluster.manager.add(node_lease(cluster.host, cluster.client, "n1"))
    cluster.start()
    sim.advance(60.0)


def run_hollow_nodes(sim: Simulation, cluster: EmbeddedCluster) -> None:
    manager, user = cluster.manager, cluster.user
    nodes = HollowNodes(cluster.host, manager.client, 2, nodes=manager.informer(NODES))
    manager.add(nodes)
    manager.add(HollowPods(manager, nodes.is_running))
    manager.add(PodMaker(cluster.host, manager.client, 1, 2))
    cluster.start()
    sim.advance(20.0)
    user.create(PODS, a_pod("p", node="hollow-00000"))
    sick = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    user.patch(NODES, ObjectKey("hollow-00001"), sick, type=PatchType.STRATEGIC, subresource="status")
    sim.advance(20.0)
    for pod in ("p", "hollow-pod-00000"):
        user.delete(PODS, ObjectKey(pod, "default"))
    everybody = Selection(random=2)
    nodes.kill(everybody)
    nodes.revive(everybody)
    user.delete(LEASES, ObjectKey("hollow-00000", NAMESPACE))
    sim.advance(400.0)
    assert user.list(PODS) == []


def run_taint_eviction(sim: Simulation, cluster: EmbeddedCluster) -> None:
    user = cluster.user
    user.create(NODES, a_node("n"))
    user.create(PODS, a_pod("p", node="n"))
    cluster.manager.add(taint_eviction(cluster.manager))
    cluster.start()
    for key in ("node.kubernetes.io/unreachable", "", "node.kubernetes.io/not-ready", "", "dedicated"):
        taints = [{"key": key, "effect": "NoExecute"}] if key else None
        user.patch(NODES, ObjectKey("n"), {"spec": {"taints": taints}})
        sim.advance(10.0)
    sim.advance(3600.0)
    assert all("deletionTimestamp" in pod["metadata"] for pod in user.list(PODS, view=dict))


def run_node_lifecycle(sim: Simulation, cluster: EmbeddedCluster) -> None:
    user = cluster.user
    for name in ("n", "m"):
        user.create(NODES, a_node(name))
    user.create(PODS, a_pod("p", node="n"))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for resource, request in ((NODES, ObjectKey("n")), (NODES, ObjectKey("m")), (PODS, ObjectKey("p", "default"))):
        user.patch(resource, request, ready, type=PatchType.STRATEGIC, subresource="status")
    cluster.manager.add(node_lifecycle(cluster.manager))
    cluster.start()
    sim.advance(40.0)
    user.create(LEASES, a_lease("m", NAMESPACE, holder="m", duration=40, renew_time=microtime(cluster.host.now())))
    sim.advance(11.0)
    for seconds in range(20):  # written again before our write: then the node is read from the server
        user.patch(NODES, ObjectKey("m"), {"spec": {"unschedulable": seconds % 2 == 0}})
        user.patch(NODES, ObjectKey("m"), {"metadata": {"labels": {"kubernetes.io/os": str(seconds)}}})
    sim.advance(60.0)
    ready["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    user.patch(NODES, ObjectKey("n"), ready, type=PatchType.STRATEGIC, subresource="status")
    sim.advance(3600.0)  # it falls silent once more, and in the end its events are a series
    assert user.get(NODES, ObjectKey("n"), dict)["spec"]["taints"]


def a_candidate(name: str, lease: str, renewed: datetime) -> dict[str, Any]:
    spec = {"leaseName": lease, "binaryVersion": "1.0.0", "emulationVersion": "1.0.0", "renewTime": microtime(renewed)}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, "strategy": "OldestEmulationVersion"},
    }


def run_election(sim: Simulation, cluster: EmbeddedCluster) -> None:
    now = cluster.host.now()
    stale = a_candidate("stale", "other", now - timedelta(seconds=10))
    for candidate in (stale, a_candidate("fresh", "lease", now)):
        cluster.user.create(LEASE_CANDIDATES, candidate)
    inner: Any = cluster.transport.inner
    request, taken = inner.request, []

    def just_taken(asked: HTTPRequest, deadline: float) -> object:
        if asked.method == "POST" and asked.path.endswith("/leases") and not taken:
            taken.append(cluster.user.create(LEASES, a_lease("lease", "default", holder="stranger", duration=60)))
        return request(asked, deadline)

    inner.request = just_taken
    cluster.manager.add(lease_candidate_election(cluster.manager))
    cluster.start()
    sim.advance(60.0)
    for holder in ("fresh", "stranger", "fresh"):  # the same error comes again, so its event is a series
        cluster.user.patch(LEASES, ObjectKey("lease", "default"), {"spec": {"holderIdentity": holder}})
        sim.advance(60.0)
    sim.advance(3600.0)


def run_candidate_gc(sim: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.user.create(LEASE_CANDIDATES, a_candidate("old", "lease", cluster.host.now() - timedelta(hours=1)))
    cluster.manager.add(lease_candidate_gc(cluster.manager))
    cluster.start()
    sim.advance(1.0)
    assert cluster.user.list(LEASE_CANDIDATES, "default") == []


@pytest.mark.parametrize(
    ("files", "run"),
    [
        pytest.param(["apiserver-lease-gc"], run_lease_gc, id="apiserver-lease-gc"),
        pytest.param(["node-lease"], run_node_lease, id="node-lease"),
        pytest.param(["node-lease", "hollow-nodes"], run_hollow_nodes, id="hollow-nodes"),
        pytest.param(["taint-eviction"], run_taint_eviction, id="taint-eviction"),
        pytest.param(["node-lifecycle"], run_node_lifecycle, id="node-lifecycle"),
        pytest.param(["lease-candidate-election"], run_election, id="lease-candidate-election"),
        pytest.param(["lease-candidate-gc"], run_candidate_gc, id="lease-candidate-gc"),
    ],
)
def test_what_is_asked_for_is_granted_and_nothing_else(
    simulation: Simulation, files: list[str], run: Callable[[Simulation, EmbeddedCluster], None]
) -> None:
    grants = granted(*files)

    role = [RIGHTS / f"{file}.yaml" for file in files]
    with EmbeddedCluster(simulation.host("program"), role=role) as cluster:
        run(simulation, cluster)
        asked = {right_of(request) for request in cluster.transport.requests}

    assert {right for right in asked if not is_covered(right, grants)} == set()
    unused = {right for right in grants if not any(is_covered(each, {right}) for each in asked)}
    assert {verb for *_, verb in unused} <= {"list"}, "which servers without streamed lists are asked for"


def leading_role(namespace: str) -> dict[str, Any]:
    """Returns the Role that each replica needs for the lease of its leader election."""
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    return {"kind": "Role", "metadata": {"name": "leading", "namespace": namespace}, "rules": [rule]}


def test_a_candidate_asks_for_what_its_roles_grant_and_nothing_else(simulation: Simulation) -> None:
    home, group = "controllers-system", "coordination.k8s.io"
    election = LeaderElectionConfig(name="controllers", namespace=home, coordinated=Candidacy(binary_version="1.0.0"))
    elector = EmbeddedCluster(simulation.host("elector"))
    elector.user.create(NAMESPACES, {"metadata": {"name": home}})
    elector.manager.add(lease_candidate_election(elector.manager))

    with elector:
        elector.start()
        role = [RIGHTS / "lease-candidate.yaml", leading_role(home)]
        with EmbeddedCluster(
            simulation.host("r"), server=elector.server, leader_election=election, role=role
        ) as replica:
            replica.start()
            simulation.advance(600.0)
            (candidate,) = elector.user.list(LEASE_CANDIDATES, home, view=dict)
            elector.user.delete(LEASE_CANDIDATES, ObjectKey(candidate["metadata"]["name"], home))
            simulation.advance(60.0)
            assert elector.user.get(LEASES, ObjectKey("controllers", home), dict)["spec"]["holderIdentity"]
        asked = {right_of(request) for request in replica.transport.requests}

    leading = {(home, group, "leases", verb) for verb in ("get", "update")}
    assert asked | {(home, group, "leasecandidates", "list")} == granted("lease-candidate") | leading


@pytest.mark.parametrize("file", sorted(RIGHTS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_role_is_bound_to_the_service_account_of_the_deployment(file: Path) -> None:
    documents: list[dict[str, Any]] = [*yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    roles = [(d["kind"], d["metadata"]) for d in documents if not d["kind"].endswith("Binding")]
    bindings = [d for d in documents if d["kind"].endswith("Binding")]

    assert [(d["roleRef"]["kind"], d["metadata"]) for d in bindings] == roles
    subject = {"kind": "ServiceAccount", "name": "controllers", "namespace": "controllers-system"}
    assert all(d["subjects"] == [subject] and d["roleRef"]["name"] == d["metadata"]["name"] for d in bindings)
