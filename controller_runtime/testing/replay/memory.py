# SPDX-License-Identifier: Apache-2.0
"""The answers that an incident contains: its reads by selection and key, in order, and reads that follow from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, ObjectKey, Received, cached_from_bytes, labels_of
from apimachinery.selectors import LabelSelector
from controller_runtime.incidents.incident import NOTHING, Ask, Get, Incident, Kind, Select, Sent, Time

T = TypeVar("T")

Place = tuple[str, str, str]
"""A recorded question: the `apiVersion` and the plural of a kind, and a key or a selection as text."""


class Series(Generic[T]):
    """The recorded answers to one question, in order; the last one is repeated.

    Threads: one at a time.
    """

    def __init__(self) -> None:
        self._answers: deque[T] = deque()

    def add(self, answer: T) -> None:
        """Add the next answer."""
        self._answers.append(answer)

    def next(self) -> T:
        """Return the next answer, or the last one again. There must be an answer."""
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]

    def __iter__(self) -> Iterator[T]:
        return iter(self._answers)


class Memory:
    """The answers that an incident, which is a recorded reconcile, contains.

    Args:
        incident: The incident.

    Attributes:
        asks: The facts about caches, such as their versions, by kind and name of the fact.
        times: The times of the clocks, by name of the clock.

    Threads: one at a time.
    """

    def __init__(self, incident: Incident) -> None:
        self._objects = [cached_from_bytes(bytes(body)) for body in incident.objects]
        self._gets: dict[Place, Series[Cached | None]] = {}
        self._selects: dict[tuple[str, Place], Series[Select]] = {}
        self.asks: dict[Place, Series[Any]] = {}
        self.times: dict[str, Series[Any]] = {}
        for step in incident.steps:
            if isinstance(step, Get):
                key = ObjectKey(step.name, step.namespace)
                self._gets.setdefault(place_of(step.kind, str(key)), Series()).add(self._body(step.body))
            elif isinstance(step, Select):
                self._selects.setdefault((step.verb, place_of(step.kind, step.what)), Series()).add(step)
            elif isinstance(step, Ask):
                self.asks.setdefault(place_of(step.kind, step.what), Series()).add(step.answer)
            elif isinstance(step, Time):
                self.times.setdefault(step.clock, Series()).add(step.at)

    def get(self, kind: Kind, key: ObjectKey) -> tuple[bool, Cached | None]:
        """Return whether the content of a cache for a key is known, and the object; None if it is unknown or there was
        none.
        """
        if (series := self._gets.get(place_of(kind, str(key)))) is not None:
            return True, series.next()
        for (verb, (version, plural, what)), seen in self._selects.items():
            if (version, plural) != place_of(kind, "")[:2]:
                continue
            for select in seen:
                found = next((each for each in select.found if (each[0], each[1]) == key), None)
                if found is not None and found[3] != NOTHING:
                    return True, self._body(found[3])
                if found is None and verb in ("list", "keys") and what in ("", " ", f"{key.namespace} "):
                    return True, None
        return False, None

    def select(self, kind: Kind, verb: str, what: str) -> Sequence[Cached] | None:
        """Return the objects that a recorded read of a cache found, or that follow from another one; None if unknown.

        Args:
            kind: The kind of the cache.
            verb: The method of the read: `list`, `by_index`, `keys` or `keys_by_index`.
            what: The arguments of the read, as a text.
        """
        if (series := self._selects.get((verb, place_of(kind, what)))) is not None:
            return self._found(series.next(), verb)
        if verb == "keys_by_index":
            return self.select(kind, "by_index", what)
        if verb == "keys":
            return self.select(kind, "list", " ") if ("list", place_of(kind, " ")) in self._selects else None
        if verb == "list":
            return self._narrowed(kind, what)
        return None

    def _narrowed(self, kind: Kind, what: str) -> Sequence[Cached] | None:
        """Return a list from a wider one that was recorded: of all namespaces, or without labels."""
        namespace, _, selector = what.partition(" ")
        labels = LabelSelector.parse(selector)
        for wider in (f"{namespace} ", " "):
            series = self._selects.get(("list", place_of(kind, wider)))
            found = None if series is None else self._found(series.next(), "list")
            if found is not None:
                return [
                    each
                    for each in found
                    if (not namespace or each.namespace == namespace)
                    and (labels.is_everything or labels.matches(labels_of(each)))
                ]
        return None

    def _found(self, select: Select, verb: str) -> Sequence[Cached] | None:
        objects: list[Cached] = []
        for name, namespace, version, body in select.found:
            if body == NOTHING and not verb.startswith("keys"):
                return None
            objects.append(self._body(body) or Received(b"", name, namespace, "", version))
        return objects

    def _body(self, place: int) -> Cached | None:
        return None if place == NOTHING else self._objects[place]


def place_of(kind: Kind, text: str) -> Place:
    """Return the place of a recorded answer; a kind of which only the metadata is read counts as another kind."""
    return kind.api_version, f"{kind.plural} (metadata)" if kind.partial else kind.plural, text


def first_states(incident: Incident) -> list[Cached]:
    """Return the objects that a server should hold at the beginning, from recorded answers, or else from recorded
    caches.
    """
    states: dict[tuple[str, ...], Cached] = {}
    for document in [*_answers(incident), *incident.objects]:
        try:
            whole = msgspec.json.decode(document)
            items = whole.get("items") if "items" in whole and "metadata" in whole else [whole]
            for each in items or ():
                head = {"apiVersion": whole.get("apiVersion"), "kind": str(whole.get("kind")).removesuffix("List")}
                cached = cached_from_bytes(msgspec.json.encode({**head, **each}))
                place = (str(head["apiVersion"]), str(each.get("kind", head["kind"])), *cached.plain_key)
                states.setdefault(place, cached)
        except (DecodeError, msgspec.DecodeError, AttributeError, TypeError):
            continue  # not an object, such as the answer of a review
    return [*states.values()]


def _answers(incident: Incident) -> Iterable[msgspec.Raw]:
    reads = (step for step in incident.steps if isinstance(step, Sent) and step.method == "GET")
    return [step.answer for step in reads if step.status == 200]
