# SPDX-License-Identifier: Apache-2.0
"""Limits how many pods of one node are evicted at the same time, so that no node occupies all workers."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.queue.rate_limiters import ItemExponential


class NodeLimit:
    """Limits how many pods of one node are evicted at the same time, by a queue for each node.

    A request that the server does not answer, for instance because an admission webhook hangs, occupies a worker for
    the client's whole timeout (30 s). Such pods are often on one node, and must not delay those of other nodes. The
    timeout itself is not shortened: a webhook that fails after its own timeout (10 s by default) may allow the write,
    and a client that gives up earlier would never succeed.

    Args:
        host: Creates the lock.
        limit: The most pods of one node that may be evicted at the same time.

    `pod in limit` is True if the pod is in a queue, admitted or waiting.

    Threads: any; one at a time for each pod.
    """

    def __init__(self, host: Host, limit: int) -> None:
        self._limit = limit
        # Guards both below.
        self._lock = host.lock("node limit")
        self._queues: dict[str, dict[ObjectKey, None]] = {}  # by node; a dict keeps the order of its pods
        self._nodes: dict[ObjectKey, str] = {}  # the node in whose queue the pod is

    def enter(self, pod: ObjectKey, node: str) -> bool:
        """Put the pod at the end of its node's queue, unless it is in a queue; return whether it may be evicted now.

        If not, a later `leave` of another pod returns it.

        It stays in this queue until `leave`, even if a new pod of its name appears on another node: the wrong queue
        only delays it.
        """
        with self._lock:
            queue = self._queues.setdefault(self._nodes.setdefault(pod, node), {})
            queue.setdefault(pod)
            return pod in islice(queue, self._limit)

    def leave(self, pod: ObjectKey) -> list[ObjectKey]:
        """Remove the pod from its queue; return the pod that may be evicted instead, in a list; or an empty list."""
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
    """The default delays of retries for failed evictions, except that waiting in a `NodeLimit` does not count as
    success.

    A reconcile whose pod is waiting succeeds, and the work queue then forgets the failures of its request. If they were
    forgotten here, too, twenty failing pods of one node would be retried every few milliseconds without end.

    Threads: the lock of the controller's queue. The lock of the `NodeLimit` is taken inside it, never the reverse.
    """

    def __init__(self, limit: NodeLimit) -> None:
        super().__init__()
        self._node_limit = limit

    def forget(self, item: Hashable) -> None:
        """Forget the failures of a pod, unless it is waiting in the queue of its node, so that it was not tried."""
        if item not in self._node_limit:
            super().forget(item)
