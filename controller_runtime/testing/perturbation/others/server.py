# SPDX-License-Identifier: Apache-2.0
"""The API server as an operator under test sees it, on threads of the real machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import attrs

from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.client.impersonating import impersonation_headers, with_headers
from controller_runtime.testing.outside.calls import Call
from controller_runtime.testing.outside.courses import AS_USUAL, COURSES, ENDS_AFTER, ENDS_BEFORE, Course, Fault
from controller_runtime.testing.perturbation.others.account import right_of
from controller_runtime.testing.perturbation.others.credentials import REFUSED, Credentials
from controller_runtime.testing.perturbation.others.triggers import AtCall, kind_of
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, Called, Run, Sent
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import UNREAD, Answer, AtWrite, PerturbedServer, Write

WRITER: ContextVar[tuple[str, int]] = ContextVar("writer", default=(OTHER, 0))
"""The writer of the changes that the present thread commits, and the number of the writer's request or action."""


_FORBIDDEN = 403
LATE = 10.0
"""Real seconds until a late call to an outside service is carried out: longer than the usual time-outs of five
seconds.
"""


class OperatorsServer:
    """Stands between an operator and its API server, records writes, and applies faults; an
    `apimachinery.http.Handler`.

    Args:
        host: The source of the lock and the clock.
        server: The server.
        calm: The run without a fault, by which writes are identified; None in such a run.
        trigger: The write or call at which the operator is killed, or the call with a fault; None for none.
        crash: Kills the operator.
        credentials: The credentials of the operator.
        account: The service account whose permissions the operator has; None for those of an administrator.

    Attributes:
        run: The record, to which the operator's writes and calls are added.
        seen: The view of the server that the operator has: its watches and its lists.
        fired: True once `trigger` has come.
        fired_after: The number of writes and calls that the operator had sent by then, with that of `trigger`.
        starts: The number of starts of the operator.
        asked_at: The time of the last request, in monotonic seconds.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        server: APIServer,
        calm: Run | None,
        trigger: AtWrite | AtCall | None,
        crash: Callable[[], None],
        credentials: Credentials,
        account: ObjectKey | None = None,
    ) -> None:
        self.run = Run(late=LATE)
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
        """Return the server's response to `request`; see `Handler.handle`.

        It is status 401 if the request does not have the token of the current start, and `NO_ANSWER` if the operator is
        killed at this write.
        """
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
        with self._lock:
            number, due = self._count(write.method, write.target)
        if isinstance(due, AtWrite) and not due.landed:
            self._crash()
            return NO_ANSWER  # its reader is gone
        with writing(MANAGER, number):
            answer = carry_out()
        if due is None:
            return answer
        self._crash()
        return NO_ANSWER

    def called(self, call: Call, step: int) -> tuple[int, Course]:
        """Record a call of the operator to an outside service during the user's action `step`; return its number, and
        how it goes.
        """
        with self._lock:
            number, due = self._count("call", call.text)
            self.run.calls.append(Called(number, call, step))
        if isinstance(due, AtWrite):
            return number, ENDS_AFTER if due.landed else ENDS_BEFORE
        if due is None:
            return number, AS_USUAL
        course = COURSES[Fault(due.fault)]
        return number, attrs.evolve(course, late=LATE) if course.late else course

    def _count(self, method: str, target: str) -> tuple[int, AtWrite | AtCall | None]:
        """Record a write or a call, and return its number, and the trigger if that has come; the caller locks."""
        sent = Sent(len(self.run.sent) + 1, method, target)
        self.run.sent.append(sent)
        kind = kind_of(sent, self._calm or self.run)
        self._kinds[kind] += 1
        trigger = self._trigger
        if trigger is None or self.fired or (kind, self._kinds[kind]) != (trigger.what, trigger.occurrence):
            return sent.number, None
        self.fired, self.fired_after = True, sent.number
        return sent.number, trigger


@contextlib.contextmanager
def writing(writer: str, number: int) -> Iterator[None]:
    """Attribute the changes of this thread within the `with` block to a writer.

    Args:
        writer: The writer.
        number: The number of the writer's request or action.
    """
    token = WRITER.set((writer, number))
    try:
        yield
    finally:
        WRITER.reset(token)
