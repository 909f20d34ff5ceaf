# SPDX-License-Identifier: Apache-2.0
"""Reviews that the embedded server hands to the manager's webhooks as they are: all is as if they had been sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from controller_runtime import Manager
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.faults import Fault
from controller_runtime.webhooks import Admission, Checks, Defaults, FieldError

MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
AS_ANN = {
    **MERGE,
    "impersonate-user": "ann",
    "impersonate-group": "system:masters",
    "impersonate-extra-team": "blue",
}
CABINS = "/apis/example.com/v1/namespaces/default/cabins"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYED = "/apis/apps/v1/namespaces/default/deployments"
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

Write = tuple[str, str, dict[str, str], Any, dict[str, str]]


def cabin(beds: int) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": {"name": "hut"}, "spec": {"beds": beds}}


WRITES: list[Write] = [
    ("POST", CABINS, {}, cabin(0), {}),
    ("POST", CABINS, {}, {**cabin(1), "metadata": {"generateName": "hut-"}}, {}),
    ("PATCH", f"{CABINS}/hut", {"dryRun": "All"}, {"spec": {"beds": 4}}, MERGE),
    ("PATCH", f"{CABINS}/hut", {}, {"spec": {"beds": 6}}, AS_ANN),
    ("PATCH", f"{CABINS}/hut", {}, {"spec": {"beds": 7}}, MERGE),
    ("PATCH", f"{CABINS}/hut", {}, {"spec": {"beds": 12}}, MERGE),
    ("PATCH", f"{CABINS}/hut", {"fieldManager": "me", "force": "true"}, cabin(2), APPLY),
    ("DELETE", f"{CABINS}/hut", {"gracePeriodSeconds": "0"}, {}, {}),
    ("POST", MAPS, {}, {"metadata": {"name": "a"}, "data": {"k": "v\u00e9"}}, {}),
    ("PATCH", f"{MAPS}/a", {}, {"data": {"k": None}}, MERGE),
    ("PUT", f"{MAPS}/a", {"fieldManager": "me"}, {"metadata": {"name": "a"}, "data": {"k": "w"}}, {}),
    ("DELETE", MAPS, {}, {}, {}),
    ("POST", "/api/v1/namespaces", {}, {"metadata": {"name": "other"}}, {}),
    ("PATCH", "/api/v1/namespaces/other", {}, {"metadata": {"labels": {"a": "b"}}}, MERGE),
    (
        "POST",
        DEPLOYED,
        {},
        {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": POD}},
        {},
    ),
]


class CabinSpec(Struct):
    beds: int
    heating: str = "wood"


@custom_resource("example.com/v1")
class Cabin(CustomResource):
    spec: CabinSpec


def filled(obj: Cabin, request: Admission[Cabin]) -> Cabin:
    obj.spec.beds = obj.spec.beds or 2
    return obj


def judged(obj: Cabin) -> Iterable[FieldError | str]:
    if obj.spec.beds == 7:
        raise RuntimeError("seven")
    if obj.spec.beds > 9:
        yield FieldError("spec.beds", "nine at most", obj.spec.beds)
    if obj.spec.beds > 5:
        yield "more than five beds are cold"


class Observed:
    """A cluster whose webhooks note all that they are given.

    Args:
        cluster: The cluster.
    """

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.given: list[Any] = []
        self._cluster = cluster
        cluster.run(self._setup)

    def _setup(self, manager: Manager) -> None:
        manager.install(Cabin)
        kinds = (CONFIG_MAPS, NAMESPACES, DEPLOYMENTS)
        every = ("CREATE", "UPDATE", "DELETE")
        manager.webhooks.add(Defaults(Cabin, filled), Checks(Cabin, self._judged, operations=every))
        manager.webhooks.add(*(Checks(kind, self._note, view=dict, operations=every) for kind in kinds))

    def _note(self, obj: Any, request: Admission[Any]) -> None:
        facts = (request.operation, request.key, request.user, request.dry_run, request.subresource, request.options)
        self.given.append((obj, request.old, *facts))

    def _judged(self, obj: Cabin, request: Admission[Cabin]) -> Iterable[FieldError | str]:
        self._note(obj, request)
        return judged(obj)

    def told(self, write: Write) -> tuple[str, str]:
        """Return what functions were given for a write, and how it was answered, without what is random."""
        self.given.clear()
        method, path, query, body, headers = write
        headers = {"content-type": "application/json", **headers}
        request = HTTPRequest(method, path, tuple(query.items()), headers, json.dumps(body).encode())
        answer = self._cluster.server.handle(request)
        assert isinstance(answer, HTTPResponse)
        return plain(repr(self.given)), plain(f"{answer.status} {answer.headers} {answer.body.decode()}")


RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|datetime\([^)]*\)|hut-\w{5}|id=\w{8}|\b\d{10,}|'audit-id'[^,}]*"
)


def plain(text: str) -> str:
    return RANDOM.sub("…", text)


def test_what_functions_see_and_what_clients_are_told_is_the_same_as_if_reviews_were_sent() -> None:
    sent: list[str] = []

    def count(number: int, request: HTTPRequest) -> Fault | None:
        sent.append(request.path)
        return None

    with EmbeddedCluster(SystemHost()) as one, EmbeddedCluster(SystemHost(), webhook_faults=count) as other:
        handed, as_requests = Observed(one), Observed(other)
        for write in WRITES:
            before = len(sent)
            told = handed.told(write)
            assert told == as_requests.told(write)
            assert len(sent) > before
            assert handed.given, told


def test_reviews_are_handed_over_only_while_the_webhooks_are_served() -> None:
    with EmbeddedCluster(SystemHost()) as cluster:
        observed = Observed(cluster)
        cluster.manager.webhooks.close()
        given, answer = observed.told(WRITES[0])
        assert given == "[]"
        assert answer.startswith("500")
        assert "connect: connection refused" in answer
