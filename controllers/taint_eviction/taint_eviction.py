# SPDX-License-Identifier: Apache-2.0
"""Deletes the pods that do not tolerate a NoExecute taint of their node, when their time has come.

Requests are named after pods. The only state is the time at which each pod has to leave. It is measured on this
machine's monotonic clock from the moment the taint was first seen, so a wrong wall clock evicts no pod early.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import msgspec
from prometheus_client.metrics_core import Metric

from apimachinery.errors import Conflict, DecodeError, NotFound, TerminalError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, timestamp
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_mapped
from controller_runtime.controller.predicates import changed
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.exposition import counter, histogram
from controller_runtime.manager.manager import Manager
from controllers.shared.pods_by_node import pods_by_node
from controllers.taint_eviction.countdown import Countdown, Countdowns
from controllers.taint_eviction.node_limit import NodeLimit, RetryDelay
from controllers.taint_eviction.toleration import Taint, leaves_at, were_added_again
from controllers.taint_eviction.views import TaintedNodeView, ToleratingPodView, WrittenCondition

log = get_logger(__name__)

NAME = "taint-eviction"
COMPONENT = "taint-eviction-controller"
"""The component that events are reported by; upstream's name."""
WORKERS = 8
"""The number that upstream has."""
NEXT_TRY = 1.0
"""Seconds until the next try after the server turned out to be ahead of the cache."""

EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}
"""The condition of a pod that is deleted because of a taint; upstream's words."""


@attrs.frozen
class _Due:
    """A pod that by the cache has to leave now.

    Attributes:
        pod: The pod as judged.
        at: Monotonic seconds at which it had to leave; `AT_ONCE` if it does not tolerate a taint at all.
    """

    pod: ToleratingPodView
    at: float


@attrs.frozen
class TaintEviction(Reconciler):
    """Deletes a pod when it must leave its node because of taints; before that, requeues it for that time.

    Attributes:
        host: The source of the time; its monotonic clock measures for how long taints are tolerated.
        nodes: The cache of the nodes' taints, which may be behind the server.
        pods: The cache of the pods.
        client: Reads nodes from the server, and writes pods.
        recorder: Receives the events on pods.
        countdowns: The pods that must leave, and when.
        limit: Limits the evictions of one node's pods at the same time.
        admitted: The channel by which pods are reconciled again that the limit admits after a wait.
    """

    host: Host
    nodes: Lister[TaintedNodeView]
    pods: Lister[ToleratingPodView]
    client: Client
    recorder: EventRecorder
    countdowns: Countdowns
    limit: NodeLimit
    admitted: Channel

    def reconcile(self, request: Request) -> Result:
        """Delete one pod, if it must leave now according to the cache and then to the server."""
        is_waiting, now = False, self.host.monotonic()
        try:
            due = self._look(request, now)
            if isinstance(due, Result):
                return due
            is_waiting = not self.limit.enter(request, due.pod.spec.node_name)
            return Result() if is_waiting else self._ask_and_evict(request, due, now)
        finally:
            # However this ends, the pod leaves the queue of its node; otherwise those behind it would wait forever.
            if not is_waiting:
                for next_pod in self.limit.leave(request):
                    self.admitted.push(next_pod, cause="admitted")

    def metrics(self) -> Iterable[Metric]:
        """Yield the number of deleted pods, and how late they were deleted, under upstream's metric names."""
        late, prefix = self.countdowns.deletions(), "taint_eviction_controller_pod"
        yield counter(f"{prefix}_deletions_total", "Pods that were deleted.", (), [((), late.count)])
        text = "Seconds between the time at which a pod had to leave and its deletion."
        yield histogram(f"{prefix}_deletion_duration_seconds", text, (), [((), late)])

    def _look(self, request: Request, now: float) -> _Due | Result:
        """Return the pod if, according to the cache, it has to leave now, and otherwise the result of the reconcile.

        Raises:
            TerminalError: The pod or its node cannot be decoded, so that another try would fail in the same way.
        """
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
        at = self._count_down(request, pod, taints, now)
        if at is None:
            return Result()
        return Result(requeue_after=at - now) if at > now else _Due(pod, at)

    def _ask_and_evict(self, request: Request, due: _Due, now: float) -> Result:
        """Delete the pod, unless the taints of its node have changed at the server: our watch may be behind."""
        at_server = self._count_down(request, due.pod, self._live_taints(due.pod), now)
        if at_server is None or at_server > now:
            return Result(requeue_after=NEXT_TRY)
        return self._evict(request, due, now)

    def _cached_taints(self, pod: ToleratingPodView) -> list[Taint] | None:
        node = self.nodes.get(ObjectKey(pod.spec.node_name))
        return None if node is None else node.expelling

    def _live_taints(self, pod: ToleratingPodView) -> list[Taint] | None:
        try:
            return self.client.get(NODES, ObjectKey(pod.spec.node_name), TaintedNodeView).expelling
        except NotFound:
            return None

    def _count_down(
        self, key: ObjectKey, pod: ToleratingPodView, taints: Sequence[Taint] | None, now: float
    ) -> float | None:
        """Start, continue or end the pod's countdown by these taints, and return when it ends.

        Args:
            key: The pod's name.
            pod: The pod.
            taints: The NoExecute taints of its node; None if there is no such node.
            now: Monotonic seconds.

        Returns:
            As `leaves_at`.
        """
        before = self.countdowns.get(key)
        goes_on = before is not None and not were_added_again(before.taints, taints or ())
        at = leaves_at(taints, pod.tolerations, before.at if before is not None and goes_on else None, now)
        if before is not None and at != before.at:
            self._end(key, before)
        if taints is not None and at is not None and at > now:
            self.countdowns.put(key, Countdown(pod.metadata.uid, at, taints))
        return at

    def _end(self, key: ObjectKey, countdown: Countdown) -> None:
        """End a countdown. Record an event that it is cancelled, unless this controller has deleted the pod."""
        self.countdowns.drop(key)
        if not countdown.written:
            self._record(key, countdown, "CancelDeletion", f"Cancelling deletion of Pod {key}")

    def _evict(self, key: ObjectKey, due: _Due, now: float) -> Result:
        """Delete the pod, with its own grace period, if its resourceVersion is still the one that was judged."""
        pod, countdown = due.pod, Countdown(due.pod.metadata.uid, due.at)
        try:
            version = self._mark(key, pod)
            self.client.delete(PODS, key, resource_version=version)
        except Conflict:  # the pod has changed since, perhaps so that it may stay
            return Result(requeue_after=NEXT_TRY)
        except NotFound:  # as wanted; the cache still has the pod, so remember that it is done
            version = pod.metadata.resource_version
        else:
            self._record(key, countdown, "Delete", f"Marking for deletion Pod {key}")
            log.info("pod evicted", node=pod.spec.node_name)
            self.countdowns.count_deletion(self.host.monotonic() - max(countdown.at, now))
        self.countdowns.put(key, attrs.evolve(countdown, written=version))
        return Result()

    def _mark(self, key: ObjectKey, pod: ToleratingPodView) -> str:
        """Write into the pod's status why it is deleted, and return the resourceVersion of that write."""
        metadata = pod.metadata
        before = next((one for one in pod.status.conditions or () if one.type == EVICTED["type"]), WrittenCondition())
        if msgspec.to_builtins(before) == EVICTED:
            return metadata.resource_version
        condition: dict[str, object] = {**EVICTED, "observedGeneration": metadata.generation}
        if before.status != EVICTED["status"]:
            condition["lastTransitionTime"] = timestamp(self.host.now())
        patch = {
            "metadata": {"resourceVersion": metadata.resource_version},
            "status": {"conditions": [condition]},
        }
        answer = self.client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")
        return answer.resource_version

    def _record(self, key: ObjectKey, countdown: Countdown, action: str, message: str) -> None:
        metadata = {"name": key.name, "namespace": key.namespace, "uid": countdown.uid}
        pod = {"metadata": metadata}
        self.recorder.event(pod, "Normal", "TaintManagerEviction", message, action=action, resource=PODS)


def taint_eviction(manager: Manager, *, workers: int = WORKERS) -> Controller:
    """Return the controller that deletes pods from tainted nodes, ready to be added to `manager`.

    Args:
        manager: The manager, whose client, caches and event recorder are used.
        workers: The number of threads. The pods of one node occupy at most a quarter of them (at least one).
    """
    node, pod, pods_on = (
        decoder_for(TaintedNodeView, NODES),
        decoder_for(ToleratingPodView, PODS),
        pods_by_node(manager),
    )
    # A quarter: three nodes whose writes hang leave workers for the others, and one hanging pod leaves room for
    # the other pods of its node.
    limit = NodeLimit(manager.host, max(1, workers // 4))
    reconciler = TaintEviction(
        host=manager.host,
        nodes=manager.lister(NODES, TaintedNodeView),
        pods=manager.lister(PODS, ToleratingPodView),
        client=manager.client,
        recorder=manager.recorder(COMPONENT),
        countdowns=Countdowns(manager.host),
        limit=limit,
        admitted=Channel(manager.host),
    )

    def relevant_fields(cached: Cached) -> object:
        view = pod(cached.raw)
        return view.metadata.uid, view.stays, view.spec.node_name, view.tolerations

    return (
        Controller(NAME, reconciler, workers=workers, limiter=RetryDelay(limit))
        .watch(PODS, when=changed(relevant_fields))
        .watch(
            NODES,
            when=changed(lambda cached: node(cached.raw).expelling),
            map=enqueue_mapped(lambda cached: pods_on(cached.name)),
        )
        .receive(reconciler.admitted)
    )
