# SPDX-License-Identifier: Apache-2.0
"""Forwarded ports over `v4.channel.k8s.io`: two channels for each port, one for its bytes and one for its error."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from apimachinery.host import Host
from embedded_apiserver.programs.link import Link
from embedded_apiserver.programs.process import Inlet, Life

PROTOCOLS = ("v4.channel.k8s.io", "")
"""The subprotocols, the preferred one first. The empty one is for a client that names none."""


class PortLink(Link):
    """The connections to ports of a pod, over one WebSocket.

    The protocol cannot end one connection alone, so the WebSocket ends when the last connection ends.

    Args:
        host: Creates the locks.
        protocol: One of `PROTOCOLS`.
        ports: The ports.
        on_ready: Called when there are messages for the client, or room for its messages; see `Link`.

    Attributes:
        ends: For each port, the state of its process and the input of the process.
    """

    def __init__(self, host: Host, protocol: str, ports: Sequence[int], on_ready: Callable[[], None]) -> None:
        super().__init__(host, protocol, on_ready)
        self.ends = []
        for index, port in enumerate(ports):
            life = Life(self)
            self.ends.append((life, Inlet(self, life)))
            for channel in (2 * index, 2 * index + 1):
                self.put(bytes((channel,)) + struct.pack("<H", port), is_urgent=lambda: True)
        self._left = len(ports)  # guarded by the condition

    def putter(self, index: int) -> Callable[[bytes], None]:
        """Return the function that sends data of connection number `index` to the client."""
        life, head = self.ends[index][0], bytes((2 * index,))
        return lambda data: self.put(head + data, life.is_killed)

    def ended(self, index: int, error: str) -> None:
        """End connection number `index` from the side of the pod; a non-empty `error` is sent to the client."""
        if error:
            self.put(bytes((2 * index + 1,)) + error.encode(), is_urgent=lambda: True)
        with self.condition:
            self._left -= 1
            is_last = self._left == 0
        if is_last:
            self.finish()

    def send(self, message: bytes) -> bool:
        """Process a message of the client; see `http.Upgraded.send`."""
        index, is_error = divmod(message[0], 2) if message else (0, 1)
        if is_error or index >= len(self.ends):
            return True
        return self.ends[index][1].feed(message[1:])

    def _on_close(self) -> None:
        for _, inlet in self.ends:
            inlet.end()
