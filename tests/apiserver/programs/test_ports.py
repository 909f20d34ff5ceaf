# SPDX-License-Identifier: Apache-2.0
"""Forwarded ports, over the channels of v4 and through the tunnel of kubectl."""

from __future__ import annotations

import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.apiserver.asking import PODS
from kit.apiserver.talking import V4, Talking

from controller_runtime.client.transport import Stream
from embedded_apiserver.programs import Process, Program, spdy
from embedded_apiserver.programs.tunnel import PROTOCOL as TUNNEL


def echo(process: Process) -> None:
    while data := process.stdin.readline():
        process.stdout.write(f"{process.port} {data.decode()}")


@pytest.fixture(autouse=True)
def served(talking: Talking) -> None:
    failing = Program(lambda process: 0, ports={80: echo, 81: echo, 99: lambda process: 4})
    talking.server.programs["c"] = failing


@pytest.mark.parametrize("protocol", [V4, ""])
def test_each_port_has_two_channels_that_begin_with_its_number(talking: Talking, protocol: str) -> None:
    stream = talking.open("portforward", ("ports", "80"), ("ports", "81"), protocol=protocol, streams=())

    talking.send(stream, b"\0a\n", b"\2b\n")

    said = talking.hear(stream, until=b"81 b")
    assert said.channels == {0: b"\x50\0" + b"80 a\n", 1: b"\x50\0", 2: b"\x51\0" + b"81 b\n", 3: b"\x51\0"}


@pytest.mark.parametrize(
    ("port", "error"),
    [
        (99, "exit status 4"),
        (5, "failed to connect to localhost:5: connection refused"),
    ],
)
def test_a_connection_that_fails_tells_its_error(talking: Talking, port: int, error: str) -> None:
    said = talking.hear(talking.open("portforward", ("ports", str(port)), protocol=V4, streams=()))

    assert said.channels[1][2:].decode().startswith(f"error forwarding port {port} to pod p, uid ")
    assert said.channels[1].decode().endswith(error)


@pytest.mark.parametrize("ports", ["0", "65536", "x", ""])
def test_a_wrong_port_is_refused(talking: Talking, ports: str) -> None:
    assert talking.open("portforward", ("ports", ports), protocol=V4, streams=()).response.status == 400


def test_a_pod_that_does_not_run_has_no_ports(talking: Talking) -> None:
    talking.asking.patch(f"{PODS}/p/status", {"status": {"phase": "Pending"}})

    answer = talking.open("portforward", ("ports", "80"), protocol=V4, streams=()).response

    assert json.loads(answer.body)["message"] == (
        "unable to forward port because pod is not running. Current status=Pending"
    )


class Kubectl:
    """The client's end of a tunnel."""

    def __init__(self, talking: Talking) -> None:
        self.talking = talking
        self.stream: Stream = talking.open("portforward", protocol=TUNNEL, streams=())
        self.decoder = spdy.Decoder()
        self._headers = zlib.compressobj(9, zdict=spdy.DICTIONARY)

    def syn(self, stream: int, **headers: str) -> bytes:
        texts = [each.encode() for pair in headers.items() for each in pair]
        block = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(each)) + each for each in texts)
        block = self._headers.compress(block) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return spdy.control(spdy.SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + block)

    def connect(self, port: int, number: int = 0) -> tuple[bytes, int]:
        """Return the frames that open a connection, and the stream of its data."""
        error, data = 4 * number + 1, 4 * number + 3
        of = {"port": str(port), "requestid": str(number)}
        return self.syn(error, streamtype="error", **of) + self.syn(data, streamtype="data", **of), data

    def send(self, *messages: bytes) -> None:
        self.talking.send(self.stream, *messages)

    def hear(self, frames: int) -> list[spdy.SPDYFrame]:
        """Return the next frames, at least so many; fewer at the end of the connection."""
        found: list[spdy.SPDYFrame] = []
        while len(found) < frames:
            messages = self.stream.receive(self.talking.host.monotonic() + 60)
            if messages is None:
                return found
            assert messages, found
            for message in messages:
                found += self.decoder.feed(message)
        return found


def test_a_tunnel_carries_connections_that_end_one_by_one(talking: Talking) -> None:
    kubectl = Kubectl(talking)
    (one, first), (two, second) = kubectl.connect(80, 0), kubectl.connect(81, 1)

    kubectl.send(one + two, spdy.data(second, b"b\n"))
    heard = kubectl.hear(5)
    kubectl.send(spdy.data(first, b"a\n", fin=True))
    rest = kubectl.hear(3)

    assert [(frame.type, frame.stream) for frame in heard[:4]] == [(spdy.SYN_REPLY, each) for each in (1, 3, 5, 7)]
    assert heard[4] == spdy.SPDYFrame(spdy.DATA, second, 0, b"81 b\n")
    assert rest == [
        spdy.SPDYFrame(spdy.DATA, first, 0, b"80 a\n"),
        spdy.SPDYFrame(spdy.DATA, 1, spdy.FIN),
        spdy.SPDYFrame(spdy.DATA, first, spdy.FIN),
    ]


def test_a_tunnel_tells_that_a_port_is_refused(talking: Talking) -> None:
    kubectl = Kubectl(talking)

    kubectl.send(kubectl.connect(5)[0])

    error = kubectl.hear(4)[2]
    assert (error.stream, error.flags) == (1, spdy.FIN)
    assert error.data.endswith(b"failed to connect to localhost:5: connection refused")


def test_a_tunnel_answers_pings_and_refuses_other_streams(talking: Talking) -> None:
    kubectl = Kubectl(talking)

    kubectl.send(spdy.control(spdy.PING, struct.pack(">I", 7)), kubectl.syn(9, streamtype="shell", port="80"))

    assert [(frame.type, frame.stream) for frame in kubectl.hear(2)] == [(spdy.PING, 7), (spdy.RST_STREAM, 9)]


@pytest.mark.parametrize("junk", [b"\x80\x02\0\1\0\0\0\0", b"\0\0\0\1\0\xff\xff\xff", spdy.control(1, b"x" * 20)])
def test_a_tunnel_ends_at_bytes_that_are_no_frames(talking: Talking, junk: bytes) -> None:
    kubectl = Kubectl(talking)

    kubectl.send(junk)

    assert [frame.type for frame in kubectl.hear(2)] == [spdy.GOAWAY]


def test_a_tunnel_carries_more_than_there_is_room_for(talking: Talking) -> None:
    kubectl = Kubectl(talking)
    opened, stream = kubectl.connect(80)
    kubectl.send(opened)
    lines = [b"x" * 30_000 + b"\n"] * 40

    def feed() -> None:
        kubectl.send(*(spdy.data(stream, each) for each in lines), spdy.data(stream, b"", fin=True))

    talking.host.spawn("feed", feed)
    heard = b"".join(frame.data for frame in kubectl.hear(2 + len(lines) + 2) if frame.stream == stream)

    assert heard == b"".join(b"80 " + each for each in lines)


@given(st.data(), st.lists(st.binary(max_size=50), max_size=5))
def test_frames_are_found_however_their_bytes_are_cut(data: st.DataObject, payloads: list[bytes]) -> None:
    raw = b"".join(spdy.data(number, payload) for number, payload in enumerate(payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    decoder, found = spdy.Decoder(), []

    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        found += decoder.feed(raw[start:end])

    assert [(frame.stream, frame.data) for frame in found] == list(enumerate(payloads))


def test_the_dictionary_of_headers_is_that_of_the_protocol() -> None:
    assert (len(spdy.DICTIONARY), zlib.adler32(spdy.DICTIONARY)) == (1423, 0xE3C6A7C2)
