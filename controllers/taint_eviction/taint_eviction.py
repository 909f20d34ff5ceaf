# SPDX-License-Identifier: Apache-2.0
"""Deletes the pods that do not tolerate a NoExecute taint of their node, when their time has come.

Keyed by pod. Its only state is since when a pod has to leave: on this machine's steady
clock, from when the taint was first seen, so that a wrong clock evicts nobody early.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import msgspec
from prometheus_client.metrics_core import Metric

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, ObjectKey, timestamp
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_mapped
from controller_runtime.controller.predicates import changed
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import Conflict, DecodeError, NotFound, TerminalError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.exposition import counter, histogram
from controller_runtime.manager.manager import Manager
from controllers.shared.pods_by_node import pods_by_node
from controllers.taint_eviction.countdown import Countdown, Countdowns
from controllers.taint_eviction.toleration import NO_EXECUTE, Taint, Toleration, have_come_again, leaves_at

log = get_logger(__name__)

NAME = "taint-eviction"
COMPONENT = "taint-eviction-controller"
"""Who reports the events, as upstream."""
WORKERS = 8
"""As many as upstream has."""
NEXT_TRY = 1.0
"""Seconds until the next look where the server knew better than the cache."""

EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


class _NodeSpec(msgspec.Struct, gc=False):
    taints: list[Taint] | None = None


class NodeView(msgspec.Struct, gc=False):
    """The part of a node that this controller reads."""

    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)

    @property
    def expelling(self) -> list[Taint]:
        """Its taints that pods have to leave for."""
        return [taint for taint in self.spec.taints or () if taint.effect == NO_EXECUTE]


class _PodMetadata(msgspec.Struct, gc=False, rename="camel"):
    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None


class _PodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    tolerations: list[Toleration] | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _PodStatus(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class PodView(msgspec.Struct, gc=False):
    """The part of a pod that this controller reads."""

    metadata: _PodMetadata
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    @property
    def tolerations(self) -> Sequence[Toleration]:
        """What it tolerates."""
        return self.spec.tolerations or ()

    @property
    def stays(self) -> bool:
        """Whether it is on a node, and nobody has deleted it."""
        return bool(self.spec.node_name) and self.metadata.deletion_timestamp is None


@attrs.frozen
class TaintEviction(Reconciler):
    """Deletes a pod whose time has come; else looks again when it would have."""

    host: Host
    nodes: Lister[NodeView]
    pods: Lister[PodView]
    client: Client
    recorder: EventRecorder
    countdowns: Countdowns

    def reconcile(self, request: Request) -> Result:
        """Look at one pod."""
        try:
            pod = self.pods.get(request)
            taints = None if pod is None else self._cached_taints(pod)
        except DecodeError as error:
            raise TerminalError(f"{request} is left alone until it or its node changes: {error}") from error
        before = self.countdowns.get(request)
        if before is not None and (pod is None or not pod.stays or before.uid != pod.metadata.uid):
            self._end(request, before)
            before = None
        if pod is None or not pod.stays or (before is not None and before.is_done(pod.metadata.resource_version)):
            return Result()
        now = self.host.monotonic()
        at = self._count_down(request, pod, taints, now)
        if at is None:
            return Result()
        if at > now:
            return Result(requeue_after=at - now)
        # It may just have been spared, and the watches be behind.
        at_server = self._count_down(request, pod, self._live_taints(pod), now)
        if at_server is None or at_server > now:
            return Result(requeue_after=NEXT_TRY)
        return self._evict(request, pod, Countdown(pod.metadata.uid, at), now)

    def metrics(self) -> Iterable[Metric]:
        """How many pods it has deleted, and how late; upstream's names."""
        late, prefix = self.countdowns.deletions(), "taint_eviction_controller_pod"
        yield counter(f"{prefix}_deletions_total", "Pods that were deleted.", (), [((), late.count)])
        text = "How long after their time had come pods were deleted."
        yield histogram(f"{prefix}_deletion_duration_seconds", text, (), [((), late)])

    def _cached_taints(self, pod: PodView) -> list[Taint] | None:
        node = self.nodes.get(ObjectKey(pod.spec.node_name))
        return None if node is None else node.expelling

    def _live_taints(self, pod: PodView) -> list[Taint] | None:
        try:
            return self.client.get(NODES, ObjectKey(pod.spec.node_name), NodeView).expelling
        except NotFound:
            return None

    def _count_down(self, key: ObjectKey, pod: PodView, taints: Sequence[Taint] | None, now: float) -> float | None:
        """Let the pod's time run, go on or end, as these taints call for; when it has to leave, as `leaves_at`."""
        before = self.countdowns.get(key)
        goes_on = before is not None and not have_come_again(before.taints, taints or ())
        at = leaves_at(taints, pod.tolerations, before.at if before is not None and goes_on else None, now)
        if before is not None and at != before.at:
            self._end(key, before)
        if taints is not None and at is not None and at > now:
            self.countdowns.put(key, Countdown(pod.metadata.uid, at, taints))
        return at

    def _end(self, key: ObjectKey, countdown: Countdown) -> None:
        """End a countdown; an event tells of it where that was not our doing."""
        self.countdowns.drop(key)
        if not countdown.written:
            self._tell(key, countdown, "CancelDeletion", f"Cancelling deletion of Pod {key}")

    def _evict(self, key: ObjectKey, pod: PodView, countdown: Countdown, now: float) -> Result:
        """Delete the pod as it was seen, and let its grace period begin."""
        try:
            version = self._mark(key, pod)
            self.client.delete(PODS, key, resource_version=version)
        except Conflict:  # it has changed, perhaps so that it may stay
            return Result(requeue_after=NEXT_TRY)
        except NotFound:
            version = pod.metadata.resource_version
        else:
            self._tell(key, countdown, "Delete", f"Marking for deletion Pod {key}")
            log.info("pod evicted", node=pod.spec.node_name)
            self.countdowns.count_deletion(self.host.monotonic() - max(countdown.at, now))
        self.countdowns.put(key, attrs.evolve(countdown, written=version))
        return Result()

    def _mark(self, key: ObjectKey, pod: PodView) -> str:
        """Say in its status why it goes; the version of the pod that says so."""
        metadata = pod.metadata
        said = next((one for one in pod.status.conditions or () if one.type == EVICTED["type"]), _Condition())
        if msgspec.to_builtins(said) == EVICTED:
            return metadata.resource_version
        condition: dict[str, object] = {**EVICTED, "observedGeneration": metadata.generation}
        if said.status != EVICTED["status"]:
            condition["lastTransitionTime"] = timestamp(self.host.now())
        patch = {
            "metadata": {"resourceVersion": metadata.resource_version},
            "status": {"conditions": [condition]},
        }
        answer = self.client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")
        return answer.resource_version

    def _tell(self, key: ObjectKey, countdown: Countdown, action: str, message: str) -> None:
        metadata = {"name": key.name, "namespace": key.namespace, "uid": countdown.uid}
        pod = {"metadata": metadata}
        self.recorder.event(pod, "Normal", "TaintManagerEviction", message, action=action, resource=PODS)


def taint_eviction(manager: Manager, *, workers: int = WORKERS) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose pods to look after.
        workers: Pods looked at at the same time.
    """
    node, pod, pods_on = decoder_for(NodeView, NODES), decoder_for(PodView, PODS), pods_by_node(manager)
    reconciler = TaintEviction(
        host=manager.host,
        nodes=manager.lister(NODES, NodeView),
        pods=manager.lister(PODS, PodView),
        client=manager.client,
        recorder=manager.recorder(COMPONENT),
        countdowns=Countdowns(manager.host),
    )

    def concern(cached: Cached) -> object:
        view = pod(cached.raw)
        return view.metadata.uid, view.stays, view.spec.node_name, view.tolerations

    return (
        Controller(NAME, reconciler, workers=workers)
        .watch(PODS, when=changed(concern))
        .watch(
            NODES,
            when=changed(lambda cached: node(cached.raw).expelling),
            map=enqueue_mapped(lambda cached: pods_on(cached.name)),
        )
    )
