# SPDX-License-Identifier: Apache-2.0
"""The description of a controller: from where its requests come."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from apimachinery.plain_functions import plain
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.controller.arguments import check_period
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.handlers import Callback, Handler, enqueue_object
from controller_runtime.controller.predicates import Predicate
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.sources import Every, Follow, Source, Watch


class Description(abc.ABC):
    """The part of a controller that names its sources; the base of `Controller`.

    Threads: one until the controller is started, then any.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._sources: list[Source] = []

    def watch(
        self,
        resource: Kind[Any],
        when: Predicate | None = None,
        map: Handler = enqueue_object,  # noqa: A002  the field's word
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Self:
        """Let changes of a collection cause requests. A controller that has been started watches at once.

        Args:
            resource: The collection, or the declared class of its objects.
            when: Which changes count; None is all of them.
            map: Maps a change to requests; by default one for the object itself. If it or `when` raises, the change
                is kept and tried again, while the changes of other objects go on.
            namespace: Only this namespace; empty is all of them.
            label_selector: Only objects that the server finds to match it; empty is all of them.
            field_selector: The same for fields.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: `when` or `map` is an `async def`. One that returns a coroutine raises it for each change.
        """
        plain(f"{self.name}: `when` of a watch", when)
        plain(f"{self.name}: `map` of a watch", map)
        return self._add(Watch(Collection(resource, namespace, label_selector, field_selector), when, map))

    def follow(
        self,
        resource: Kind[Any],
        callback: Callback,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        linger: float = 0.0,
    ) -> Self:
        """Call `callback` with every change once, in order, on a thread of its own.

        The callback may keep state and have side effects; the requests that it returns are reconciled. No worker
        starts before the callback has seen the whole initial list, unless the controller has been started already.

        Args:
            resource: The collection, or the declared class of its objects.
            callback: Called for each change. If the callback raises, the manager stops: the change is not
                delivered again, so any state that the callback keeps could be wrong from then on.
            namespace: As for `watch`.
            label_selector: As for `watch`.
            field_selector: As for `watch`.
            linger: Seconds by which the delivery of changes may be delayed, so that many are handled together; see
                `Informers.of`.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: The callback is an `async def`.
        """
        plain(f"{self.name}: the callback of a follow", callback)
        return self._add(Follow(Collection(resource, namespace, label_selector, field_selector), callback, linger))

    def every(self, seconds: float, requests: Callable[[], Iterable[Request]], *, jitter: float = 0.1) -> Self:
        """Make requests periodically: when the controller starts, and after each period.

        Like those of initial lists, they are reconciled after requests that changes cause. Periods that were missed,
        because the machine was suspended, are not made up for.

        Args:
            seconds: The period.
            requests: Returns the requests: `lister.keys` for all objects, or a function that returns one key that
                stands for the whole. It runs on a thread of its own; if it raises, it is called again sooner.
            jitter: Each period is stretched by a random part of this (0.1: by up to a tenth), so that processes
                started together do not stay in step.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            ValueError: A period that is not positive, or a negative jitter.
            UsageError: `requests` is an `async def`.
        """
        check_period(self.name, seconds, jitter)
        plain(f"{self.name}: the function of an every", requests)
        return self._add(Every(seconds, requests, jitter))

    def receive(self, channel: Channel) -> Self:
        """Reconcile the requests that are pushed into `channel`.

        Returns:
            The controller, so that calls can be chained.

        Raises:
            UsageError: This or another controller receives the channel already.
        """
        channel.receive()
        return self._add(channel)

    @property
    def sources(self) -> Sequence[Source]:
        """The sources of its requests, in the order in which they were added."""
        return [*self._sources]

    @property
    def has_sources(self) -> bool:
        """Whether anything can request a reconcile."""
        return bool(self._sources)

    @property
    def collections(self) -> Sequence[Collection]:
        """The collections that this controller watches and follows."""
        return [source.collection for source in self._sources if source.collection is not None]

    @property
    def inspected(self) -> Sequence[Collection]:
        """Those of `collections` whose changes a predicate, a mapping or a callback of this controller reads."""
        return [each.collection for each in self._sources if isinstance(each, Watch | Follow) and each.inspects]

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels from which this controller receives requests."""
        return [source for source in self._sources if isinstance(source, Channel)]

    @abc.abstractmethod
    def _add(self, source: Source) -> Self:
        """Add a source, and attach it if the controller has been started."""
