# SPDX-License-Identifier: Apache-2.0
"""The work of the replicas: a user writes wishes into annotations of nodes, and a controller fulfils them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.errors import AlreadyExists, Conflict, ConnectionLost
from apimachinery.host import Host
from apimachinery.objects import ObjectKey, annotations_of, meta
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.predicates import changed
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager

NAMES = ("node-0", "node-1", "node-2")
WANTED = "test/wanted"
"""Annotation: the number that the user asked for last; only the user raises it."""
BEGUN = "test/begun"
"""Annotation: the number that the controller began last."""
DONE = "test/done"
"""Annotation: the number that the controller did last."""
TOKEN = "test/token"
"""Annotation: the fencing token of the leader that wrote the two numbers above."""


@attrs.frozen
class DoWhatIsWanted(Reconciler):
    """Copies the annotation `WANTED` of a node to `BEGUN` and then to `DONE`, and writes `TOKEN` each time.

    The constants above describe these annotations. There are two writes, so that faults can happen between them.
    Each is refused if another client has changed the node since it was read.

    Attributes:
        nodes: Reads nodes from the cache.
        client: Writes the annotations.
        token: Returns the fencing token of the leadership of this replica.
    """

    nodes: Lister[dict[str, Any]]
    client: Client
    token: Callable[[], int]

    def reconcile(self, request: Request) -> Result:
        """Do the work of one node, if there is any."""
        node = self.nodes.get(request)
        annotations = annotations_of(node) if node is not None else {}
        wanted = annotations.get(WANTED)
        if node is not None and wanted != annotations.get(DONE):
            begun = self._sign(request, meta(node).resource_version, BEGUN, wanted)
            self._sign(request, begun, DONE, wanted)
        return Result()

    def _sign(self, key: ObjectKey, version: str, what: str, number: str | None) -> str:
        signed = {what: number, TOKEN: str(self.token())}
        patch = {"metadata": {"resourceVersion": version, "annotations": signed}}
        return self.client.patch(NODES, key, patch).resource_version


def do_what_is_wanted(manager: Manager) -> Controller:
    """Return the controller, for a manager with leader election."""

    def token() -> int:
        held = manager.elector.held if manager.elector is not None else None
        return held.token if held is not None else -1

    reconciler = DoWhatIsWanted(manager.lister(NODES, dict[str, Any]), manager.client, token)
    return Controller("work", reconciler, workers=2).watch(NODES, when=changed(annotations_of))


@attrs.define
class WorkTally:
    """The raises of one number, as its user knows them.

    Attributes:
        acknowledged: Raises that the server acknowledged.
        unknown: Raises without an answer, which may have happened.
    """

    acknowledged: int = 0
    unknown: int = 0


class User:
    """Raises `WANTED` of nodes chosen at random: reads the number, then writes the next one if nothing has changed.

    Attributes:
        tallies: The raises of each node's number.
    """

    def __init__(self, host: Host, client: Client) -> None:
        self.tallies = {name: WorkTally() for name in NAMES}
        self._host = host
        self._client = client

    def run(self, stop: Stop) -> None:
        """Create the nodes, however long it takes, then raise numbers until `stop` is set."""
        asleep = Stop(self._host, "asleep")
        for name in NAMES:
            while not self._try_to_create(name):
                asleep.wait(0.5)
        while not stop.wait(1.0 + 5.0 * self._host.random.random()):
            self._raise(self._host.random.choice(NAMES))

    def _try_to_create(self, name: str) -> bool:
        try:
            self._client.create(NODES, {"metadata": {"name": name, "annotations": {WANTED: "0"}}})
        except AlreadyExists:
            pass
        except ConnectionLost:
            return False
        return True

    def _raise(self, name: str) -> None:
        tally = self.tallies[name]
        try:
            node = self._client.get(NODES, ObjectKey(name), dict[str, Any])
            annotations = {WANTED: str(int(annotations_of(node)[WANTED]) + 1)}
        except ConnectionLost:
            return
        decided_on = {"resourceVersion": meta(node).resource_version, "annotations": annotations}
        try:
            self._client.patch(NODES, ObjectKey(name), {"metadata": decided_on})
        except Conflict:
            return
        except ConnectionLost:
            tally.unknown += 1
        else:
            tally.acknowledged += 1
