# SPDX-License-Identifier: Apache-2.0
"""An operator starts while no replica runs, on a server that kept objects of a version that only it can convert."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinStatus, CabinV1Alpha1
from kit.crd.conversions import cabins
from kit.processes.programs import client_of

from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop, spawn
from controller_runtime import (
    Client,
    Controller,
    LeaderElectionConfig,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    SystemHost,
)
from controller_runtime.crd import DEFINITIONS, definition
from controller_runtime.errors import APIError
from controller_runtime.manager.health import health_of
from controller_runtime.resources import NAMESPACES
from controller_runtime.testing import APIServerProcess
from controller_runtime.testing.waiting import eventually
from controller_runtime.webhooks import Converts, WebhookServing
from controller_runtime.webhooks.configurations import WebhookPlace, conversion_of

pytestmark = pytest.mark.embedded("the server keeps its objects from one run to the next")

PLACE = WebhookPlace(name="hooks", namespace="cabins-system")
NAME = ObjectKey("cabins.example.com")
HOST = SystemHost()


class Counts(Reconciler):
    """Writes the number of beds into the status of each cabin, whose newer version it reads."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def reconcile(self, request: Request) -> Result:
        beds = self._client.get(Cabin, request).spec.beds
        self._client.patch(Cabin, request, {"status": {"readyBeds": beds}}, subresource="status")
        return Result()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def body_of(*classes: Any) -> dict[str, Any]:
    made = definition(*classes)
    if len(classes) > 1:
        made["spec"]["conversion"] = conversion_of(PLACE)
    return made


def store_old_ones(client: Client) -> None:
    client.create(NAMESPACES, {"metadata": {"name": PLACE.namespace}})
    client.create(DEFINITIONS, body_of(CabinV1Alpha1))
    for bunks in (1, 2, 3):
        metadata = {"name": f"hut-{bunks}", "namespace": "default"}
        client.create(CabinV1Alpha1, {"metadata": metadata, "spec": {"bunks": bunks}})


@contextlib.contextmanager
def running(kubeconfig: Path, port: int) -> Iterator[Manager]:
    """Run a replica of the operator, which knows nothing of the server but how to reach it."""
    election = LeaderElectionConfig(name="cabins", namespace=PLACE.namespace)
    manager = Manager.from_kubeconfig(kubeconfig, leader_election=election)
    manager.webhooks.add(Converts(cabins))
    manager.webhooks.serve(WebhookServing(address=f"127.0.0.1:{port}", name=PLACE.name, namespace=PLACE.namespace))
    manager.add(Controller("cabins", Counts(manager.client)).watch(Cabin))
    stop = Stop(HOST)
    thread = spawn(HOST, stop, "operator", lambda: manager.run(stop))
    try:
        yield manager
    finally:
        stop.set()
        thread.join_until(None)
    if stop.failure is not None:
        raise stop.failure


@pytest.mark.scenario("WH-14")
def test_an_operator_that_starts_from_nothing_becomes_ready_leads_and_converts_what_was_stored(tmp_path: Path) -> None:
    port, kept = free_port(), ("--data-dir", str(tmp_path / "data"))
    with APIServerProcess(HOST, *kept) as server, client_of(server.kubeconfig) as client:
        store_old_ones(client)

    leads_to = ("--webhook-service", f"{PLACE.namespace}/{PLACE.name}=127.0.0.1:{port}")
    with APIServerProcess(HOST, *kept, *leads_to) as server, client_of(server.kubeconfig) as client:
        client.apply(DEFINITIONS, body_of(Cabin, CabinV1Alpha1), field_manager="admin", force=True)
        with pytest.raises(APIError, match=r"conversion webhook for example\.com/v1alpha1, Kind=Cabin failed"):
            client.list(Cabin)

        with running(server.kubeconfig, port) as manager:
            found = eventually(manager, Cabin, lambda: all_counted(client), timeout=30.0)
            ready = health_of(manager).answer(HTTPRequest("GET", "/readyz"), trusted=True)
            leads = manager.elector is not None and manager.elector.is_leader()
            versions = [each["apiVersion"] for each in client.list(CabinV1Alpha1, view=dict)]

        assert found == [(CabinSpec(beds), CabinStatus(beds)) for beds in (1, 2, 3)]
        assert (ready.status, leads) == (200, True)
        assert versions == ["example.com/v1alpha1"] * 3


def all_counted(client: Client) -> list[tuple[CabinSpec, CabinStatus | None]]:
    """Return the cabins, once each has its status."""
    try:
        found = [(each.spec, each.status) for each in client.list(Cabin)]
    except APIError:  # while the operator is not ready
        return []
    return found if all(status is not None for _, status in found) else []
