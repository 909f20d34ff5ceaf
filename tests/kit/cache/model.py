# SPDX-License-Identifier: Apache-2.0
"""A small server that keeps every state it has been in, and fails on command."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from kit.nodes import bookmark_line, error_line, line, node, packed, status

BOOKMARK_EVERY = 60.0

REASONS = {410: "Expired", 429: "TooManyRequests", 422: "Invalid"}

State = dict[str, int]
"""Names and versions."""


class ModelServer:
    """A collection of nodes behind a transport.

    Attributes:
        states: Each state by its version; states[-1] is the present.
        compacted: Versions below are forgotten.
        refuses: Status codes with which the next requests are refused, one each; 0 is no answer at all.
        breaks: How the next streams that begin well end: after so many lines, with an error of that code, or cut for 0.
        unreadable: Names and versions of objects that cannot be read.
        deaf: Streams that are opened while this is true send nothing.
    """

    def __init__(self, host: Host) -> None:
        self.states: dict[int, State] = {1: {}}
        self.changes: dict[int, bytes] = {}
        self.version = 1
        self.compacted = 0
        self.refuses: list[int] = []
        self.breaks: list[tuple[int, int]] = []
        self.unreadable: set[tuple[str, int]] = set()
        self.deaf = False
        self.streams: list[ModelStream] = []
        self._host = host

    @property
    def present(self) -> State:
        """Return the present objects."""
        return self.states[self.version]

    def put(self, name: str) -> None:
        """Create or update an object."""
        known = name in self.present
        self._change({**self.present, name: self.version + 1}, "MODIFIED" if known else "ADDED", name)

    def spoil(self, name: str) -> None:
        """Create an object that cannot be read, or make an object unreadable."""
        self.unreadable.add((name, self.version + 1))
        self.put(name)

    def mend(self) -> bool:
        """Update an unreadable object, so that it can be read; return whether there was any."""
        spoiled = [item[0] for item in self.present.items() if item in self.unreadable]
        for name in spoiled:
            self.put(name)
        return bool(spoiled)

    def delete(self, name: str) -> None:
        """Delete an object if it exists; an unreadable one stays, because its deletion could not be reported."""
        if name in self.present and (name, self.present[name]) not in self.unreadable:
            self._change({other: v for other, v in self.present.items() if other != name}, "DELETED", name)

    def restore(self, version: int) -> None:
        """Go back to an earlier state, as if restored from a backup; all clients lose their connections."""
        self.version = version
        self.states = {v: state for v, state in self.states.items() if v <= version}
        self.changes = {v: change for v, change in self.changes.items() if v <= version}
        self.compacted = min(self.compacted, version)
        self.unreadable = {(name, v) for name, v in self.unreadable if v <= version}
        self.cut()

    def cut(self) -> None:
        """Cut every stream."""
        for stream in self.streams:
            stream.cut()
        self.streams = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        query = self._enter(request)
        if refusal := self._refusal():
            return refusal
        if token := query.get("continue"):
            at, start = (int(part) for part in token.split(":"))
        else:
            wanted = query.get("resourceVersion", "")
            if wanted and int(wanted) > self.version:
                return _failure(504, "Timeout", "Too large resource version")
            at, start = (self._oldest() if wanted == "0" else self.version), 0
        if at < self.compacted:
            return _failure(410, "Expired")
        return HTTPResponse(200, {}, self._page(at, start, int(query["limit"])))

    def stream(self, request: HTTPRequest, deadline: float) -> ModelStream:
        query = self._enter(request)
        stream = ModelStream(self._host, self, query)
        if refusal := self._refusal():
            stream.response = refusal
        elif "sendInitialEvents" in query:
            stream.begin_with_the_present(query.get("resourceVersion", ""))
        elif stream.cursor < self.compacted:
            stream.pending = [error_line(410, "Expired")]
        else:
            stream.break_as_told()
        self.streams.append(stream)
        return stream

    def close(self) -> None:
        pass

    def _enter(self, request: HTTPRequest) -> dict[str, str]:
        self._host.leaving("request")
        return dict(request.query)

    def _refusal(self) -> HTTPResponse | None:
        if not self.refuses:
            return None
        code = self.refuses.pop(0)
        if code == 0:
            raise ConnectionLost("connection refused")
        return _failure(code, REASONS.get(code, "InternalError"))

    def _oldest(self) -> int:
        return max(self.compacted, min(self.states))

    def _page(self, at: int, start: int, limit: int) -> bytes:
        state = sorted(self.states[at].items())
        metadata: dict[str, Any] = {"resourceVersion": str(at)}
        if start + limit < len(state):
            metadata["continue"] = f"{at}:{start + limit}"
        items = [{"metadata": self.node(*item)["metadata"]} for item in state[start : start + limit]]
        return packed({"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": items})

    def node(self, name: str, version: int) -> dict[str, Any]:
        """Return an object as it is sent."""
        sent = node(name, version)
        if (name, version) in self.unreadable:
            sent["metadata"]["uid"] = 0
        return sent

    def _change(self, state: State, kind: str, name: str) -> None:
        self.version += 1
        self.states[self.version] = state
        self.changes[self.version] = line(kind, self.node(name, self.version))
        for stream in self.streams:
            stream.wake()


class ModelStream:
    """A watch of the model: it sends the changes after its cursor, and bookmarks."""

    def __init__(self, host: Host, server: ModelServer, query: dict[str, str]) -> None:
        self.response = HTTPResponse(200)
        self.pending: list[bytes] = []
        self.cursor = int(query.get("resourceVersion") or 0)
        self._host = host
        self._server = server
        self._ends_at = host.monotonic() + float(query["timeoutSeconds"])
        self._bookmark_at = host.monotonic() + BOOKMARK_EVERY
        self._deaf = server.deaf
        self._lines_left: int | None = None
        self._breaks_with = 0
        self._condition = host.condition("model stream")
        self._closed = self._cut = False

    def begin_with_the_present(self, wanted: str) -> None:
        """Return a streamed list, of a state that may be old when any will do."""
        if wanted and int(wanted) > self._server.version:
            self.response = _failure(504, "Timeout", "Too large resource version")
            return
        self.cursor = self._server._oldest() if wanted == "0" else self._server.version
        state = self._server.states[self.cursor]
        self.pending = [line("ADDED", self._server.node(*item)) for item in sorted(state.items())]
        self.pending.append(bookmark_line(self.cursor, ends_initial="true"))
        self.break_as_told()

    def break_as_told(self) -> None:
        """Use the next of `breaks`, if there is one."""
        if self._server.breaks:
            self._lines_left, self._breaks_with = self._server.breaks.pop(0)

    def read(self, deadline: float) -> list[bytes] | None:
        self._host.leaving("read")
        with self._condition:
            while not self._closed:
                now = self._host.monotonic()
                if self._cut:
                    raise ConnectionLost("the stream was cut")
                if self._lines_left == 0:
                    return self._broken()
                if not self._deaf and (lines := self._lines(now)):
                    return self._as_far_as_it_goes(lines)
                if now >= deadline:
                    raise StreamIdle("the stream was silent")
                if now >= self._ends_at and not self._deaf:
                    return None
                self._condition.wait_until(min(deadline, self._ends_at, max(self._bookmark_at, now + 1.0)))
        return None

    def _lines(self, now: float) -> list[bytes]:
        server = self._server
        out, self.pending = self.pending, []
        if not out and self.cursor < server.version:
            out = [change for version, change in server.changes.items() if version > self.cursor]
            self.cursor = server.version
        if not out and now >= self._bookmark_at and self.cursor <= server.version:
            self._bookmark_at = now + BOOKMARK_EVERY
            out = [bookmark_line(self.cursor)]
        return out

    def _as_far_as_it_goes(self, lines: list[bytes]) -> list[bytes]:
        if self._lines_left is None:
            return lines
        lines = lines[: self._lines_left]
        self._lines_left -= len(lines)
        return lines

    def _broken(self) -> list[bytes]:
        if not self._breaks_with:
            raise ConnectionLost("the stream was cut midway")
        self._lines_left = None
        return [error_line(self._breaks_with, REASONS.get(self._breaks_with, "InternalError"))]

    def wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def cut(self) -> None:
        self._cut = True
        self.wake()

    def close(self) -> None:
        self._closed = True
        self.wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.close()


def _failure(code: int, reason: str, message: str = "") -> HTTPResponse:
    return HTTPResponse(code, {}, packed(status(code, reason, message)))
