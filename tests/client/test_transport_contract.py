# SPDX-License-Identifier: Apache-2.0
"""Every transport keeps the same contract: over TLS, in process, and through a wrapper without faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from kit.client.echo import JSON, EchoHandler, ScriptedWatch

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.testing.faults import FaultyTransport, no_faults
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import make_certificates

WATCH = HTTPRequest("GET", "/watch")


@attrs.frozen
class Peer:
    """A transport, and the server at its other end."""

    host: SystemHost
    handler: EchoHandler
    transport: Transport

    def soon(self, seconds: float = 60.0) -> float:
        return self.host.monotonic() + seconds

    def request(self, request: HTTPRequest) -> dict[str, object]:
        answer = json.loads(self.transport.request(request, self.soon()).body)
        assert isinstance(answer, dict)
        return answer

    def watch(self, path: str = "/watch") -> tuple[Stream, ScriptedWatch]:
        stream = self.transport.stream(HTTPRequest("GET", path), self.soon())
        return stream, self.handler.watches[-1]


@pytest.fixture(params=["http", "in process", "faulty"])
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    host = SystemHost()
    handler = EchoHandler(host)
    match request.param:
        case "http":
            certificates = make_certificates(host.now())
            with LoopbackServer(host, handler, certificates=certificates) as server:
                write_kubeconfig(tmp_path / "kubeconfig", kubeconfig(server.url, certificates.authority, "s3cret"))
                transport = HTTPTransport(host, from_kubeconfig(tmp_path / "kubeconfig"))
                yield Peer(host, handler, transport)
                transport.close()
        case "in process":
            yield Peer(host, handler, InProcessTransport(host, handler))
        case _:
            yield Peer(host, handler, FaultyTransport(host, InProcessTransport(host, handler), no_faults))


def test_a_request_arrives_as_it_was_made(peer: Peer) -> None:
    query = (("labelSelector", "a in (b,c)&d=é+"), ("empty", ""), ("twice", "1"), ("twice", "2"))
    request = HTTPRequest("PATCH", "/api/v1/nodes/ü%41 b", query, {"x-mine": "yes", **JSON}, '{"ö":1}'.encode())

    told = peer.request(request)

    assert (told["method"], told["path"], told["body"]) == ("PATCH", "/api/v1/nodes/ü%41 b", '{"ö":1}')
    assert told["query"] == [list(pair) for pair in query]
    assert isinstance(told["headers"], dict)
    assert told["headers"]["x-mine"] == "yes"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_arrives_with_and_without_a_body(peer: Peer, method: str) -> None:
    empty = peer.request(HTTPRequest(method, "/echo"))
    full = peer.request(HTTPRequest(method, "/echo", (), JSON, b"{}"))

    assert (empty["method"], empty["body"]) == (method, "")
    assert (full["method"], full["body"]) == (method, "{}")


@pytest.mark.parametrize("status", [200, 201, 301, 404, 409, 429, 500, 503])
def test_any_status_is_an_answer(peer: Peer, status: int) -> None:
    answer = peer.transport.request(HTTPRequest("GET", f"/status/{status}"), peer.soon())

    assert (answer.status, answer.body) == (status, b'{"kind":"Status"}')
    assert (answer.headers["content-type"], answer.headers["retry-after"]) == ("application/json", "7")


def test_large_bodies_pass_both_ways(peer: Peer) -> None:
    body = b"x" * 2_000_000

    told = peer.request(HTTPRequest("POST", "/echo", (), JSON, body))

    assert told["body"] == body.decode()


def test_exchanges_follow_one_another(peer: Peer) -> None:
    told = [peer.request(HTTPRequest("GET", f"/echo/{number}"))["path"] for number in range(20)]

    assert told == [f"/echo/{number}" for number in range(20)]


def test_nothing_begins_after_its_deadline(peer: Peer) -> None:
    with pytest.raises(ConnectionLost, match="GET /echo"):
        peer.transport.request(HTTPRequest("GET", "/echo"), peer.soon(-1.0))
    with pytest.raises(ConnectionLost, match="GET /watch"):
        peer.transport.stream(WATCH, peer.soon(-1.0))

    assert not peer.handler.watches


def test_lines_are_read_as_they_are_said(peer: Peer) -> None:
    stream, watch = peer.watch()

    with stream:
        watch.say(b'{"type":"ADDED"}', b'{"type":"MODIFIED"}')
        first = read_lines(peer, stream, 2)
        watch.say(b'{"type":"DELETED"}')
        second = read_lines(peer, stream, 1)

    assert (stream.response.status, stream.response.headers["x-watch"]) == (200, "scripted")
    assert (first, second) == ([b'{"type":"ADDED"}', b'{"type":"MODIFIED"}'], [b'{"type":"DELETED"}'])


def test_many_lines_and_long_ones_arrive_whole_and_in_order(peer: Peer) -> None:
    lines = [b"%d" % number for number in range(1000)] + [b"y" * 1_500_000] + [b"%d" % number for number in range(100)]
    stream, watch = peer.watch()

    with stream:
        watch.say(*lines)
        read = read_lines(peer, stream, len(lines))

    assert read == lines


def test_a_stream_that_the_server_ends_is_over(peer: Peer) -> None:
    stream, watch = peer.watch()

    watch.say(b"last", over=True)

    assert read_lines(peer, stream, 1) == [b"last"]
    assert [stream.read(peer.soon()), stream.read(peer.soon())] == [None, None]
    assert watch.wait_closed(peer.soon())


def test_a_silent_stream_is_idle_at_the_deadline_and_closed(peer: Peer) -> None:
    stream, watch = peer.watch()

    with pytest.raises(StreamIdle, match="GET /watch"):
        stream.read(peer.soon(0.05))

    assert stream.read(peer.soon()) is None
    assert watch.wait_closed(peer.soon())


def test_a_due_look_finds_what_was_not_announced(peer: Peer) -> None:
    stream, watch = peer.watch("/wakeful")

    with stream:
        watch.say(b"bookmark", aloud=False)
        read = stream.read(peer.soon())

    assert read == [b"bookmark"]


def test_closing_from_another_thread_ends_a_blocked_read(peer: Peer) -> None:
    stream, watch = peer.watch()
    watch.say(b"first")
    assert read_lines(peer, stream, 1) == [b"first"]

    closer = peer.host.spawn("closer", stream.close)
    read = stream.read(peer.soon(30.0))

    assert read is None
    assert closer.join_until(peer.soon())
    assert watch.wait_closed(peer.soon())


def test_closing_is_idempotent_and_ends_reading(peer: Peer) -> None:
    stream, watch = peer.watch()
    watch.say(b"unread")

    stream.close()
    stream.close()

    assert stream.read(peer.soon()) is None


def test_a_refused_stream_has_its_answer(peer: Peer) -> None:
    stream = peer.transport.stream(HTTPRequest("GET", "/status/410"), peer.soon())

    with stream:
        read = stream.read(peer.soon())

    assert (stream.response.status, stream.response.body, read) == (410, b'{"kind":"Status"}', None)


def test_requests_and_streams_do_not_wait_for_each_other(peer: Peer) -> None:
    one, first = peer.watch()
    two, second = peer.watch()

    with one, two:
        second.say(b"second")
        assert read_lines(peer, two, 1) == [b"second"]
        assert peer.request(HTTPRequest("GET", "/echo"))["path"] == "/echo"
        first.say(b"first")
        assert read_lines(peer, one, 1) == [b"first"]


def test_threads_share_a_transport(peer: Peer) -> None:
    told: list[object] = []

    def ask(number: int) -> Callable[[], None]:
        return lambda: told.append(peer.request(HTTPRequest("GET", f"/echo/{number}"))["path"])

    threads = [peer.host.spawn(f"asker-{number}", ask(number)) for number in range(8)]

    assert all(thread.join_until(peer.soon()) for thread in threads)
    assert sorted(map(str, told)) == [f"/echo/{number}" for number in range(8)]


def read_lines(peer: Peer, stream: Stream, count: int) -> list[bytes]:
    """Reads until there are `count` lines or the stream is over; a read may bring any number of them."""
    lines: list[bytes] = []
    while len(lines) < count and (more := stream.read(peer.soon())) is not None:
        lines += more
    return lines
