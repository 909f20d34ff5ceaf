# SPDX-License-Identifier: Apache-2.0
"""A proxy before a service: each exchange goes as its course says, over HTTP and over plain connections."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from controller_runtime.testing.outside.courses import AS_USUAL, ENDS_AFTER, ENDS_BEFORE, Course
from controller_runtime.testing.perturbation.others.proxying import OutsideProxy
from embedded_apiserver import LoopbackServer

REFUSED = Course(times=0, error="refused")
LOST = Course(times=0, wait=0.01, error="timed_out")
UNHEARD = Course(wait=0.01, error="timed_out")
LATE = Course(late=0.01)


class Service:
    """Answers requests, and keeps them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse:
        self.asked.append(f"{request.method} {request.path} {request.body.decode()}".strip())
        return HTTPResponse(200, {"content-type": "text/plain"}, b"done")


class Script:
    """Lets the exchange with a text go one way, and others as usual."""

    def __init__(self, text: str, course: Course) -> None:
        self.told: list[str] = []
        self._text, self._course = text, course

    def begins(self, text: str, reads: bool) -> tuple[int, Course]:
        self.told.append(text)
        return len(self.told), self._course if text == self._text else AS_USUAL

    def answered(self, number: int) -> None:
        self.told.append(f"{number} answered")

    def ended(self, number: int) -> None:
        self.told.append(f"{number} ended")

    def end_program(self) -> None:
        self.told.append("the program ends")

    def speaks_otherwise(self) -> None:
        self.told.append("no HTTP")


@contextmanager
def served(script: Script) -> Iterator[tuple[Service, http.client.HTTPConnection]]:
    host, service = SystemHost(), Service()
    with (
        LoopbackServer(host, service) as server,
        OutsideProxy(host, server.port, True, script) as proxy,
        closing(http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)) as connection,
    ):
        yield service, connection


def put(connection: http.client.HTTPConnection, name: str) -> int:
    connection.request("PUT", f"/topics/{name}", "3")
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_requests_of_one_connection_pass_and_are_told_with_their_answers() -> None:
    script = Script("", AS_USUAL)
    with served(script) as (service, connection):
        assert [put(connection, name) for name in "ab"] == [200, 200]

    assert service.asked == ["PUT /topics/a 3", "PUT /topics/b 3"]
    told = [each for each in script.told if "ended" not in each]
    assert told[::2] == ["PUT /topics/a", "PUT /topics/b"]
    assert all(each.endswith(" answered") for each in told[1::2])


@pytest.mark.parametrize("course", [REFUSED, LOST, ENDS_BEFORE, UNHEARD, ENDS_AFTER])
def test_a_call_that_gets_no_answer_is_carried_out_or_not(course: Course) -> None:
    script = Script("PUT /topics/b", course)
    with served(script) as (service, connection):
        assert put(connection, "a") == 200
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            put(connection, "b")
        connection.close()
        assert put(connection, "c") == 200

    assert service.asked == [f"PUT /topics/{name} 3" for name in ("abc" if course.times else "ac")]
    assert ("the program ends" in script.told) == (course is ENDS_AFTER)


def test_a_late_call_is_answered_late() -> None:
    script = Script("PUT /topics/a", LATE)
    with served(script) as (service, connection):
        assert put(connection, "a") == 200

    assert service.asked == ["PUT /topics/a 3"]


def test_a_connection_that_speaks_no_http_is_told_of() -> None:
    script = Script("", AS_USUAL)
    with served(script) as (_, connection), socket.create_connection(("127.0.0.1", connection.port)) as raw:
        raw.sendall(b"\x16\x03\x01")
        with pytest.raises(ConnectionError):
            raw.recv(1)

    assert script.told == ["no HTTP"]


@contextmanager
def echoing(script: Script) -> Iterator[int]:
    """Serve one connection at a time: a greeting, and then each line again."""
    host = SystemHost()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rwb") as stream:
                    try:
                        stream.write(b"hello\n")
                        stream.flush()
                        while line := stream.readline():
                            stream.write(line)
                            stream.flush()
                    except OSError:
                        continue

        thread = host.spawn("echo", serve)
        with OutsideProxy(host, listener.getsockname()[1], False, script) as proxy:
            yield proxy.port
        listener.shutdown(socket.SHUT_RDWR)
        thread.join_until(None)


@pytest.mark.parametrize(
    ("text", "course", "heard"),
    [
        ("", AS_USUAL, [b"hello\n", b"one\n", b"two\n"]),
        ("connect", REFUSED, []),
        ("exchange 1", LOST, [b"hello\n"]),
        ("exchange 2", UNHEARD, [b"hello\n", b"one\n"]),
        ("exchange 2", LATE, [b"hello\n", b"one\n", b"two\n"]),
    ],
)
def test_a_plain_connection_goes_by_exchanges_and_the_service_may_speak_first(
    text: str, course: Course, heard: list[bytes]
) -> None:
    script, found = Script(text, course), list[bytes]()
    with (
        echoing(script) as port,
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
        connection.makefile("rwb") as stream,
    ):
        found.append(stream.readline())
        for line in (b"one\n", b"two\n"):
            stream.write(line)
            stream.flush()
            found.append(stream.readline())

    assert [each for each in found if each] == heard
