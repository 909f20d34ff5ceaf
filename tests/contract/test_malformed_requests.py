# SPDX-License-Identifier: Apache-2.0
"""Ten thousand malformed requests: each is answered, and none makes the server fail."""

from __future__ import annotations

import gc
import itertools
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml
from kit.apiserver.protobuf import frames
from kit.contract.malformed import Case, Malformed
from kit.contract.sample_objects import collection_of, custom_kind, name_of, sample_of

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE
from embedded_apiserver.protobuf.reader import decode_object
from embedded_apiserver.reads.watch import ObjectWatch
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

pytestmark = pytest.mark.ends

ROWS, REQUESTS_OF_A_ROW = 20, 500
CUSTOM = custom_kind()
STORED = [*(kind for kind in KINDS if kind.is_stored), CUSTOM]
READERS: Mapping[str, Callable[[bytes], Any]] = {
    "application/json": json.loads,
    "application/yaml": yaml.safe_load,
    MEDIA_TYPE: decode_object,
}
# The characters of a header: a line's end is not among them, as it would begin another header.
HEADER = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")


@pytest.fixture
def server(sim: Simulation) -> Iterator[APIServer]:
    """A server with an object `a` of each kind and a short history."""
    serving = APIServer(sim.host("apiserver"), history=History(changes=100))
    yield serving
    serving.close()


def add(server: APIServer, kind: Kind) -> HTTPResponse:
    body = json.dumps(sample_of(kind)).encode()
    answer = server.handle(HTTPRequest("POST", collection_of(kind), (), {}, body))
    assert isinstance(answer, HTTPResponse)
    return answer


def is_there(server: APIServer, kind: Kind) -> bool:
    answer = server.handle(HTTPRequest("GET", f"{collection_of(kind)}/{name_of(kind)}"))
    assert isinstance(answer, HTTPResponse)
    return answer.status == 200


def send(server: APIServer, seed: int, count: int) -> None:
    """Send the first `count` requests of a seed and check each response; create deleted objects again now and then."""
    for number, case in enumerate(itertools.islice(Malformed(seed), count)):
        if number % 25 == 0:
            for kind in STORED:
                if not is_there(server, kind):
                    add(server, kind)
        version = server.storage.version
        answer = server.handle(case.request, lambda: None)
        check(case, answer)
        refused = isinstance(answer, HTTPResponse) and answer.status >= 400
        assert not refused or server.storage.version == version, case


def check(case: Case, answer: HTTPResponse | Watch) -> None:
    """Check that the response has one of the expected codes and can be read by clients."""
    if not isinstance(answer, HTTPResponse):
        lines, _ = answer.take()
        answer.close()
        if answer.headers["content-type"] == "application/json":
            assert all(json.loads(line)["type"] for line in lines)
        else:
            assert all(decode_object(body)["kind"] for _, body in frames(b"".join(lines)))
        return
    # An earlier request may have deleted the definition of the custom kind.
    is_gone = answer.status == 404 and case.request.path.startswith(f"/apis/{CUSTOM.group}")
    assert is_gone or answer.status in case.codes or is_recorded_fault(answer), (case, answer)
    assert all(name == name.lower() and HEADER.fullmatch(value) for name, value in answer.headers.items()), case
    read = READERS.get(answer.headers.get("content-type", ""))
    if read is not None and (answer.status >= 400 or read is json.loads) and answer.status != 304:
        told = read(answer.body)
        refused = answer.status >= 400
        assert not refused or (told["kind"], told["status"], told["code"]) == ("Status", "Failure", answer.status), case
    elif answer.status >= 400:
        # A real server, too, sends an empty body for an OpenAPI document in a form that it does not have.
        is_unacceptable = (answer.status, answer.body) == (406, b"") and case.request.path.startswith("/openapi/")
        assert is_unacceptable or (answer.status, answer.body) == (404, b"404 page not found\n"), case


def is_recorded_fault(answer: HTTPResponse) -> bool:
    """Return whether a real server answers 500 as well.

    It does so for an apply of a configuration that does not fit its schema, for a patch with a directive that it does
    not know, for a get or a watch at a resourceVersion that is no number, for a binding without a target, and for
    connections to nodes and pods that are nowhere.
    """
    nowhere = b"no preferred addresses found; ", b"target.name: Required value"
    applied = b"failed to create typed patch object", b"failed to convert new object"
    messages = (*applied, *nowhere, b"unknown patch type: ", b"resourceVersion: Invalid value: ")
    return answer.status == 500 and any(b'"message":"' + message in answer.body for message in messages)


CREATED = [kind for kind in KINDS if "create" in kind.verbs and kind.plural != "bindings"]  # which need a pod to bind


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=f"{kind.plural}.{kind.group}.{kind.version}") for kind in CREATED]
)
def test_what_is_spoiled_was_valid(kind: Kind, server: APIServer) -> None:
    assert add(server, kind).status == 201


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(ROWS))
def test_a_malformed_request_is_refused_and_changes_nothing(
    seed: int, server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    send(server, seed, REQUESTS_OF_A_ROW)

    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_malformed_requests_leave_nothing_behind(server: APIServer) -> None:
    send(server, 0, 1000)
    before = blocks(server)

    for _ in range(4):
        send(server, 0, 1000)

    assert blocks(server) < before * 1.05
    assert [one for one in gc.get_objects() if isinstance(one, ObjectWatch)] == []


def blocks(server: APIServer) -> int:
    """Return the number of memory blocks in use once there is again one object `a` of each kind."""
    for kind in STORED:
        for _ in range(2):  # the first deletion may only mark an object as terminating
            server.handle(HTTPRequest("DELETE", collection_of(kind), (("gracePeriodSeconds", "0"),)))
        add(server, kind)
    gc.collect()
    return sys.getallocatedblocks()
