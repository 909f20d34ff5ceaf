# SPDX-License-Identifier: Apache-2.0
"""Limits how many pods of one node are evicted at the same time, so that no node occupies all workers."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.queue.rate_limiters import ItemExponential


class NodeLimit:
    """A queue for each node of its pods that have to leave now; the first `limit` of them may be evicted.

    A request that the server leaves unanswered, for instance because an admission webhook hangs, occupies a worker
    for the client's whole timeout (30 s). Such pods are often on one node, and must not hold up those of the others.
    The timeout itself is not shortened: a webhook that fails after its own timeout (10 s by default) may let the
    write pass, and a client that gives up sooner would never succeed.

    Args:
        host: Provides the lock.
        limit: Pods of one node that may be evicted at the same time.

    `pod in limit` says whether the pod is in a queue, admitted or not.

    Threads: any; one at a time for each pod.
    """

    def __init__(self, host: Host, limit: int) -> None:
        self._limit = limit
        # Guards both below.
        self._lock = host.lock("node limit")
        self._queues: dict[str, dict[ObjectKey, None]] = {}  # by node; a dict keeps the order of its pods
        self._nodes: dict[ObjectKey, str] = {}  # the node in whose queue the pod is

    def enter(self, pod: ObjectKey, node: str) -> bool:
        """Put the pod at the end of its node's queue, unless it is in one, and return whether it may be evicted now.

        If not, the `leave` of another pod returns it once it may.

        The pod stays in the queue until it leaves, also if another pod of its name has appeared on another node
        meanwhile: a place in the wrong queue only delays it.
        """
        with self._lock:
            queue = self._queues.setdefault(self._nodes.setdefault(pod, node), {})
            queue.setdefault(pod)
            return pod in islice(queue, self._limit)

    def leave(self, pod: ObjectKey) -> list[ObjectKey]:
        """Take the pod out of its queue, if it is in one, and return the pod that may be evicted in its place."""
        with self._lock:
            node = self._nodes.pop(pod, None)
            if node is None:
                return []
            queue = self._queues[node]
            was_admitted = pod in islice(queue, self._limit)
            del queue[pod]
            if not queue:
                del self._queues[node]
            return [*islice(queue, self._limit - 1, self._limit)] if was_admitted else []

    def __contains__(self, pod: object) -> bool:
        with self._lock:
            return pod in self._nodes


class RetryDelay(ItemExponential):
    """The delays of pods whose eviction failed, as by default, except that waiting in a `NodeLimit` is not a success.

    A reconcile that only finds its pod waiting ends well, and the work queue then forgets the failures of its
    request. Were they forgotten here, twenty failing pods of one node would be retried every few milliseconds
    without end.

    Threads: the lock of the controller's queue. That of the `NodeLimit` is taken inside it, and never the other way.
    """

    def __init__(self, limit: NodeLimit) -> None:
        super().__init__()
        self._node_limit = limit

    def forget(self, item: Hashable) -> None:
        """Forget the failures of a pod, unless it is in the queue of its node: then it has not been tried."""
        if item not in self._node_limit:
            super().forget(item)
