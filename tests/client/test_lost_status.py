# SPDX-License-Identifier: Apache-2.0
"""A status of a declared class that the server would drop or refuse is named by the client, once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from apimachinery.errors import NotFound
from apimachinery.objects import ObjectKey, ObjectMeta
from controller_runtime.api.resources import NODES, resource_of
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.lost_status import lost_status
from controller_runtime.client.patches import PatchType
from controller_runtime.crd.declaration import custom_resource
from controller_runtime.crd.types import CustomResource, Struct
from controller_runtime.testing import EmbeddedCluster, Simulation


class Spec(Struct):
    text: str = ""


class Status(Struct):
    shown: str = ""


@custom_resource("example.com/v1")
class Page(CustomResource):
    spec: Spec
    status: Status | None = None


@custom_resource("example.com/v1")
class Bare(CustomResource):
    spec: Spec


DROPPED = "the server drops a status of Page that is written without subresource='status'"
NONE = "Bare has no field `status`, so the server stores none: add the field to the class"
OPERATION = {"op": "add", "path": "/status/shown", "value": "a"}


@pytest.mark.parametrize(
    ("kind", "body", "subresource", "said"),
    [
        (Page, {"status": {"shown": "a"}}, "", DROPPED),
        (Page, {"status": {"shown": "a"}}, "status", ""),
        (Page, {"status": {}}, "scale", ""),
        (Page, {"spec": {"text": "a"}}, "", ""),
        (Page, {"status": None}, "", ""),
        (Page, [OPERATION], "", DROPPED),
        (Page, [OPERATION], "status", ""),
        (Page, [{"op": "add", "path": "/spec/statusText", "value": ""}], "", ""),
        (Bare, {"status": {"shown": "a"}}, "status", NONE),
        (Bare, {"status": {"shown": "a"}}, "", NONE),
        (Bare, {"spec": {}}, "", ""),
        (NODES, {"status": {"phase": "a"}}, "", ""),
    ],
)
def test_a_status_that_the_server_would_not_store_is_found(kind: Any, body: Any, subresource: str, said: str) -> None:
    assert lost_status(resource_of(kind), body, subresource) == said


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING)
    return caplog


def test_each_way_to_lose_a_status_is_warned_of_and_the_server_drops_it(
    simulation: Simulation, cluster: EmbeddedCluster, warned: pytest.LogCaptureFixture
) -> None:
    cluster.manager.install(Page)
    cluster.start()
    key = ObjectKey("a", "default")
    whole = Page(Spec(), Status("a"), metadata=ObjectMeta(name="a", namespace="default"))
    writes: list[Callable[[Client], object]] = [
        lambda client: client.create(whole),
        lambda client: client.patch(Page, key, {"status": {"shown": "a"}}),
        lambda client: client.patch(Page, key, [{**OPERATION, "path": "/status"}], type=PatchType.JSON),
        lambda client: client.apply(whole, field_manager="tester", force=True),
    ]
    for number, write in enumerate(writes):
        warned.clear()
        host = simulation.host(f"writer-{number}")
        write(Client(host, InProcessTransport(host, cluster.server)))  # its own, since each text is logged once

        assert [record.getMessage() for record in warned.records] == [DROPPED]
        assert cluster.user.get(Page, key).status is None

    warned.clear()
    cluster.user.patch(Page, key, {"status": {"shown": "a"}}, subresource="status")
    for _ in range(2):
        cluster.user.patch(Page, key, {"status": {"shown": "b"}})
    assert cluster.user.get(Page, key).status == Status("a")
    assert [record.getMessage() for record in warned.records] == [DROPPED]


def test_a_kind_without_a_status_is_named_before_the_server_answers_not_found(
    cluster: EmbeddedCluster, warned: pytest.LogCaptureFixture
) -> None:
    cluster.manager.install(Bare)
    cluster.start()
    cluster.user.create(Bare(Spec(), metadata=ObjectMeta(name="a", namespace="default")))

    with pytest.raises(NotFound):
        cluster.user.patch(Bare, ObjectKey("a", "default"), {"status": {"shown": "a"}}, subresource="status")

    assert [record.getMessage() for record in warned.records] == [NONE]
