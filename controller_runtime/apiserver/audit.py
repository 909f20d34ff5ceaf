# SPDX-License-Identifier: Apache-2.0
"""A server's record of what it was asked: a line of JSON for each request, written as the answer is known.

The fields are those of `audit.k8s.io/v1` at the level `Metadata`, as far as there is something to say.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

import msgspec

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse, Watch
from controller_runtime.api.objects import microtime
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Clock
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class AuditedHandler:
    """A `wire.Handler` that is the one inside, and writes down what it was asked.

    Nothing is kept in memory, and bodies are not looked at. A line that cannot be written is
    logged and left out: the server goes on.

    Args:
        clock: Says when.
        inner: Answers.
        path: The file; what it has is kept.

    Raises:
        UsageError: The file cannot be opened.

    Threads: any; each line is one write.
    """

    def __init__(self, clock: Clock, inner: Handler, path: Path) -> None:
        self._clock = clock
        self._inner = inner
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise UsageError(f"audit log {path} cannot be written ({error.strerror}): choose another file") from error

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """See `wire.Handler.handle`."""
        received = microtime(self._clock.now())
        answer = self._inner.handle(request, on_ready)
        self._note(request, answer, received)
        return answer

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, request: HTTPRequest, answer: HTTPResponse | Watch, received: str) -> None:
        query = f"?{urlencode(request.query)}" if request.query else ""
        is_whole = isinstance(answer, HTTPResponse)
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "stage": "ResponseComplete" if is_whole else "ResponseStarted",
            "requestURI": quote(request.path) + query,
            "verb": _VERBS.get(request.method, request.method.lower()) if is_whole else "watch",
            "userAgent": request.headers.get("user-agent", ""),
            "responseStatus": {"code": answer.status if isinstance(answer, HTTPResponse) else 200},
            "requestReceivedTimestamp": received,
            "stageTimestamp": microtime(self._clock.now()),
        }
        try:
            self._file.write(msgspec.json.encode(event) + b"\n")
        except OSError as error:
            log.error("request not audited", path=request.path, error=error)
