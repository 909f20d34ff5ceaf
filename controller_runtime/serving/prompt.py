# SPDX-License-Identifier: Apache-2.0
"""Answers that take no time, for probes and scrapes: short GET requests, one per connection, and a few streams.

They are made on the server's own thread, so a probe is answered while no further thread can start. Each path has slots
of its own, in which the oldest connection makes way: a peer that does not read its answer delays no other path.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection, Mapping

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.serving.front import Sending, ServedConnection, ServedStream
from controller_runtime.serving.host_names import names_this_machine
from controller_runtime.serving.http_text import encoded_response, stream_head
from controller_runtime.serving.reader import head_in
from controller_runtime.serving.slots import ConnectionSlots

log = get_logger(__name__)

MOST_ANSWERS = 16
"""Answers that are sent at the same time, for each path; for one more the oldest connection is dropped."""

MOST_STREAMS = 8
"""Streams at a time; one more is refused, because dropping the oldest would have two readers push each other out."""

Answer = Callable[[HTTPRequest, bool], HTTPResponse | ServedStream]
"""Answers a request without waiting.

The flag is True if the request came from this machine, and named it in its Host header; see `host_names.py`.
"""


class PromptAnswers:
    """Answers short GET requests without waiting, such as probes, by the first segment of the path.

    Args:
        answers: The functions that answer, by the first path segment.
        names: Names and addresses of this machine that requests may use, in addition to loopback names.

    Threads: the server's.
    """

    def __init__(self, answers: Mapping[str, Answer], names: Collection[str] = ()) -> None:
        self._answers = answers
        self._names = names
        self._slots = {
            name: ConnectionSlots[ServedConnection](MOST_ANSWERS) for name in ("", *answers)
        }  # `""`: unknown paths
        self._streams = ConnectionSlots[ServedConnection](MOST_STREAMS)

    def arrived(self, sock: socket.socket, buffer: bytearray) -> Sending:
        """Return the answer to the request whose request line and headers are in `buffer`."""
        request = head_in(buffer)
        if not isinstance(request, HTTPRequest):
            return self._sending("", HTTPResponse(request or 400))
        name = request.path[1:].partition("/")[0]
        answer = self._answer(name, request, _is_local(sock))
        if isinstance(answer, HTTPResponse):
            return self._sending(name, answer, with_body=request.method != "HEAD")
        if len(self._streams) < MOST_STREAMS and request.method == "GET":
            return Sending(self._streams, stream_head(), answer)
        many = b"too many streams are open: close another page\n"
        return self._sending(name, HTTPResponse(503, {"retry-after": "5"}, many))

    def _sending(self, name: str, answer: HTTPResponse, *, with_body: bool = True) -> Sending:
        slots = self._slots.get(name, self._slots[""])
        return Sending(slots, encoded_response(answer, with_body=with_body), is_refusal=answer.status >= 400)

    def _answer(self, name: str, request: HTTPRequest, is_local: bool) -> HTTPResponse | ServedStream:
        answer = self._answers.get(name)
        if answer is None:
            return HTTPResponse(404)
        if request.method not in ("GET", "HEAD"):
            return HTTPResponse(405, {"allow": "GET, HEAD"})
        try:
            return answer(request, is_local and names_this_machine(request.headers.get("host", ""), self._names))
        except Exception:  # a request ends here, the server does not
            log.exception("request failed", path=request.path)
            return HTTPResponse(500)


def _is_local(sock: socket.socket) -> bool:
    try:
        peer = ipaddress.ip_address(sock.getpeername()[0].partition("%")[0])
    except OSError:  # the peer has left
        return False
    return peer.is_loopback or bool(peer.version == 6 and peer.ipv4_mapped and peer.ipv4_mapped.is_loopback)
