# SPDX-License-Identifier: Apache-2.0
"""A warning from a server is logged once."""

from __future__ import annotations

import logging

import pytest
from kit.client.recorder import Recorder

from apimachinery.errors import NotFound
from apimachinery.http import HTTPResponse
from apimachinery.log import fields_of
from apimachinery.objects import ObjectKey
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASE_CANDIDATES, NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.warnings import Warnings, warnings_of
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(fields_of(record)["text"]) for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        pytest.param('299 - "one"', ["one"], id="one"),
        pytest.param('299 - "one, two", 299 - "three"', ["one, two", "three"], id="several, folded"),
        pytest.param(r'299 - "a \"quoted\" \\ word"', ['a "quoted" \\ word'], id="escaped"),
        pytest.param('299 kube "x" "Sat, 21 Nov 2026 05:00:00 GMT"', ["x"], id="dated"),
        pytest.param('110 cache "stale", 299 - "x"', ["x"], id="a cache's"),
        pytest.param("299 - unquoted", [], id="malformed"),
        pytest.param("", [], id="empty"),
    ],
)
def test_warnings_are_read_as_servers_write_them(header: str, texts: list[str]) -> None:
    assert warnings_of(header) == texts


def test_a_warning_is_logged_once_for_a_client(host: SimulatedHost, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(host, InProcessTransport(host, APIServer(host)))

    for name in ("a", "b"):
        client.create(NODES, {"metadata": {"name": name}, "spec": {"nope": 1}})
    client.within(1.0).create(NODES, {"metadata": {"name": "c"}, "spec": {"nope": 1, "neither": 2}})

    assert told(caplog) == ['unknown field "spec.nope"', 'unknown field "spec.neither"']


def test_a_refusal_can_warn_too(host: SimulatedHost, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(host, Recorder(HTTPResponse(404, {"warning": '299 - "v1beta1 goes away"'})))

    with pytest.raises(NotFound):
        client.get(NODES, ObjectKey("a"))

    assert told(caplog) == ["v1beta1 goes away"]


def test_lists_and_watches_warn_once_for_their_collection(
    host: SimulatedHost, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'
    nodes = ListWatch(host, Recorder(HTTPResponse(200, {"warning": '299 - "old"'}, body)), Collection(NODES))

    nodes.list()
    nodes.list()

    assert told(caplog) == ["old"]


def test_a_version_that_this_package_has_chosen_is_not_warned_of(
    host: SimulatedHost, caplog: pytest.LogCaptureFixture
) -> None:
    """The embedded server calls lease candidates deprecated, as a real one does."""
    client = Client(host, InProcessTransport(host, APIServer(host)))

    with caplog.at_level(logging.DEBUG):
        client.list(LEASE_CANDIDATES, view=dict)

    assert told(caplog) == []
    assert [fields_of(record)["text"] for record in caplog.records] == [
        "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+"
    ]


def test_no_number_of_warnings_fills_the_memory(host: SimulatedHost, caplog: pytest.LogCaptureFixture) -> None:
    warnings = Warnings(host)

    def heed(number: int) -> None:
        warnings.log_new(HTTPResponse(200, {"warning": f'299 - "{number}"'}), "/x")

    for number in range(300):
        heed(number)
    heed(299)
    assert len(told(caplog)) == 300

    heed(0)
    assert len(told(caplog)) == 301
