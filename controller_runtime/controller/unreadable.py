# SPDX-License-Identifier: Apache-2.0
"""The requests of one controller that are not retried, because an object cannot be read until it is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import attrs

from apimachinery.errors import DecodeError
from apimachinery.host import Host
from apimachinery.objects import labels_of
from apimachinery.selectors import LabelSelector
from apimachinery.texts import kept_text
from controller_runtime.api.collection import Collection
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.controller.failing import Fallible
from controller_runtime.controller.reconciler import Request

Report = Callable[[UnreadableObject], None]
"""Tells people of an object that cannot be read. It must not raise and not wait."""


@attrs.frozen
class UnreadableRequest:
    """A request that ended because an object cannot be read.

    Attributes:
        request: The request.
        text: The object and the error, for messages.
    """

    request: Request
    text: str


@attrs.frozen
class Trouble:
    """The failures of one controller for single objects, while it works for all others.

    Attributes:
        sources: The sources whose user code may fail, including those that are added later.
        unreadable: The requests that wait until an unreadable object changes.
    """

    sources: Sequence[Fallible]
    unreadable: UnreadableObjects


class UnreadableObjects:
    """Decides whether a reconcile is retried after an unreadable object, and remembers requests that are not.

    A request is remembered until a reconcile of it ends in another way, so the number of remembered requests is bounded
    by the number that depend on unreadable objects.

    Args:
        host: Creates the lock.
        collections: Returns the collections that the controller watches.
        report: Called with each error of a reconcile whose error text is new for its request.

    Threads: any.
    """

    def __init__(self, host: Host, collections: Callable[[], Iterable[Collection]], report: Report | None) -> None:
        self._collections = collections
        self._report = report
        # Guards the two fields below.
        self._lock = host.lock("unreadable objects")
        self._texts: dict[Request, str] = {}
        self._counts = Counter[str]()

    def is_final(self, error: BaseException) -> bool:
        """Return whether a retry after `error` is useless: a change of the unreadable object will cause a reconcile
        anyway.
        """
        return isinstance(error, UnreadableObject) and any(
            covers(collection, error) for collection in self._collections()
        )

    def note(self, request: Request, errors: Sequence[UnreadableObject]) -> bool:
        """Record a reconcile that ended with `errors`; if their text differs from the last one of this request, report
        them and return True.
        """
        text = kept_text("; ".join(str(error) for error in errors))
        with self._lock:
            self._counts.update(error.resource.kind for error in errors)
            is_news = self._texts.get(request) != text
            self._texts[request] = text
        if is_news and self._report is not None:
            for error in errors:
                self._report(error)
        return is_news

    def clear(self, request: Request) -> None:
        """Forget a request, because a reconcile of it ended in another way."""
        # Without the lock, because most requests are not here, and no two reconciles of one request run at a time.
        if request in self._texts:
            with self._lock:
                self._texts.pop(request, None)

    def first(self, limit: int) -> tuple[int, list[UnreadableRequest]]:
        """Return the number of remembered requests, and up to `limit` of them."""
        with self._lock:
            count, shown = len(self._texts), [*self._texts.items()][:limit]
        return count, [UnreadableRequest(request, text) for request, text in shown]

    def counts(self) -> dict[str, int]:
        """Return how many reconciles have ended because an object cannot be read, by the object's kind."""
        with self._lock:
            return dict(self._counts)


def covers(collection: Collection, error: UnreadableObject) -> bool:
    """Return whether a watch of `collection` certainly reports the next change of the object of `error`.

    With a field selector this is not certain: the object may not match, since a client can read objects that are in no
    cache.
    """
    if collection.resource != error.resource or collection.field_selector:
        return False
    if collection.namespace not in ("", error.key.namespace):
        return False
    selector = LabelSelector.parse(collection.label_selector)
    if selector.is_everything:
        return True
    try:
        return selector.matches(labels_of(error.cached))
    except DecodeError:
        return False
