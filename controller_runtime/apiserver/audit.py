# SPDX-License-Identifier: Apache-2.0
"""The audit log: a line of JSON for each request, written when the response is known.

The fields are those of an `audit.k8s.io/v1` Event at the level `Metadata`, as far as they have values here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import quote, urlencode

import msgspec

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse, Watch, storable
from controller_runtime.api.objects import microtime
from controller_runtime.apiserver.storage.private import open_private, warn_if_shared
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Clock
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

# A GET of a collection is logged as `get`, too: the log does not look at what a path names.
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class AuditedHandler:
    """A `Handler` that passes requests on to another one and logs them in a file. Bodies are not logged.

    The part of a line that comes from the request is encoded before the request is carried out. So a request with text
    that cannot be encoded fails before it changes anything, rather than go unlogged. If a line cannot be written,
    for example because the disk is full, an error is logged instead and the server continues, as a real one does.

    Args:
        clock: Provides the times of requests and responses.
        inner: Answers the requests.
        path: The file. It is created with mode 0600; lines are appended to an existing file.

    Raises:
        UsageError: The file cannot be opened.

    Threads: any; each line is one write.
    """

    def __init__(self, clock: Clock, inner: Handler, path: Path) -> None:
        self._clock = clock
        self._inner = inner
        try:
            # True if the file ends with an incomplete line, for example after a full disk. A newline is then written
            # before the next line, which would otherwise be damaged, too.
            self._is_torn = _ends_within_a_line(path)
            self._descriptor = open_private(path, os.O_APPEND | os.O_WRONLY)
        except OSError as error:
            raise UsageError(f"audit log {path} cannot be written ({error.strerror}): choose another file") from error
        warn_if_shared([path])

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """See `Handler.handle`."""
        line = _Line.begin(request, microtime(self._clock.now()))
        answer = self._inner.handle(request, on_ready)
        self._write(line.end(answer, microtime(self._clock.now())), request.path)
        return answer

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, line: bytes, path: str) -> None:
        """Append a line by one system call, so that lines of different threads do not mix."""
        whole = b"\n" + line if self._is_torn else line
        try:
            written = os.write(self._descriptor, whole)
        except OSError as error:
            log.error("request not audited", path=path, error=error)
            return
        self._is_torn = written < len(whole)
        if self._is_torn:
            log.error("request not audited", path=path, error="the disk is full")


class _Line(NamedTuple):
    """The part of a line that comes from the request, encoded.

    Attributes:
        head: The JSON object without its last fields and without the closing brace.
        verb: The verb as JSON, for a request that turns out not to be a watch.
    """

    head: bytes
    verb: bytes

    @classmethod
    def begin(cls, request: HTTPRequest, received: str) -> _Line:
        """Encode the request, received at the time `received`."""
        pairs = [(storable(name), storable(value)) for name, value in request.query]
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "requestURI": quote(storable(request.path)) + (f"?{urlencode(pairs)}" if pairs else ""),
            "userAgent": storable(request.headers.get("user-agent", "")),
            "requestReceivedTimestamp": received,
        }
        verb = _VERBS.get(request.method, request.method.lower())
        return cls(msgspec.json.encode(event)[:-1], msgspec.json.encode(storable(verb)))

    def end(self, answer: HTTPResponse | Watch, now: str) -> bytes:
        """Return the complete line, with the response known at the time `now`."""
        if isinstance(answer, HTTPResponse):
            verb, stage, code = self.verb, b"ResponseComplete", answer.status
        else:
            verb, stage, code = b'"watch"', b"ResponseStarted", 200
        rest = b',"verb":%b,"stage":"%b","responseStatus":{"code":%d},"stageTimestamp":"%b"}\n'
        return self.head + rest % (verb, stage, code, now.encode())


def _ends_within_a_line(path: Path) -> bool:
    """Return whether a file exists, has content, and does not end with a newline."""
    if not path.is_file() or not (size := path.stat().st_size):
        return False
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) != b"\n"
