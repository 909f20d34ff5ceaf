# SPDX-License-Identifier: Apache-2.0
"""The handler behind an address that stays the same: it passes each request to the server of the running test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.answers import refusal
from embedded_apiserver.list_options import is_watch
from embedded_apiserver.options import query_of
from embedded_apiserver.status import StatusError
from embedded_apiserver.testing.round import Round

_ENDED = 1000
"""The most rounds that have ended and are remembered by their versions."""


class _Past(NamedTuple):
    """The versions of a round that has ended, and its test."""

    first: int
    last: int
    test: str


class Front:
    """The `Handler` and `Screen` at one address. It passes requests to the current round: the server of a running test.

    If rounds overlap, the current one is the last that was begun and has not ended.

    Attributes:
        leftovers: Messages about watches that clients of ended tests have opened.

    Threads: any; `begin` and `end` from one thread at a time.
    """

    def __init__(self) -> None:
        # Replaced as a whole, so that any thread may read it.
        self._rounds: tuple[Round, ...] = ()
        self._past: deque[_Past] = deque(maxlen=_ENDED)
        self.leftovers: list[str] = []

    @property
    def present(self) -> Round | None:
        """The server of the running test, with its storage and settings; None outside of tests."""
        rounds = self._rounds
        return rounds[-1] if rounds else None

    def begin(self, begun: Round) -> None:
        """Pass requests to the server `begun` of a test until its end, except while there is one that began later."""
        self._rounds = (*self._rounds, begun)

    def replace(self, old: Round, new: Round) -> None:
        """Pass requests to the server `new` in place of `old`."""
        self._note_end(old)
        self._rounds = tuple(new if each is old else each for each in self._rounds)

    def end(self, ended: Round) -> None:
        """Stop passing requests to the server of the round `ended`.

        They go to the server of the round that was begun last among those that have not ended, if there is one.
        """
        self._rounds = tuple(each for each in self._rounds if each is not ended)
        self._note_end(ended)

    def take_leftovers(self) -> list[str]:
        """Return the messages about leftover watches since the last call."""
        found, self.leftovers = self.leftovers, []
        return found

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Pass a request to the server of the running test; answer with 503 if no test is running."""
        present = self.present
        if present is None:
            return refusal(self._nobody(), request.headers.get("accept", ""))
        if (past := self._from_before(request, present)) is not None:
            self.leftovers.append(
                f"a watch of {request.path} was opened by what {past.test} has left running: "
                "its resourceVersion is of that test's server; end the watch and its thread with that test"
            )
        return present.handle(request, on_ready)

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the server of the running test accepts the credentials in these headers; False outside of
        tests.
        """
        return (present := self.present) is not None and present.knows(headers)

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether a request may take long, by the server of the running test; see `Screen.is_heavy`. False
        outside of tests.
        """
        return (present := self.present) is not None and present.is_heavy(request)

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether a request may wait for others, by the server of the running test; see `Screen.calls_out`.
        False outside of tests.
        """
        return (present := self.present) is not None and present.calls_out(request)

    def _note_end(self, ended: Round) -> None:
        self._past.append(_Past(ended.first, ended.server.storage.version, ended.test))

    def _from_before(self, request: HTTPRequest, present: Round) -> _Past | None:
        """Return the round whose version a watch begins with, if that has ended."""
        if request.method != "GET" or not self._past:
            return None
        query = query_of(request.query)
        version = query.get("resourceVersion", "")
        if not version.isdecimal() or not is_watch(query) or int(version) >= present.first:
            return None
        return next((each for each in self._past if each.first <= int(version) <= each.last), None)

    def _nobody(self) -> StatusError:
        last = f"; the last test that had it was {self._past[-1].test}" if self._past else ""
        text = f"no test has this server now: use the fixture kubernetes_server in the test that asks{last}"
        return StatusError(503, "ServiceUnavailable", text)
