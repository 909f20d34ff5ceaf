# SPDX-License-Identifier: Apache-2.0
"""The bundled programs that have a file in `config/rights`, each in a run that shows all that it asks of a server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs

from apimachinery.errors import AlreadyExists
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NAMESPACES, NODES, PODS
from controller_runtime.client.patches import PatchType
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.rights import Right
from controller_runtime.rights import Access, Recorder, compared, granted_by, text_of
from controller_runtime.rights.file import read_objects
from controller_runtime.ring.by import RingBy
from controller_runtime.testing import EmbeddedCluster, Simulation, a_lease, a_node, a_pod
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import SELECTOR, apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.heartbeat.node_lease import NAMESPACE, node_lease
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pod_maker import PodMaker
from controllers.hollow.pods import HollowPods
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.node_ttl import node_ttl
from controllers.taint_eviction.taint_eviction import taint_eviction

RIGHTS = Path(__file__).resolve().parents[3] / "config" / "rights"


HOME = "controllers-system"
SUBJECT = {"kind": "ServiceAccount", "name": "controllers", "namespace": HOME}
LEADING = {
    "kind": "Role",
    "metadata": {"name": "leading", "namespace": HOME},
    "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}],
}
"""The right to the lease of an election, which each replica of the deployment has."""

NODE_TTL = {
    "kind": "ClusterRole",
    "metadata": {"name": "node-ttl"},
    "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]}],
}
"""The rights of the controller of the deployment, as they are in `config/roles.yaml`."""


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
    cluster.manager.declare(Right(LEASES, namespace=NAMESPACE))
    cluster.manager.add(node_lease(cluster.host, cluster.client, "n1"))
    cluster.start()
    sim.advance(60.0)


def run_hollow_nodes(sim: Simulation, cluster: EmbeddedCluster) -> None:
    manager, user = cluster.manager, cluster.user
    manager.declare(Right(LEASES, namespace=NAMESPACE))
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
    assert cluster.user.list(LEASE_CANDIDATES, "default", view=dict) == []


def run_candidate(sim: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.start()
    sim.advance(600.0)
    (candidate,) = cluster.user.list(LEASE_CANDIDATES, HOME, view=dict)
    cluster.user.delete(LEASE_CANDIDATES, ObjectKey(candidate["metadata"]["name"], HOME))
    sim.advance(60.0)
    assert cluster.user.get(LEASES, ObjectKey("controllers", HOME), dict)["spec"]["holderIdentity"]


def run_ring(sim: Simulation, cluster: EmbeddedCluster) -> None:
    with contextlib.suppress(AlreadyExists):  # a Role is in it
        cluster.user.create(NAMESPACES, {"metadata": {"name": HOME}})
    controller = node_ttl(cluster.manager)
    cluster.manager.add(controller)
    cluster.manager.ring("controllers", RingBy.NAME, namespace=HOME).share(controller)
    cluster.user.create(NODES, a_node("n"))
    cluster.start()
    sim.advance(60.0)
    assert cluster.user.get(NODES, ObjectKey("n"), dict)["metadata"]["annotations"]


@contextlib.contextmanager
def nothing_else(sim: Simulation) -> Iterator[dict[str, Any]]:
    """Yield no options for the cluster of a program."""
    yield {}


@contextlib.contextmanager
def an_elector(sim: Simulation) -> Iterator[dict[str, Any]]:
    """Yield the options of a replica beside a program that elects it."""
    election = LeaderElectionConfig(name="controllers", namespace=HOME, coordinated=Candidacy(binary_version="1.0.0"))
    with EmbeddedCluster(sim.host("elector")) as elector:
        elector.user.create(NAMESPACES, {"metadata": {"name": HOME}})
        elector.manager.add(lease_candidate_election(elector.manager))
        elector.start()
        yield {"server": elector.server, "leader_election": election}


@attrs.frozen
class BundledProgram:
    """A program whose rights are in a file.

    Attributes:
        name: The name of the file without its suffix.
        run: Runs the program until it has asked everything.
        beside: Roles, or names of files, that the program has besides its own file.
        surroundings: Yields options of the program's cluster; what it does is not the program's.
    """

    name: str
    run: Callable[[Simulation, EmbeddedCluster], None]
    beside: tuple[str | dict[str, Any], ...] = ()
    surroundings: Callable[[Simulation], contextlib.AbstractContextManager[dict[str, Any]]] = nothing_else

    @property
    def file(self) -> Path:
        return RIGHTS / f"{self.name}.yaml"

    def others(self) -> list[Any]:
        """Return the roles and files of `beside`."""
        return [RIGHTS / f"{each}.yaml" if isinstance(each, str) else each for each in self.beside]

    def asked(self, sim: Simulation, role: list[Any] | None = None) -> set[Access]:
        """Run the program under a role, or with all rights, and return what it asked."""
        recorder = Recorder()
        with self.surroundings(sim) as options, recorder.recording():
            with EmbeddedCluster(sim.host("program"), role=role, **options) as cluster:
                self.run(sim, cluster)
            return recorder.take()

    def text(self, asked: set[Access]) -> str:
        """Return the text of the program's file, with the comment and the bindings that it has."""
        objects = [one for each in self.others() for one in (read_objects(each) if isinstance(each, Path) else [each])]
        own = compared(asked, granted_by(objects)).missing
        before = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return text_of(own, before, name=f"controllers-{self.name}", path=self.file)


PROGRAMS = [
    BundledProgram("apiserver-lease-gc", run_lease_gc),
    BundledProgram("node-lease", run_node_lease),
    BundledProgram("hollow-nodes", run_hollow_nodes, beside=("node-lease",)),
    BundledProgram("taint-eviction", run_taint_eviction),
    BundledProgram("node-lifecycle", run_node_lifecycle),
    BundledProgram("lease-candidate-election", run_election),
    BundledProgram("lease-candidate-gc", run_candidate_gc),
    BundledProgram("ring", run_ring, beside=(NODE_TTL,)),
    BundledProgram("lease-candidate", run_candidate, beside=(LEADING,), surroundings=an_elector),
]
