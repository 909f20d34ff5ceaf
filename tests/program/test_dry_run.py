# SPDX-License-Identifier: Apache-2.0
"""A dry run asks the server to do no write, whatever the write looks like."""

from __future__ import annotations

import json

import pytest

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.program.dry_run import DryRunTransport, as_dry_run
from controller_runtime.testing import Simulation, a_lease, a_node, a_pod
from embedded_apiserver.server import APIServer


def test_no_verb_changes_anything(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    host = sim.host("here")
    real = InProcessTransport(host, APIServer(host))
    user, dry = Client(host, real), Client(host, DryRunTransport(real))
    user.create(NODES, a_node("a"))
    user.create(PODS, a_pod("p", node="a"))
    before = [user.list(resource, view=dict) for resource in (NODES, PODS, LEASES)]

    with caplog.at_level("INFO"):
        dry.create(NODES, a_node("b"))
        dry.create(LEASES, a_lease("l"))
        dry.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"x": "y"}}})
        dry.patch(NODES, ObjectKey("a"), {"status": {"phase": "Gone"}}, subresource="status")
        dry.update(NODES, {**before[0][0], "spec": {"unschedulable": True}})
        dry.delete(NODES, ObjectKey("a"))
        dry.delete(PODS, ObjectKey("p", "default"), grace_period_seconds=0)

    assert [user.list(resource, view=dict) for resource in (NODES, PODS, LEASES)] == before
    assert [str(record.msg) for record in caplog.records][-1] == (
        "dry run method=DELETE path=/api/v1/namespaces/default/pods/p status=200"
    )
    assert len(caplog.records) == 7


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_each_write_asks_for_a_dry_run_once(method: str) -> None:
    request = HTTPRequest(method, "/api/v1/nodes/a", (("dryRun", "All"), ("fieldManager", "me")))

    assert sorted(as_dry_run(request).query) == [("dryRun", "All"), ("fieldManager", "me")]


def test_the_options_in_the_body_of_a_deletion_ask_too() -> None:
    """A server that finds options in the body does not look at those of the query."""
    request = HTTPRequest("DELETE", "/api/v1/nodes/a", body=b'{"kind":"DeleteOptions","gracePeriodSeconds":0}')

    assert json.loads(as_dry_run(request).body) == {
        "kind": "DeleteOptions", "gracePeriodSeconds": 0, "dryRun": ["All"],
    }  # fmt: skip


def test_reads_are_left_as_they_are() -> None:
    request = HTTPRequest("GET", "/api/v1/nodes", (("watch", "true"),))

    assert as_dry_run(request) is request
