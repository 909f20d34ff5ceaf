# SPDX-License-Identifier: Apache-2.0
"""Logs of containers: whole, by their parameters, of the previous run, and followed."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import PODS
from kit.apiserver.talking import Talking

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest
from controller_runtime.client.transport import Stream
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.programs import logs
from embedded_apiserver.programs.logs import Line, LogQuery


def log(talking: Talking, **query: object) -> bytes:
    return talking.asking.response("GET", f"{PODS}/p/log", **query).body


def follow(talking: Talking, **query: object) -> Stream:
    pairs = tuple((name, str(value)) for name, value in {"follow": "true", **query}.items())
    request = HTTPRequest("GET", f"{PODS}/p/log", pairs)
    stream = talking.transport.stream(request, talking.host.monotonic() + 30)
    stream.is_text = True
    return stream


def read(talking: Talking, stream: Stream, lines: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < lines:
        more = stream.read(talking.host.monotonic() + 60)
        if more is None:
            break
        found += more
    return found


@pytest.fixture
def written(sim: Simulation, talking: Talking) -> Talking:
    """Return a client of a server with a log of four lines, one of them empty, each ten seconds after the last."""
    for text in ("one\n", "", "three", "four"):
        talking.server.programs.log("p", text)
        sim.advance(10)
    return talking


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, b"one\n\nthree\nfour\n"),
        ({"tailLines": 2}, b"three\nfour\n"),
        ({"tailLines": 0}, b""),
        ({"sinceSeconds": 25}, b"three\nfour\n"),
        ({"sinceSeconds": 15, "tailLines": 3}, b"four\n"),
        ({"limitBytes": 6}, b"one\n\nt"),
    ],
)
def test_a_log_has_the_lines_that_are_asked_for(written: Talking, query: dict[str, int], text: bytes) -> None:
    assert log(written, **query) == text


def test_lines_have_their_times_and_can_be_asked_for_since_one(written: Talking) -> None:
    shown = log(written, timestamps="true").splitlines()
    times = [line.partition(b" ")[0].decode() for line in shown]

    assert shown[2].endswith(b"Z three")
    assert log(written, sinceTime=times[2][:23] + "Z") == b"three\nfour\n"


def test_a_program_writes_to_the_log_of_its_container(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: process.log("queried")
    talking.result("query")

    assert log(talking) == b"queried\n"


def test_a_container_with_a_program_has_an_empty_log_at_first(talking: Talking) -> None:
    talking.server.programs["c"] = lambda process: 0

    assert log(talking) == b""


def test_the_log_before_a_restart_is_the_previous_one(written: Talking) -> None:
    code, told = written.asking("GET", f"{PODS}/p/log", previous="true")
    assert (code, told["message"]) == (400, 'previous terminated container "c" in pod "p" not found')
    status = {"name": "c", "restartCount": 1, "image": "i", "imageID": "", "ready": True, "state": {"running": {}}}
    written.asking.patch(f"{PODS}/p/status", {"status": {"containerStatuses": [status]}})
    written.server.programs.log("p", "again")

    assert log(written) == b"again\n"
    assert log(written, previous="true", tailLines=1) == b"four\n"


def test_a_log_is_followed_until_its_pod_is_gone(written: Talking) -> None:
    stream = follow(written, tailLines=1)
    assert read(written, stream, 1) == [b"four"]

    written.server.programs.log("p", "five\n\nseven")
    assert read(written, stream, 3) == [b"five", b"", b"seven"]
    written.asking("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})

    assert stream.read(written.host.monotonic() + 60) is None
    assert not written.server.programs.logs.pods


def test_a_followed_log_ends_with_the_bytes_that_were_asked_for(written: Talking) -> None:
    stream = follow(written, tailLines=1, limitBytes=7)
    written.server.programs.log("p", "five")

    assert read(written, stream, 9) == [b"four", b"fi"]


def test_the_log_of_a_pod_that_has_ended_is_read_and_not_followed(written: Talking) -> None:
    written.asking.patch(f"{PODS}/p/status", {"status": {"phase": "Succeeded"}})

    assert read(written, follow(written), 9)[-2:] == [b"three", b"four"]


def test_a_long_log_loses_its_oldest_lines(talking: Talking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LIMIT", 10)
    talking.server.programs.log("p", "begun")
    stream = follow(talking)
    for number in range(5):
        talking.server.programs.log("p", f"line{number}")

    assert log(talking) == b"line3\nline4\n"
    assert read(talking, stream, 3) == [b"begun", b"line3", b"line4"]


@pytest.mark.parametrize(
    ("pod", "container", "message"), [("q", "", "there is no pod default/q"), ("p", "d", "has no container 'd'")]
)
def test_a_log_of_nothing_is_refused(talking: Talking, pod: str, container: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        talking.server.programs.log(pod, "x", container=container)


def test_a_tail_that_is_longer_than_the_log_is_the_log(written: Talking) -> None:
    now = written.host.now()

    assert LogQuery(tail=9).select([Line(now, b"a")]) == [b"a\n"]
