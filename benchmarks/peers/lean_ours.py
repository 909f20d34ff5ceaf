# SPDX-License-Identifier: Apache-2.0
"""A large collection in one of our caches: made|recorded|nodes|secrets|secrets-read COUNT on|off CHANGES.

Of `secrets` the cache has the metadata; of `secrets-read` also the bodies of 20, which are read one after another.

Prints the memory of the whole process after its list and the peak until then, the CPU of the cache for each object of
the list, for a read and for an event, and the memory after each object has changed CHANGES times.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from apimachinery.host import Host
from apimachinery.objects import cached_from_bytes
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import peak_mib_of, report
from benchmarks.large import SECRET_BYTES, VERSION, MadeObjects, node, pod, secret, secret_metadata
from controller_runtime.api.builtin_resources import SECRETS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.decoding import PARTIAL, Decoding, WatchEvent

Make = Callable[[int, int], bytes]
"""Returns the JSON of an object by its number and version."""

WORKS: dict[str, tuple[Resource[Any], Make]] = {
    "made": (PODS, partial(pod, is_recorded=False)),
    "recorded": (PODS, partial(pod, is_recorded=True)),
    "nodes": (NODES, node),
    "secrets": (SECRETS.only_metadata(), secret_metadata),
    "secrets-read": (SECRETS.only_metadata(), secret_metadata),
}
READS = 5_000
BODIES = 20
"""The Secrets that are read whole in `secrets-read`, as many as an operator reads of all those of a cluster."""


def memory_mib() -> float:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def main() -> None:
    """Fill a cache, read and change it, and print the figures."""
    what, count, compress, changes = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "on", int(sys.argv[4])
    resource, make = WORKS[what]
    kind = (PARTIAL.kind, PARTIAL.api_version) if resource.is_partial else (resource.kind, resource.api_version)
    host = SystemHost()
    lines = time.process_time()
    json_bytes = sum(len(make(index, VERSION)) for index in range(0, count, max(1, count // 1000))) / min(count, 1000)
    make_us = (time.process_time() - lines) / min(count, 1000) * 1e6
    reads = range(0, count, count // BODIES)[:BODIES] if what == "secrets-read" else ()
    options = CacheOptions(compress=None if compress else False, bodies=Bodies() if reads else None)
    made = MadeObjects(
        lambda index: make(index, VERSION), count, *kind, body=lambda path: secret(numbers[path], VERSION)
    )
    informers = Informers(host, made, options)
    informer, stop = informers.of(Collection(SECRETS if reads else resource)), Stop(host)
    before, cpu = memory_mib(), time.process_time()
    informers.start(stop)
    informers.wait_for_sync(stop, 900.0)
    filled = time.process_time() - cpu
    peak = peak_mib_of("self")
    settle(host, informer)
    keys = [cached_from_bytes(make(index, VERSION)).key for index in reads]
    numbers = {SECRETS.path(key.namespace, key.name): index for key, index in zip(keys, reads, strict=True)}
    for key in keys:
        found = Lister(informer.reads, SECRETS, dict).get(key)
        assert found is not None
        assert len(found["data"]["release"]) == SECRET_BYTES
    gc.collect()
    figures = {"objects": float(len(informer.store)), "json_bytes": json_bytes, "before_mib": before, "peak_mib": peak}
    figures |= {
        "mib": memory_mib(),
        "held_mib": informer.store.sizes.held / 2**20,
        "fill_cpu_s": filled - make_us * count / 1e6,
    }
    figures |= read_and_event(informer, Decoding(resource), make, count)
    if changes:
        figures["changed_mib"] = after_changes(host, informer, Decoding(resource), make, count, changes)
    stop.set()
    report(figures)


def settle(host: Host, informer: Informer) -> None:
    """Wait until no dictionary is trained any more."""
    while (thread := informer._packing.thread) is not None and not thread.join_until(host.monotonic() + 60.0):
        pass


def read_and_event(informer: Informer, decoding: Decoding, make: Make, count: int) -> dict[str, float]:
    """Return the CPU microseconds of reading an object's bytes, and of a change from its line on."""
    objects = informer.store.list()[:: max(1, count // READS)]
    began = time.process_time()
    for cached in objects:
        assert cached.raw
    read_us = (time.process_time() - began) / len(objects) * 1e6
    lines = [
        b'{"type":"MODIFIED","object":%b}' % make(index, VERSION + 1)
        for index in range(0, count, max(1, count // READS))
    ]
    began = time.process_time()
    for line in lines:
        event = decoding.event(line)
        assert isinstance(event, WatchEvent), event
        informer._delivery.apply(event)
    return {"read_us": read_us, "event_us": (time.process_time() - began) / len(lines) * 1e6}


def after_changes(host: Host, informer: Informer, decoding: Decoding, make: Make, count: int, changes: int) -> float:
    """Change each object so often, and return the memory of the process."""
    for turn in range(changes):
        for index in range(count):
            made = make(index, VERSION + 2 + turn)
            event = decoding.event(b'{"type":"MODIFIED","object":%b}' % made)
            assert isinstance(event, WatchEvent), event
            informer._delivery.apply(event)
    settle(host, informer)
    gc.collect()
    return memory_mib()


if __name__ == "__main__":
    main()
