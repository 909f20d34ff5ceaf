# SPDX-License-Identifier: Apache-2.0
"""A program whose status page is looked at: some objects fail, one name is hostile, and it has a table of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from apimachinery.errors import ControllerRuntimeError, TerminalError
from apimachinery.objects import ObjectKey, annotations_of
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.endpoints import Endpoints
from controller_runtime.manager.page.tables import StatusRow, StatusTable
from controller_runtime.testing import EmbeddedCluster, a_node

HOSTILE = "<script>window.hit=1</script><img src=x onerror=window.hit=1>"


@attrs.frozen
class Guests(Reconciler):
    """Labels nodes whose name ends in 7, and fails for those that are broken or whose beds are not a number."""

    cluster: EmbeddedCluster
    nodes: Lister[object]
    has_failed: Stop
    has_refused: Stop

    def reconcile(self, request: Request) -> Result:
        found = self.nodes.get(request)
        if request.name.startswith(("broken", "<script>")):
            self.has_failed.set()
            raise ControllerRuntimeError(f"{request.name} cannot be mended")
        beds = "" if found is None else annotations_of(found).get("example.com/beds", "0")
        if beds and not beds.isdecimal():
            self.has_refused.set()
            raise TerminalError(f"annotation example.com/beds: {beds!r} is not a number")
        if found is not None and request.name.endswith("7"):
            self.cluster.manager.client.patch(NODES, request, {"metadata": {"labels": {"guests": "yes"}}})
        return Result(requeue_after=3600.0)


@attrs.frozen
class Seen:
    """A program that runs, and where its page is."""

    cluster: EmbeddedCluster
    endpoints: Endpoints
    port: int
    guests: Guests

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/debug"


@contextmanager
def seen_program(port: int = 0, *, guest: str = HOSTILE) -> Iterator[Seen]:
    """Run the program inside the block, once it has reconciled its first objects.

    Args:
        port: The port of the page; zero is any.
        guest: A name that is reconciled, and shown in a table.
    """
    host = SystemHost("seen")
    with EmbeddedCluster(host) as cluster, Endpoints(metrics=f"127.0.0.1:{port}") as endpoints:
        manager, channel = cluster.manager, Channel(host, capacity=10)
        guests = Guests(cluster, manager.lister(NODES, dict), Stop(host), Stop(host))
        manager.add(Controller("guests", guests).watch(NODES).receive(channel))
        manager.show_status(lambda: [StatusTable("Guests", ("room", "guest"), [StatusRow((1, guest))])])
        endpoints.serve(manager)
        cluster.start()
        for name in ("node-1", "node-7", "broken-1"):
            cluster.user.create(NODES, a_node(name))
        channel.push(ObjectKey(guest))
        assert guests.has_failed.wait(10.0)
        yield Seen(cluster, endpoints, endpoints.ports[0], guests)
