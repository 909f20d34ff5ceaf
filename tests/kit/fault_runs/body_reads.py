# SPDX-License-Identifier: Apache-2.0
"""Reads of bodies from a cache that has the metadata of all objects, each compared with what was read before."""

from __future__ import annotations

import random

from apimachinery.errors import ControllerRuntimeError
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.head import Head, whole
from controller_runtime.cache.informer import Informer
from controller_runtime.testing.simulation import SimulatedHost
from kit.fault_runs.invariants import Violated
from kit.fault_runs.restorable import RestorableDisk


def drawn(chance: random.Random, label: str) -> Bodies | None:
    """Return the bodies of a cache: none in every second run, else one of the ways in which they are chosen.

    Args:
        chance: Draws.
        label: A label that some objects have.
    """
    if chance.random() < 0.5:
        return None
    memory = chance.choice((0, 1_500, 10**6))
    match chance.randrange(3):
        case 0:
            return Bodies(memory=memory)
        case 1:
            return Bodies(memory=memory, label_selector=label)
        case _:
            return Bodies(memory=memory, chosen=lambda meta: label in (meta.labels or {}))


def bodies_of(host: str) -> Bodies | None:
    """Return the bodies that the caches of a replica keep; None, all of them, for two of three, by its name's digit."""
    return Bodies(memory=5_000) if host.partition("#")[0][-1:] in tuple("147") else None


class BodyReads:
    """Reads bodies at random times, and checks that none is older than the metadata, nor than one that was read before.

    Args:
        host: The reader's.
        informer: The cache.
        disk: The server's disk. Only if it has lost writes may an object become older, or a deleted one return.
        names: The names of the objects.

    Attributes:
        violated: The first violation; None as long as there is none.
    """

    def __init__(self, host: SimulatedHost, informer: Informer, disk: RestorableDisk, names: str) -> None:
        self.violated: Violated | None = None
        self._host = host
        self._informer = informer
        self._disk = disk
        self._names = names
        self._last: dict[str, Cached | None] = {}
        self._gone: set[str] = set()  # uids that a read did not find any more

    def read_until(self, stop: Stop) -> None:
        """Read until `stop` is set."""
        chance = self._host.random
        while not stop.wait(chance.choice((0.0, 0.1, 5.0)) * chance.random()):
            name = chance.choice(self._names)
            found = self._informer.reads.get(ObjectKey(name))
            try:
                self._note(name, found, whole(found))
            except ControllerRuntimeError:  # the request was lost, or the server's data went back
                continue

    def check_last(self, served: set[tuple[str, str, str]]) -> None:
        """Raise `Violated` unless the last reads found what the server serves: names, uids and versions."""
        found = {(each.name, each.uid, each.resource_version) for each in self._last.values() if each is not None}
        if self._last and found != served:
            raise Violated("bodies converge", f"{self._informer}: {found} was read, {served} is served")

    def _note(self, name: str, head: Cached | None, body: Cached | None) -> None:
        wrong = "" if head is None else self._wrong(head, body)
        if wrong and self.violated is None:
            self.violated = Violated(
                wrong, f"{self._informer}: {head} was read as {body}, before as {self._last.get(name)}"
            )
        if head is not None and body is None:
            self._gone.add(head.uid)
        self._last[name] = body

    def _wrong(self, head: Cached, body: Cached | None) -> str:
        if body is None:
            return ""
        order = compare_versions(body.resource_version, head.resource_version)
        if body.uid != head.uid or order < 0:
            return "a body is no older than its metadata"
        if order == 0 and isinstance(head, Head) and head.meta != body.meta:
            return "a body has its own metadata"
        if self._disk.lost:
            return ""
        before = self._last.setdefault(head.name, None)
        is_older = (
            before is not None
            and before.uid == body.uid
            and compare_versions(body.resource_version, before.resource_version) < 0
        )
        return "a body never goes back" if is_older or body.uid in self._gone else ""
