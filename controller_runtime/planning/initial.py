# SPDX-License-Identifier: Apache-2.0
"""The requests with which a controller begins: those of the objects that its caches have, and of its periods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.feed import checked
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.sources import Every, Follow, Source, Watch

OnError = Callable[[str, Exception], None]
"""Told of the error of a user's function, and of what it was called for."""


def initial_requests(controller: Controller, informers: Informers, on_error: OnError) -> list[Request]:
    """Return the initial requests of all sources of a controller, without duplicates, in the order of the sources and
    lists.

    Callbacks of `follow` are called for each object, because a reconciler may need their state.
    """
    found: dict[Request, None] = {}
    for source in controller.sources:
        for what, requests in _calls(source, informers):
            try:
                found.update(dict.fromkeys(requests()))
            except Exception as error:  # noqa: BLE001  a mapper ends here: the plan lists its error
                on_error(what, error)
    return [*found]


def receives_from_outside(controller: Controller) -> bool:
    """Return whether a controller has a `Channel`, whose requests a dry run of the program cannot know."""
    return any(isinstance(source, Channel) for source in controller.sources)


def _calls(source: Source, informers: Informers) -> Iterator[tuple[str, Callable[[], Iterable[Request]]]]:
    match source:
        case Watch():
            for delta in _deltas(source, informers):
                yield str(delta.key), lambda delta=delta: _mapped(source, delta)  # type: ignore[misc]
        case Follow():
            for delta in _deltas(source, informers):
                yield str(delta.key), lambda delta=delta: checked(source.callback(delta), source.callback)  # type: ignore[misc]
        case Every():
            yield f"every {source.seconds:g} s", lambda: checked(source.requests(), source.requests)


def _mapped(source: Watch, delta: Delta) -> Iterable[Request]:
    if source.when is not None and not source.when(delta):
        return ()
    return checked(source.map(delta), source.map)


def _deltas(source: Watch | Follow, informers: Informers) -> Iterator[Delta]:
    for informer in source.prepare(informers):
        for cached in informer.store.list():
            yield Delta(None, cached, initial=True)
