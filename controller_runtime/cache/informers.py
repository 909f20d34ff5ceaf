# SPDX-License-Identifier: Apache-2.0
"""The informers of one program: one per collection, shared by all who ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from controller_runtime.api.resources import Resource
from controller_runtime.api.selectors import FieldSelector, LabelSelector
from controller_runtime.cache.informer import Informer
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.core.errors import CacheSyncTimeout, UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stop, spawn


class _Key(NamedTuple):
    resource: Resource[Any]
    namespace: str
    label_selector: str
    field_selector: str


class Informers:
    """Makes, shares and runs informers. Threads: any, for every method.

    Args:
        host: What they run on.
        transport: Carries their requests; it stays its owner's to close.
        streaming: Try streamed lists before lists by pages.
    """

    def __init__(self, host: Host, transport: Transport, *, streaming: bool = True) -> None:
        self._host = host
        self._transport = transport
        self._streaming = streaming
        # Guards everything below.
        self._lock = host.lock("informers")
        self._informers: dict[_Key, Informer] = {}
        self._stop: Stop | None = None  # of the program, once started
        self._threads: list[Thread] = []

    def __iter__(self) -> Iterator[Informer]:
        with self._lock:
            return iter([*self._informers.values()])

    def of(
        self, resource: Resource[Any], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Informer:
        """The informer of a collection: the same one for the same question. Runs at once if the others do.

        Raises:
            ValueError: A selector is malformed, or a namespace was given for a cluster-scoped kind.
        """
        key = _Key(
            resource, namespace, str(LabelSelector.parse(label_selector)), str(FieldSelector.parse(field_selector))
        )
        with self._lock:
            informer = self._informers.get(key)
            if informer is not None:
                return informer
            informer = self._informers[key] = self._make(key)
            stop = self._stop
        if stop is not None:
            self._run(informer, stop)
        return informer

    def start(self, stop: Stop) -> None:
        """Run every informer, and those that come later, until `stop` is set.

        Raises:
            UsageError: They were started before.
        """
        with self._lock:
            if self._stop is not None:
                raise UsageError("informers were started more than once")
            self._stop = stop
            waiting = [*self._informers.values()]
        for informer in waiting:
            self._run(informer, stop)

    def wait_for_sync(self, stop: Stop, timeout: float) -> bool:
        """Wait until every informer there is now has its initial list; False if `stop` was set first.

        Args:
            stop: Ends the wait.
            timeout: Seconds for all of them together.

        Raises:
            CacheSyncTimeout: Some are not in sync in time; each is named with its last error.
        """
        deadline = self._host.monotonic() + timeout
        late = [informer for informer in self if not informer.wait_for_sync(stop, deadline)]
        if stop.is_set():
            return False
        if late:
            names = "; ".join(f"{informer} ({informer.last_error or 'no answer yet'})" for informer in late)
            raise CacheSyncTimeout(f"caches not in sync after {timeout:g} s: {names}")
        return True

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for all threads of all informers; those that still run at `deadline` (absolute monotonic seconds)."""
        with self._lock:
            threads = [*self._threads]
        late = [thread for thread in threads if not thread.join_until(deadline)]
        return late + [thread for informer in self for thread in informer.join_until(deadline)]

    def _make(self, key: _Key) -> Informer:
        source = ListWatch(
            self._host,
            self._transport,
            key.resource,
            namespace=key.namespace,
            label_selector=key.label_selector,
            field_selector=key.field_selector,
        )
        return Informer(self._host, source, streaming=self._streaming)

    def _run(self, informer: Informer, stop: Stop) -> None:
        thread = spawn(self._host, stop, f"reflector/{informer.resource.plural}", lambda: informer.run(stop))
        with self._lock:
            self._threads.append(thread)
