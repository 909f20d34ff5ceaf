# SPDX-License-Identifier: Apache-2.0
"""Heavy requests in the HTTP shell: others are answered meanwhile, and only a few are accepted at a time."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell import shell
from embedded_apiserver.shell.thread import LoopbackServer

HOST = SystemHost()
NODES = "/api/v1/nodes"


class Core:
    """A handler for which `/heavy` and paths below are heavy: answered, or failed, after a request of `/release`."""

    def __init__(self) -> None:
        self._condition = HOST.condition("core")
        self.begun: list[str] = []
        self._released = False

    def calls_out(self, request: HTTPRequest) -> bool:
        return False

    def knows(self, headers: Mapping[str, str]) -> bool:
        return True

    def is_heavy(self, request: HTTPRequest) -> bool:
        return request.path.startswith("/heavy")

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        with self._condition:
            self.begun.append(request.path)
            self._condition.notify_all()
            if request.path == "/release":
                self._released = True
            if request.path == "/heavy/fails":
                raise ValueError("on purpose")
            if request.path.startswith("/heavy") and not self._wait(lambda: self._released):
                return HTTPResponse(500, {}, b"was held up by what it holds up")
        return HTTPResponse(200, {}, request.path.encode())

    def _wait(self, condition: Callable[[], bool]) -> bool:
        deadline = HOST.monotonic() + 30.0
        while not condition() and HOST.monotonic() < deadline:
            self._condition.wait_until(deadline)
        return condition()

    def wait_begun(self, count: int) -> bool:
        """Return whether so many requests have reached the handler."""
        with self._condition:
            return self._wait(lambda: len(self.begun) >= count)


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def server(core: Core) -> Iterator[LoopbackServer]:
    with LoopbackServer(HOST, core) as running:
        yield running


def send(server: LoopbackServer, path: str, method: str = "POST") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), 60.0)
    sock.sendall(f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    return sock


def answer_of(sock: socket.socket) -> bytes:
    with sock:
        return b"".join(iter(lambda: sock.recv(65536), b""))


def test_a_light_request_is_answered_while_a_heavy_one_goes_on(server: LoopbackServer, core: Core) -> None:
    heavy = send(server, "/heavy")
    assert core.wait_begun(1)

    assert answer_of(send(server, "/release")).endswith(b"/release")
    assert answer_of(heavy).endswith(b"/heavy")


def test_two_heavy_writes_do_not_hold_up_a_heavy_read(server: LoopbackServer, core: Core) -> None:
    writes = [send(server, f"/heavy/{n}") for n in range(2)]
    assert core.wait_begun(2)

    read = send(server, "/heavy/read", "GET")
    assert core.wait_begun(3)

    answer_of(send(server, "/release"))
    assert [answer_of(sock)[-7:] for sock in (*writes, read)] == [b"heavy/0", b"heavy/1", b"vy/read"]


def test_more_heavy_requests_than_may_wait_are_told_to_come_back(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_WAITING", 1)

    with LoopbackServer(HOST, core) as server:
        taken = [send(server, "/heavy/0"), send(server, "/heavy/1")]
        assert core.wait_begun(2)
        more = [send(server, "/heavy/more") for _ in range(3)]
        wait_answered(more, 2)
        answer_of(send(server, "/release"))
        answers = [answer_of(sock) for sock in (*taken, *more)]

    assert sorted(answer[9:12] for answer in answers) == [b"200", b"200", b"200", b"429", b"429"]
    assert all(b"retry-after: 1\r\n" in answer.lower() for answer in answers if answer[9:12] == b"429")


def wait_answered(socks: list[socket.socket], count: int) -> None:
    """Wait until so many connections have something to read."""
    deadline = HOST.monotonic() + 30.0
    while len(select.select(socks, [], [], 0.05)[0]) < count and HOST.monotonic() < deadline:
        pass


def test_a_request_whose_client_has_gone_is_not_begun(core: Core) -> None:
    with LoopbackServer(HOST, core) as server:
        taken = [send(server, "/heavy/0"), send(server, "/heavy/1")]
        assert core.wait_begun(2)
        send(server, "/heavy/gone").close()
        last = send(server, "/heavy/last")
        # The event loop handles events in the order of their arrival, so the answers come in that order.
        assert answer_of(send(server, "/seen")).endswith(b"/seen")
        answer_of(send(server, "/release"))
        for sock in (*taken, last):
            assert answer_of(sock)[9:12] == b"200"

    assert "/heavy/gone" not in core.begun


def test_a_heavy_request_that_fails_harms_no_other(server: LoopbackServer, core: Core) -> None:
    assert answer_of(send(server, "/heavy/fails"))[9:12] == b"500"
    heavy = send(server, "/heavy")
    answer_of(send(server, "/release"))

    assert answer_of(heavy)[9:12] == b"200"


def test_stopping_does_not_wait_for_a_heavy_request(core: Core) -> None:
    server = LoopbackServer(HOST, core)
    server.start()
    heavy = send(server, "/heavy")
    assert core.wait_begun(1)

    server.stop()

    heavy.close()
    left = [thread for thread in threading.enumerate() if thread.name == "apiserver-writes"]
    assert [thread.daemon for thread in left] == [True]
    core.handle(HTTPRequest("POST", "/release"))
    left[0].join()


def test_writes_from_several_threads_are_neither_lost_nor_told_out_of_order() -> None:
    core = APIServer(HOST)
    with LoopbackServer(HOST, core) as server:
        assert ask(server, "POST", NODES, {"metadata": {"name": "n"}}, "application/json") == 201
        watch = socket.create_connection(("127.0.0.1", server.port), 60.0)
        watch.sendall(f"GET {NODES}?watch=1&resourceVersion={core.storage.version} HTTP/1.0\r\n\r\n".encode())
        with concurrent.futures.ThreadPoolExecutor(4) as clients:
            done = list(clients.map(lambda n: label(server, n), range(40)))
        events = []
        with watch, watch.makefile("rb") as lines:
            while next(lines).strip():
                pass
            while len(events) < 40:
                events.append(json.loads(next(lines))["object"]["metadata"])
    core.close()

    assert done == [200] * 40
    versions = [int(event["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert [len(event["labels"]) for event in events] == list(range(1, 41))


def label(server: LoopbackServer, number: int) -> int:
    """Add a label by a JSON patch, an apply or a merge patch, which are answered on different threads."""
    name = f"l{number}"
    match number % 3:
        case 0:
            patch = {"metadata": {"labels": {name: "x"}}}
            return ask(server, "PATCH", f"{NODES}/n", patch, "application/merge-patch+json")
        case 1:
            applied = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {name: "x"}}}
            return ask(server, "PATCH", f"{NODES}/n?fieldManager={name}", applied, "application/apply-patch+yaml")
    patches = [{"op": "add", "path": f"/metadata/labels/{name}", "value": "x"}]
    while (status := ask(server, "PATCH", f"{NODES}/n", patches, "application/json-patch+json")) == 422:
        pass  # refused until the object has labels
    return status


def ask(server: LoopbackServer, method: str, path: str, body: object, content_type: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60.0)
    connection.request(method, path, json.dumps(body), {"content-type": content_type})
    status = connection.getresponse().status
    connection.close()
    return status
