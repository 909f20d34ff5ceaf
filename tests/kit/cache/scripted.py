# SPDX-License-Identifier: Apache-2.0
"""A server's end of a transport, which follows a script: each request meets the next act."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from kit.nodes import packed, status


class Answer(NamedTuple):
    """A whole answer, to a list or to a watch that is refused."""

    code: int
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})


class Refused(NamedTuple):
    """The server does not listen."""


class Pause(NamedTuple):
    """The stream is silent for so many seconds."""

    seconds: float


class Cut(NamedTuple):
    """The stream breaks here."""


class End(NamedTuple):
    """The server ends the stream here."""


class Watched(NamedTuple):
    """A stream: lines, pauses, and how it ends. Without an end it stays silent until it is given up."""

    steps: tuple[bytes | Pause | Cut | End, ...]


Act = Answer | Refused | Watched


def page(version: int, *items: dict[str, Any], more: str = "") -> Answer:
    """Return a page of nodes."""
    metadata = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    return Answer(200, packed({"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": [*items]}))


def failure(code: int, reason: str, message: str = "", retry_after: int = 0, **details: Any) -> Answer:
    """Return a refusal."""
    headers = {"retry-after": str(retry_after)} if retry_after else {}
    return Answer(code, packed(status(code, reason, message, **details)), headers)


def watched(*steps: bytes | Pause | Cut | End) -> Watched:
    """Return a stream."""
    return Watched(steps)


class ScriptedStream:
    """The stream of a `Watched`."""

    def __init__(self, host: Host, steps: Iterable[bytes | Pause | Cut | End]) -> None:
        self.response = HTTPResponse(200)
        self.closed = 0
        self._host = host
        self._steps = list(steps)
        self._condition = host.condition("scripted stream")

    def read(self, deadline: float) -> list[bytes] | None:
        self._host.leaving("read")
        with self._condition:
            while not self.closed:
                match self._steps[:1]:
                    case []:
                        self._silent_until(deadline)
                    case [Pause(seconds)]:
                        self._steps[0] = self._host.monotonic() + seconds  # type: ignore[call-overload]
                    case [float() as resumes] if self._host.monotonic() < resumes:
                        self._silent_until(deadline, resumes)
                    case [bytes() as line]:
                        self._steps.pop(0)
                        return [line]
                    case [Cut()]:
                        raise ConnectionLost("the stream was cut")
                    case [End()]:
                        return None
                    case _:
                        self._steps.pop(0)
        return None

    def _silent_until(self, deadline: float, resumes: float | None = None) -> None:
        if self._host.monotonic() >= deadline:
            raise StreamIdle("the stream was silent")
        self._condition.wait_until(deadline if resumes is None else min(deadline, resumes))

    def close(self) -> None:
        with self._condition:
            self.closed += 1
            self._condition.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.close()


class ScriptedServer:
    """A transport that keeps each request with its time. After its script, lists are refused and streams are silent."""

    def __init__(self, host: Host, *script: Act) -> None:
        self.asked: list[dict[str, str]] = []
        self.times: list[float] = []
        self.streams: list[ScriptedStream] = []
        self._host = host
        self._script = list(script)

    def then(self, *script: Act) -> None:
        """Append acts to the script."""
        self._script += script

    @property
    def questions(self) -> list[str]:
        """Return the requests in short: `list 10`, `list -` (most recent), `list >token`, `stream 0`, `watch 10`."""
        return [_short(query) for query in self.asked]

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        act = self._next(request, Refused())
        assert isinstance(act, Answer), f"a list where the script has {act}"
        return HTTPResponse(act.code, act.headers, act.body)

    def stream(self, request: HTTPRequest, deadline: float) -> ScriptedStream:
        act = self._next(request, watched())
        match act:
            case Answer():
                stream = ScriptedStream(self._host, ())
                stream.response = HTTPResponse(act.code, act.headers, act.body)
            case Watched():
                stream = ScriptedStream(self._host, act.steps)
        self.streams.append(stream)
        return stream

    def close(self) -> None:
        pass

    def _next(self, request: HTTPRequest, over: Act) -> Answer | Watched:
        self._host.leaving("request")
        self.asked.append(dict(request.query))
        self.times.append(self._host.monotonic())
        act = self._script.pop(0) if self._script else over
        if isinstance(act, Refused):
            raise ConnectionLost("connection refused")
        return act


def _short(query: dict[str, str]) -> str:
    if "continue" in query:
        return f"list >{query['continue']}"
    kind = "stream" if "sendInitialEvents" in query else "watch" if "watch" in query else "list"
    return f"{kind} {query.get('resourceVersion', '-')}"
