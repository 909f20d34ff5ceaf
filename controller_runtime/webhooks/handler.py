# SPDX-License-Identifier: Apache-2.0
"""Answers the requests of API servers to webhooks: it finds the function, limits its time, and makes failures
answers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from apimachinery.admission import AdmissionRequest
from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.http import BODY_LIMIT, HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.plain_functions import synchronous
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.webhooks.admitting import admit, admitted
from controller_runtime.webhooks.converting import CONVERT_PATH, ConversionFailed, KindConversion, convert, failed
from controller_runtime.webhooks.counters import WebhookTally
from controller_runtime.webhooks.hooks import Hook
from controller_runtime.webhooks.reviews import ADMISSION, NotAReview, answer

log = get_logger(__name__)

REVIEW_LIMIT = 2 * BODY_LIMIT + 1024 * 1024
"""The most bytes of an AdmissionReview: an object and its old state, each as large as a server accepts it, and the
rest.
"""

CONVERSION_LIMIT = 128 * 1024 * 1024
"""The most bytes of a ConversionReview: a server sends all objects of a list in one. The number is ours."""

DEFAULT_TIMEOUT = 10.0
"""The timeout in seconds of a review whose request names none; the API's default for admission."""

CONVERSION_TIMEOUT = 30.0
"""The timeout in seconds of a conversion, whose requests name none; the API server's own limit."""

LONGEST_TIMEOUT = 30.0
"""The longest timeout of a review in seconds; the API's limit. It replaces a longer one."""

_TEXT = {"content-type": "text/plain; charset=utf-8"}
_JSON = {"content-type": "application/json"}
_TIMEOUT = re.compile(r"(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9})ms)?")


Page = Callable[[HTTPRequest], HTTPResponse]
plain_page = partial(synchronous, "the page of a webhook server")
"""Answers a GET."""


@attrs.frozen(eq=False)
class Handler:
    """Answers requests of API servers to webhooks, on the calling thread.

    Attributes:
        host: The source of the time for timeouts, and of UUIDs by which failures are found in the log.
        hooks: The admission webhooks by their paths.
        kinds: The kinds whose versions are converted.
        tally: Counts the answers to reviews.
        pages: Functions that answer GET requests for other pages, by their paths.

    Threads: any. The functions run on the calling thread, without a lock.
    """

    host: Host
    hooks: Mapping[str, Hook[Any]]
    kinds: tuple[KindConversion, ...]
    tally: WebhookTally
    pages: Mapping[str, Page] = attrs.field(factory=dict)
    _works: Mapping[str, tuple[Callable[[bytes], bytes], int]] = attrs.field(init=False, repr=False)

    @_works.default
    def _works_by_path(self) -> Mapping[str, tuple[Callable[[bytes], bytes], int]]:
        """Return what answers the reviews of each path, and their most bytes."""
        works: dict[str, tuple[Callable[[bytes], bytes], int]] = {
            path: (partial(admit, hook), REVIEW_LIMIT) for path, hook in self.hooks.items()
        }
        if self.kinds:
            works[CONVERT_PATH] = partial(convert, self.kinds), CONVERSION_LIMIT
        return works

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        """Return the answer to a request. It never raises: a failure becomes an answer.

        Requests that a function sends by `Manager.client` end at the timeout of the review.
        """
        if (page := self.pages.get(request.path)) is not None:
            return self._shown(page, request)
        if (found := self._works.get(request.path)) is None:
            return _refusal(404, f"no webhook is served at {request.path[:200]}")
        (work, limit), begin = found, self.host.monotonic()
        self.tally.begin(request.path)
        answered, panicked = self._answered(request, work, limit, begin)
        self.tally.end(request.path, answered.status, self.host.monotonic() - begin, panicked=panicked)
        return answered

    def _answered(
        self, request: HTTPRequest, work: Callable[[bytes], bytes], limit: int, begin: float
    ) -> tuple[HTTPResponse, bool]:
        """Return the answer to a review, and whether the function raised something unexpected."""
        if (refusal := _unusable(request, limit)) is not None:
            return refusal, False
        usual = CONVERSION_TIMEOUT if request.path == CONVERT_PATH else DEFAULT_TIMEOUT
        timeout = _timeout_in(request.query, usual)
        try:
            with deadline_scope(begin + timeout):
                body = work(request.body)
        except Exception as error:  # noqa: BLE001  the review ends here, the server does not
            return self._unanswered(request.path, error)
        self._note_lateness(request.path, begin, timeout)
        return HTTPResponse(200, _JSON, body), False

    def admitted(self, path: str, request: AdmissionRequest, timeout: float) -> HTTPResponse | None:
        """Return the answer to an admission request that a server in this process passes as a value. It never raises.

        The answer is the same as that of `handle`, but None if the write is allowed without a patch or warning.

        Args:
            path: The path of the webhook.
            request: The admission request.
            timeout: The timeout of the review in seconds.
        """
        if (hook := self.hooks.get(path)) is None:
            return _refusal(404, f"no webhook is served at {path[:200]}")
        begin, panicked, answered = self.host.monotonic(), False, None
        self.tally.begin(path)
        try:
            with deadline_scope(begin + timeout):
                response = admitted(hook, request)
        except Exception as error:  # noqa: BLE001  the review ends here, the server does not
            answered, panicked = self._unanswered(path, error)
        else:
            if response is not None:
                answered = HTTPResponse(200, _JSON, answer(ADMISSION, {"uid": request.uid, **response}))
        took = self._note_lateness(path, begin, timeout)
        self.tally.end(path, 200 if answered is None else answered.status, took, panicked=panicked)
        return answered

    def _unanswered(self, path: str, error: Exception) -> tuple[HTTPResponse, bool]:
        """Return the answer to a review that has ended in an error, and whether that error was unexpected."""
        if isinstance(error, NotAReview):
            return _refusal(400, str(error)), False
        if isinstance(error, ConversionFailed):
            name = self._log(path, error.__cause__ or error)
            message = f"{error}; the webhook's log has the reason under id={name}"
            return HTTPResponse(200, _JSON, failed(error.uid, message)), _is_panic(error.__cause__)
        return self._failure(path, error), _is_panic(error)

    def _note_lateness(self, path: str, begin: float, timeout: float) -> float:
        """Return the seconds that an answer took, after a line in the log if they are too many."""
        took = self.host.monotonic() - begin
        if took > timeout:
            log.warning("webhook answered too late", path=path, seconds=round(took, 3), timeout=timeout)
        return took

    def _shown(self, page: Page, request: HTTPRequest) -> HTTPResponse:
        if request.method != "GET":
            return _refusal(405, "this path is read by GET", {"allow": "GET"})
        try:
            return page(request)
        except Exception as error:  # noqa: BLE001  the request ends here, the server does not
            return self._failure(request.path, error)

    def limit_of(self, path: str) -> int:
        """Return the most bytes of a review that is sent to this path; 0 if no webhook is served there."""
        found = self._works.get(path)
        return 0 if found is None else found[1]

    def _failure(self, path: str, error: Exception) -> HTTPResponse:
        """Return status 500 with an id that the log has: the text of an error may say what its user must not know."""
        return _refusal(500, f"the webhook failed; its log has the reason under id={self._log(path, error)}")

    def _log(self, path: str, error: BaseException) -> str:
        """Log an error that is being handled, and return the id of its line."""
        name = self.host.uuid()[:8]
        if _is_panic(error):
            log.exception("webhook failed", id=name, path=path)
        else:
            log.error("webhook failed", id=name, path=path, error=error)
        return name


def _is_panic(error: BaseException | None) -> bool:
    return not isinstance(error, ControllerRuntimeError)


@functools.lru_cache(maxsize=64)
def _timeout_in(query: tuple[tuple[str, str], ...], usual: float) -> float:
    return timeout_of(dict(query).get("timeout", ""), usual)


def timeout_of(text: str, usual: float) -> float:
    """Return the seconds of a duration from an API server, such as `10s` or `500ms`; `usual` if unreadable."""
    found = _TIMEOUT.fullmatch(text)
    if not text or found is None:
        return usual
    minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    return min(minutes * 60 + seconds + milliseconds / 1000, LONGEST_TIMEOUT) or usual


def _unusable(request: HTTPRequest, limit: int) -> HTTPResponse | None:
    """Return the refusal of a request that has no review in it; None if it may have one."""
    if request.method != "POST":
        return _refusal(405, "reviews are sent by POST", {"allow": "POST"})
    if len(request.body) > limit:
        return _refusal(413, f"the review has more than {limit} bytes")
    if "json" not in request.headers.get("content-type", "application/json"):
        return _refusal(415, "reviews are JSON: send content-type application/json")
    return None


def _refusal(status: int, text: str, headers: Mapping[str, str] | None = None) -> HTTPResponse:
    return HTTPResponse(status, {**_TEXT, **(headers or {})}, f"{text}\n".encode())
