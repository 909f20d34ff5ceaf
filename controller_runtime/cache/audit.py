# SPDX-License-Identifier: Apache-2.0
"""Finds caches that lost a change: compares each object's version with the server's, a page at a time, slowly.

A watch reports each change once. If a server, or something between, loses one, nothing tells the cache: it shows a
wrong object until the next list, which may be days away. The auditor asks for pages of metadata only, at the exact
resourceVersion of the store, and notes which objects change from then on. For all others store and page must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import attrs

from apimachinery.errors import ControllerRuntimeError, Expired
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, PlainKey
from apimachinery.stop import Stop
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.store import Delta
from controller_runtime.client.decoding import Page
from controller_runtime.client.listwatch import ListWatch

log = get_logger(__name__)

SHOWN = 4
"""The most objects that one log line names."""

MOST_KNOWN = 1000
"""The most differences of one cache that are remembered because a new list did not repair them."""


class CacheDifference(NamedTuple):
    """An object that a store and the server have in different versions.

    Attributes:
        key: The name and namespace of the object.
        held: The resourceVersion in the store; empty if the store lacks the object.
        served: The resourceVersion at the server; empty if the object has been deleted there.
    """

    key: PlainKey
    held: str
    served: str

    def __str__(self) -> str:
        return f"{ObjectKey(*self.key)} is held at {self.held or 'none'}, served at {self.served or 'none'}"


def differences(
    page: Sequence[Cached], held: Iterable[Cached], changed: Mapping[PlainKey, None], after: str, *, is_last: bool
) -> list[CacheDifference]:
    """Compare a page of a list with a store that has reached the version of the page, and return the differences.

    Args:
        page: The objects on the page.
        held: All objects of the store.
        changed: The keys of all objects that have changed since a version no newer than the page's; they are not
            compared.
        after: The sort key of the last object of the previous page, as returned by `place`; empty for the first page.
        is_last: True if this is the last page.
    """
    places = [place(cached.plain_key) for cached in page]
    end = places[-1] if places else after
    # The API's storage sorts by namespace and name. Where it does not, absence from a page proves nothing.
    is_sorted = all(a < b for a, b in zip([after, *places], places, strict=False) if a)
    served = {cached.plain_key: cached for cached in page}
    found, seen = list[CacheDifference](), set[PlainKey]()
    for cached in held:
        key = cached.plain_key
        there = served.get(key)
        seen.add(key)
        if key in changed:
            continue
        if there is None:
            if is_sorted and after < place(key) and (is_last or place(key) <= end):
                found.append(CacheDifference(key, cached.resource_version, ""))
        elif compare_versions(cached.resource_version, there.resource_version) < 0:
            found.append(CacheDifference(key, cached.resource_version, there.resource_version))
    lacking = (key for key in served if key not in seen and key not in changed)
    return found + [CacheDifference(key, "", served[key].resource_version) for key in lacking]


def place(key: PlainKey) -> str:
    """Return the sort key of an object: the API server lists by namespace, then by name."""
    name, namespace = key
    return f"{namespace}/{name}" if namespace else name


@attrs.define(eq=False)
class _Audit:
    """The audit of one cache.

    Attributes:
        informer: The cache.
        source: Lists the metadata of its collection.
        forget: Removes the handler that notes changes.
        changed: The objects that changed since the first page was asked for. It is replaced as a whole, and the
            informer's thread only adds to it, so the auditor's may read it without a lock.
        token: Continues the list; empty if the next page is the first.
        after: The place of the last object that was compared.
        pending: A page whose version the store has yet to reach.
        resets: Those of the store when the audit began; if there are more, its versions mean nothing any more.
        known: Differences that were found before. Those that a new list did not repair, such as objects that the cache
            skips because it cannot read them, are not counted again.
    """

    informer: Informer
    source: ListWatch
    forget: Callable[[], None] = attrs.field(init=False)
    changed: dict[PlainKey, None] = attrs.field(factory=dict)
    token: str = ""
    after: str = ""
    pending: Page | None = None
    resets: int = 0
    known: set[CacheDifference] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.forget = self.informer.add_handler(self._note).remove

    def _note(self, delta: Delta) -> None:
        if not delta.initial:
            self.changed[delta.object.plain_key] = None

    def restart(self) -> None:
        """Begin with the first page again."""
        self.changed, self.token, self.after, self.pending = {}, "", "", None
        self.resets = self.informer.store.resets

    def turn(self) -> None:
        """Ask for a page and compare it, or compare one that waits for the store."""
        page = self.pending or self._ask()
        if page is None:
            return
        store = self.informer.store
        if store.resets != self.resets:
            self.restart()
            return
        if store.behind(page.version):
            self.pending = page
            return
        self.pending = None
        held = store.list()
        self.informer.wait_for_handlers()  # what changed before `held` was taken is in `changed` from here on
        is_last = not page.continue_token
        found = differences(page.items, held, self.changed, self.after, is_last=is_last)
        tally = self.informer.audit
        tally.pages += 1
        tally.objects += len(page.items)
        if page.items:
            self.after = place(page.items[-1].plain_key)
        self.token = page.continue_token
        self._judge(found)
        if is_last:
            self.restart()

    def _ask(self) -> Page | None:
        if not self.token:
            self.restart()
        version = self.informer.store.version
        try:
            return self.source.list(version, continue_token=self.token, exact=True)
        except Expired as error:
            self.informer.audit.expired += 1
            self.token = error.continue_token  # it goes on from here, at a newer version
            if not self.token:
                self.restart()
        except ControllerRuntimeError as error:
            log.debug("caches cannot be audited now", collection=self.informer, error=error)
        return None

    def _judge(self, found: Sequence[CacheDifference]) -> None:
        lost = [each for each in found if each not in self.known]
        if not lost:
            return
        self.informer.audit.lost += len(lost)
        if len(self.known) + len(lost) <= MOST_KNOWN:
            self.known.update(lost)
        log.error(
            "cache has lost changes, listing again",
            collection=self.informer,
            objects=len(lost),
            first="; ".join(map(str, lost[:SHOWN])),
        )
        self.restart()
        self.informer.reflector.relist("an audit found that changes were lost")


class CacheAudit:
    """Compares caches with the server, one page of metadata at a time; see `Manager.audit_caches`.

    A page has up to 500 objects. Differences are counted (`Informer.audit`), logged, and repaired by a new list.

    Args:
        host: The source of time and randomness.
        informers: The caches, including those made later. A cache with a share of its objects (`Ring.divide`) is not
            audited.
        source_of: Returns the `ListWatch` that lists the metadata of a cache's collection.
        every: Seconds between two pages, counted over all caches.
        most_objects: Caches with more objects are not audited; None for no such limit.

    Threads: `run` on one.
    """

    name = "cache-audit"

    def __init__(
        self,
        host: Host,
        informers: Iterable[Informer],
        source_of: Callable[[Informer], ListWatch],
        *,
        every: float = 60.0,
        most_objects: int | None = 50_000,
    ) -> None:
        if every <= 0:
            raise ValueError(f"every ({every:g}) must be positive")
        self._host = host
        self._informers = informers
        self._source_of = source_of
        self._every = every
        self._most = most_objects
        self._audits: dict[int, _Audit] = {}  # by the id of the informer, which an audit keeps alive

    def run(self, stop: Stop) -> None:
        """Compare a page about every `every` seconds, of one cache after another, until `stop` is set."""
        # At random between one period and 1.1, so that replicas that were started together part.
        while not stop.wait(self._every * (1.0 + 0.1 * self._host.random.random())):
            self._follow()
            if (audit := self._next()) is not None:
                audit.turn()
        for audit in self._audits.values():
            audit.forget()

    def _follow(self) -> None:
        present = {
            id(informer): informer
            for informer in self._informers
            if informer.portion is None and self._is_audited(informer)
        }
        for gone in [key for key in self._audits if key not in present]:
            self._audits.pop(gone).forget()
        for key, informer in present.items():
            if key not in self._audits:
                self._audits[key] = _Audit(informer, self._source_of(informer))

    def _is_audited(self, informer: Informer) -> bool:
        return informer.has_synced() and (self._most is None or len(informer.store) <= self._most)

    def _next(self) -> _Audit | None:
        """Return the audit whose turn it is: each cache's list is finished before the next one's begins."""
        if not self._audits:
            return None
        key = next(iter(self._audits))
        audit = self._audits[key]
        if audit.token or audit.pending is not None:
            return audit
        self._audits[key] = self._audits.pop(key)  # to the end
        return next(iter(self._audits.values()))
