# SPDX-License-Identifier: Apache-2.0
"""The embedded API server's core: a request in, an answer or a watch out.

It blocks for nobody and starts no thread; whoever calls it (the HTTP shell, the
in-process transport, a simulation) brings the thread.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from pathlib import Path

from controller_runtime.api.http import BODY_LIMIT, HTTPRequest, HTTPResponse, Watch
from controller_runtime.apiserver.answers import refusal, text
from controller_runtime.apiserver.definitions import Definitions
from controller_runtime.apiserver.discovery.description import SelfDescription
from controller_runtime.apiserver.discovery.discovery import is_served
from controller_runtime.apiserver.kinds.kind import Kinds
from controller_runtime.apiserver.kinds.registry import NAMESPACE
from controller_runtime.apiserver.routes import Route, find_route
from controller_runtime.apiserver.status import (
    StatusError,
    bad_request,
    impersonation_refused,
    internal,
    no_such_resource,
    too_large,
    unauthorized,
)
from controller_runtime.apiserver.storage.history import History
from controller_runtime.apiserver.storage.journal import SQLiteJournal
from controller_runtime.apiserver.storage.storage import Ended, Journal, Storage
from controller_runtime.apiserver.verbs import Verbs
from controller_runtime.apiserver.weight import is_heavy
from controller_runtime.apiserver.writes.protobuf import readable
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_HEALTH = ("/healthz", "/livez", "/readyz")
_OPEN = (*_HEALTH, "/version")


class APIServer:
    """A Kubernetes API server in one object; an `api.wire.Handler`, and a `Screen`.

    Args:
        host: Its clock, chance and locks.
        history: How much of the past it keeps for watches and exact lists.
        data_dir: Where what it acknowledges is kept; None keeps everything in memory.
        accept_loss: Serve what can be read of a damaged data directory; otherwise damage is an error.
        token: The bearer token that may do everything; None lets everybody in. Without
            it one may still ask for health and version.
        journal: In place of `data_dir`, a keeper of one's own, such as one that simulates a disk.

    Attributes:
        storage: What it keeps, for whoever acts on objects from inside.

    Raises:
        UsageError: The data directory cannot be used, or is damaged.

    Threads: any, for every method.
    """

    def __init__(
        self,
        host: Host,
        *,
        history: History | None = None,
        data_dir: Path | None = None,
        accept_loss: bool = False,
        token: str | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._host = host
        self._credentials = None if token is None else f"Bearer {token}".encode()
        if data_dir is not None:
            journal = SQLiteJournal(data_dir, accept_loss=accept_loss)
        self.storage = Storage(host, history, journal)
        self._verbs = Verbs(host, self.storage)
        try:
            self._definitions = Definitions(host, self.storage)
        except UsageError:
            self.storage.close()
            raise
        # Replaced as a whole, so that any thread may read and replace it.
        self._last_route: tuple[Kinds, str, Route | None] = self._definitions.kinds, "", None
        self._description = SelfDescription(host)
        for name in _FIRST_NAMESPACES:
            if self.storage.get(NAMESPACE.resource, name) is None:
                self._verbs.objects.add(NAMESPACE, "", {"metadata": {"name": name}})

    @property
    def kinds(self) -> Kinds:
        """What is served now; others may be once a definition is written."""
        return self._definitions.kinds

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Answer `request`; never raises.

        Args:
            request: What was asked.
            on_ready: For a watch: called from any thread, with no lock held, when there
                may be lines to take.
        """
        try:
            return self._answer_or_refusal(request, on_ready)
        except RecursionError:  # whatever it was that went down into it
            return refusal(bad_request("the request is nested too deeply"))
        except UnicodeEncodeError:
            return refusal(bad_request("the request is no valid text: it has half of a surrogate pair"))
        except Exception as error:  # a request ends here, the server does not
            log.exception("request failed", method=request.method, path=request.path)
            return refusal(internal(f"{type(error).__name__}: {error}"))

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether these headers have the token, or there is none to have."""
        return self._credentials is None or self._has_token(headers.get("authorization", ""))

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Whether `handle` may take more than a few milliseconds."""
        return is_heavy(self.storage, request, self._route(self._definitions.kinds, request.path.rstrip("/")))

    def close(self) -> None:
        """End all watches and let go of the data directory. Idempotent."""
        self.storage.close()

    def _answer_or_refusal(self, request: HTTPRequest, on_ready: Callable[[], None] | None) -> HTTPResponse | Watch:
        try:
            return self._answer(request, on_ready)
        except StatusError as error:
            return refusal(error)
        except Ended:  # with the definition of its kind, after the request was routed
            return refusal(no_such_resource())

    def _answer(self, request: HTTPRequest, on_ready: Callable[[], None] | None) -> HTTPResponse | Watch:
        path = request.path.rstrip("/")
        self._authenticate(request.headers.get("authorization"), path)
        _refuse_impersonation(request.headers)
        if len(request.body) > BODY_LIMIT:
            raise too_large(f"limit is {BODY_LIMIT}")
        kinds = self._definitions.kinds
        if (found := self._route(kinds, path)) is not None:
            return self._verbs.answer(found, readable(request, found.kind), on_ready)
        if request.method == "GET":
            if path in _HEALTH:
                return text(200, "ok")
            if (told := self._description.answer(kinds, path, request)) is not None:
                return told
        if is_served(kinds, path):
            raise no_such_resource()
        return text(404, "404 page not found\n")

    def _route(self, kinds: Kinds, path: str) -> Route | None:
        """See `find_route`; what a path names is asked twice in a row, by `is_heavy` and by `handle`."""
        kinds_then, path_then, found = self._last_route
        if kinds_then is not kinds or path_then != path:
            found = find_route(kinds, path)
            self._last_route = kinds, path, found
        return found

    def _authenticate(self, given: str | None, path: str) -> None:
        """Refuse wrong credentials anywhere, and none where they are needed."""
        if self._credentials is None:
            return
        if given is None:
            if path not in _OPEN:
                raise unauthorized()
        elif not self._has_token(given):
            raise unauthorized()

    def _has_token(self, given: str) -> bool:
        assert self._credentials is not None, "there is a token"
        return hmac.compare_digest(given.encode(errors="surrogatepass"), self._credentials)


def _refuse_impersonation(headers: Mapping[str, str]) -> None:
    """Refuse to answer as the bearer of the token what was asked in the name of another user."""
    if any(name.startswith("impersonate-") and value for name, value in headers.items()):
        raise impersonation_refused(headers.get("impersonate-user", ""))
