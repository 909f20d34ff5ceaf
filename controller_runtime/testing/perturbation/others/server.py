# SPDX-License-Identifier: Apache-2.0
"""The API server as a perturbed operator sees it, on threads of the real machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.client.impersonating import impersonation_headers, with_headers
from controller_runtime.testing.perturbation.others.account import right_of
from controller_runtime.testing.perturbation.others.credentials import REFUSED, Credentials
from controller_runtime.testing.perturbation.others.triggers import kind_of
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, Run, Sent
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import UNREAD, Answer, AtWrite, PerturbedServer, Write

WRITER: ContextVar[tuple[str, int]] = ContextVar("writer", default=(OTHER, 0))
"""The writer of the change that the present thread commits, and the number of its write."""


_FORBIDDEN = 403


class OperatorsServer:
    """An `api.http.Handler` between an operator and its server.

    Args:
        host: The lock.
        server: The server.
        calm: The calm run, by which writes are identified; None in a calm run.
        trigger: The write at which the operator ends; None for none.
        crash: Ends the operator.
        credentials: Of the operator.
        account: The service account whose rights it has; None for those of an administrator.

    Attributes:
        run: Gets what the operator sends.
        seen: The server as the operator sees it: its watches and its lists.
        fired: Whether the operator was ended by `trigger`.
        fired_after: How many writes it had sent by then.
        starts: How often it was started.
        asked_at: When its last request came, in monotonic seconds.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        server: APIServer,
        calm: Run | None,
        trigger: AtWrite | None,
        crash: Callable[[], None],
        credentials: Credentials,
        account: ObjectKey | None = None,
    ) -> None:
        self.run = Run()
        self.seen = PerturbedServer(server, self._write)
        self.run.watched, self.run.any_version = self.seen.watched, self.seen.any_version
        self.fired = False
        self.fired_after = self.starts = 0
        self.asked_at = host.monotonic()
        self._host, self._calm, self._trigger, self._crash = host, calm, trigger, crash
        self._credentials = credentials
        user = None if account is None else f"system:serviceaccount:{account.namespace}:{account.name}"
        self._headers = impersonation_headers(user)
        self._served = server.kinds
        # Guards the writes of `run`, and how many of each kind there were.
        self._lock = host.lock("operator's server")
        self._kinds: Counter[str] = Counter()

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> Answer:
        """Return the response to `request`; see `Handler.handle`."""
        if self._credentials.refuses(request):
            return REFUSED
        self.asked_at = self._host.monotonic()
        answer = self.seen.handle(with_headers(request, self._headers), on_ready)
        if isinstance(answer, HTTPResponse) and answer.status == _FORBIDDEN and self._headers:
            right = right_of(request, self._served)
            with self._lock:
                self.run.forbidden += [] if right in self.run.forbidden else [right]
        if isinstance(answer, HTTPResponse) or on_ready is None:
            return answer
        return self._credentials.of_start(answer, on_ready)

    def _write(self, write: Write, carry_out: Callable[[], Answer]) -> Answer:
        if write.plural in UNREAD:
            return carry_out()
        trigger = self._trigger
        with self._lock:
            sent = Sent(len(self.run.sent) + 1, write.method, write.target)
            self.run.sent.append(sent)
            kind = kind_of(sent, self._calm or self.run)
            self._kinds[kind] += 1
            is_due = (
                trigger is not None
                and not self.fired
                and (kind, self._kinds[kind])
                == (
                    trigger.what,
                    trigger.occurrence,
                )
            )
            if is_due:
                self.fired, self.fired_after = True, len(self.run.sent)
        if is_due and trigger is not None and not trigger.landed:
            self._crash()
            return NO_ANSWER  # its reader is gone
        with writing(MANAGER, sent.number):
            answer = carry_out()
        if not is_due:
            return answer
        self._crash()
        return NO_ANSWER


@contextlib.contextmanager
def writing(writer: str, number: int) -> Iterator[None]:
    """Say for the block which writer the changes of this thread are of."""
    token = WRITER.set((writer, number))
    try:
        yield
    finally:
        WRITER.reset(token)
