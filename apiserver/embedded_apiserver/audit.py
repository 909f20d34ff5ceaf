# SPDX-License-Identifier: Apache-2.0
"""The audit log: a line of JSON for each request, written when the response is known.

The fields are those of an `audit.k8s.io/v1` Event at the level `Metadata`, as far as they have values here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self, runtime_checkable
from urllib.parse import quote, urlencode

import msgspec

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Screen, Watch, storable
from apimachinery.log import get_logger
from apimachinery.objects import microtime
from embedded_apiserver.audit_annotations import collected
from embedded_apiserver.authentication.access import Actors
from embedded_apiserver.storage.private import open_private, warn_if_shared
from embedded_apiserver.users import User

log = get_logger(__name__)

# A GET of a collection is logged as `get`, too: the log does not look at what a path names.
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@runtime_checkable
class Audited(Protocol):
    """A handler that can name the users of a request."""

    def actors(self, request: HTTPRequest) -> Actors:
        """Return the user of a request, and the user that it impersonates, if any."""


class AuditedHandler:
    """A `Handler` that passes requests to another handler and logs them in a file. Bodies are not logged.

    The part of a line that comes from the request is encoded before the request is carried out, with U+FFFD in place of
    bytes that are not UTF-8. If a line cannot be written, for example because the disk is full, an error is logged
    instead and the server continues, like a real API server.

    Args:
        host: The host, for the times of requests and responses.
        inner: The handler that answers the requests.
        path: The audit log. It is created with mode 0600; lines are appended to an existing file.

    Raises:
        UsageError: The file cannot be opened.

    Threads: any; lines are written one after the other.
    """

    def __init__(self, host: Host, inner: Handler, path: Path) -> None:
        self._clock = host
        self._inner = inner
        # Guards the two fields below: a line must not come between a torn one and the newline that ends it.
        self._lock = host.lock("audit log")
        try:
            # True if the file ends with an incomplete line, for example after a full disk. A newline is then written
            # before the next line, which would otherwise be damaged, too.
            self._is_torn = _ends_within_a_line(path)
            self._descriptor = open_private(path, os.O_APPEND | os.O_WRONLY)
        except OSError as error:
            raise UsageError(f"audit log {path} cannot be written ({error.strerror}): choose another file") from error
        warn_if_shared([path])

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Answer a request by the inner handler, and log the request; see `Handler.handle`."""
        actors = self._inner.actors(request) if isinstance(self._inner, Audited) else Actors(None)
        line = _AuditLine.begin(request, actors, microtime(self._clock.now()))
        with collected() as annotations:
            answer = self._inner.handle(request, on_ready)
        self._write(line.end(answer, microtime(self._clock.now()), annotations), request.path)
        return answer

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the inner handler accepts the credentials in these headers; True if it does not check
        credentials.
        """
        return not isinstance(self._inner, Screen) or self._inner.knows(headers)

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return the answer of the inner handler; False if it is no `Screen`; see `Screen.is_heavy`."""
        return isinstance(self._inner, Screen) and self._inner.is_heavy(request)

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return the answer of the inner handler; False if it is no `Screen`; see `Screen.calls_out`."""
        return isinstance(self._inner, Screen) and self._inner.calls_out(request)

    def close(self) -> None:
        """Close the audit log. Idempotent."""
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
        """Append a line; log an error if that fails."""
        reason: object = ""
        with self._lock:
            whole = b"\n" + line if self._is_torn else line
            try:
                self._is_torn = os.write(self._descriptor, whole) < len(whole)
                reason = "the disk is full" if self._is_torn else ""
            except OSError as error:
                reason = error
        if reason:
            log.error("request not audited", path=path, error=reason)


class _AuditLine(NamedTuple):
    """The part of a line that comes from the request, encoded.

    Attributes:
        head: The JSON object without its last fields and without the closing brace.
        verb: The verb as JSON, for a request that turns out not to be a watch.
    """

    head: bytes
    verb: bytes

    @classmethod
    def begin(cls, request: HTTPRequest, actors: Actors, received: str) -> _AuditLine:
        """Encode the request of `actors`, received at the time `received`."""
        users = {"user": {} if actors.user is None else _shown(actors.user)}
        if actors.impersonated is not None:
            users["impersonatedUser"] = _shown(actors.impersonated)
        pairs = [(storable(name), storable(value)) for name, value in request.query]
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "requestURI": quote(storable(request.path)) + (f"?{urlencode(pairs)}" if pairs else ""),
            **users,
            "userAgent": storable(request.headers.get("user-agent", "")),
            "requestReceivedTimestamp": received,
        }
        verb = _VERBS.get(request.method, request.method.lower())
        return cls(msgspec.json.encode(event)[:-1], msgspec.json.encode(storable(verb)))

    def end(self, answer: HTTPResponse | Watch, now: str, annotations: Mapping[str, str]) -> bytes:
        """Return the complete line, with the response known at the time `now`."""
        if isinstance(answer, HTTPResponse):
            verb, stage, code = self.verb, b"ResponseComplete", answer.status
        else:
            verb, stage, code = b'"watch"', b"ResponseStarted", 200
        rest = b',"verb":%b,"stage":"%b","responseStatus":{"code":%d},"stageTimestamp":"%b"' % (
            *(verb, stage, code),
            now.encode(),
        )
        notes = {key: storable(value) for key, value in sorted(annotations.items())}
        return self.head + rest + (b',"annotations":%b}\n' % msgspec.json.encode(notes) if notes else b"}\n")


def _shown(user: User) -> dict[str, object]:
    """Return a user with texts that can be encoded."""
    extra = {storable(key): [storable(value) for value in values] for key, values in user.extra.items()}
    shown = {"username": storable(user.name), "uid": storable(user.uid), "groups": [*map(storable, user.groups)]}
    return {key: value for key, value in {**shown, "extra": extra}.items() if value}


def _ends_within_a_line(path: Path) -> bool:
    """Return whether a file exists, has content, and does not end with a newline."""
    if not path.is_file() or not (size := path.stat().st_size):
        return False
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) != b"\n"
