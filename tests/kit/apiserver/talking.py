# SPDX-License-Identifier: Apache-2.0
"""A client of upgraded connections to an embedded server in the same process, by messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream
from embedded_apiserver.server import APIServer
from kit.apiserver.asking import PODS, Asking, pod

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
RUNNING = {"status": {"phase": "Running", "podIP": "10.1.1.1"}}
CLOSE_STDIN = b"\xff\x00"


@attrs.frozen
class Said:
    """All that came back on a connection, by channel."""

    channels: Mapping[int, bytes]

    @property
    def stdout(self) -> bytes:
        return self.channels.get(1, b"")

    @property
    def stderr(self) -> bytes:
        return self.channels.get(2, b"")

    @property
    def outcome(self) -> Any:
        return json.loads(self.channels[3])

    @property
    def code(self) -> int:
        """The exit status."""
        return 0 if self.outcome["status"] == "Success" else int(self.outcome["details"]["causes"][0]["message"])


class Talking:
    """A server with a pod `p` that runs, and its client."""

    def __init__(self, host: Host, **options: Any) -> None:
        self.host = host
        self.server = APIServer(host, **options)
        self.asking = Asking(self.server)
        self.transport = InProcessTransport(host, self.server)
        self.run("p")

    def run(self, name: str, **spec: Any) -> None:
        """Create a pod that runs."""
        self.asking.ok("POST", PODS, pod(name, nodeName="n", **spec))
        self.asking.patch(f"{PODS}/{name}/status", RUNNING)

    def open(
        self,
        part: str,
        *query: tuple[str, str],
        pod: str = "p",
        protocol: str = V5,
        streams: Iterable[str] = ("stdin", "stdout", "stderr"),
    ) -> Stream:
        """Open a connection."""
        headers = {"connection": "Upgrade", "upgrade": "websocket"}
        headers |= {"sec-websocket-protocol": protocol} if protocol else {}
        pairs = (*query, *((name, "true") for name in streams))
        request = HTTPRequest("GET", f"{PODS}/{pod}/{part}", pairs, headers)
        return self.transport.stream(request, self.host.monotonic() + 30)

    def exec(self, *command: str, **options: Any) -> Stream:
        """Open the connection of a command."""
        return self.open("exec", *(("command", each) for each in command), **options)

    def send(self, stream: Stream, *messages: bytes) -> None:
        for message in messages:
            stream.send(message, self.host.monotonic() + 30)

    def hear(self, stream: Stream, *, until: bytes = b"\0never") -> Said:
        """Return what came on a connection until its end, or until a message that contains a text."""
        channels: dict[int, bytes] = {}
        while True:
            messages = stream.receive(self.host.monotonic() + 600)
            if messages is None:
                return Said(channels)
            assert messages, "nothing came within ten minutes"
            for message in messages:
                channels[message[0]] = channels.get(message[0], b"") + message[1:]
            if any(until in message for message in messages):
                return Said(channels)

    def result(self, *command: str, **options: Any) -> Said:
        """Return what came of a command."""
        return self.hear(self.exec(*command, **options))
