# SPDX-License-Identifier: Apache-2.0
"""A full store of nodes or pods: its memory, the garbage collection time it adds, an event's cost: KIND SIZE COUNT."""

from __future__ import annotations

import gc
import sys
import time

import msgspec

from apimachinery.objects import Cached
from apimachinery.system import SystemHost
from benchmarks.harness import report
from benchmarks.nodes import big_node, big_pod
from benchmarks.raw import own_memory
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.delivery import Delivery
from controller_runtime.cache.store import Delta, Store
from controller_runtime.client.decoding import Decoding, WatchEvent

EVENTS = 20_000


def collection_ms() -> float:
    """Return the milliseconds of the shortest of twenty full collections; others may be slowed by other programs."""
    times = []
    for _ in range(20):
        began = time.process_time()
        gc.collect()
        times.append(time.process_time() - began)
    return min(times) * 1e3


def line_of(kind: str, index: int, size: int, version: int) -> bytes:
    """Return a watch line of one object, with a uid and a version as long as a server's."""
    obj = big_node(index, size) if kind == "Node" else big_pod(index, 100, size)
    obj["metadata"] |= {"resourceVersion": str(version), "uid": f"0b5b8f1c-5a3f-4d0e-9f59-{index:012x}"}
    whole = {"kind": kind, "apiVersion": "v1", **obj}
    return msgspec.json.encode({"type": "MODIFIED", "object": whole})


def cached_of(decoding: Decoding, line: bytes) -> Cached:
    """Return the object of a watch line."""
    event = decoding.event(line)
    assert isinstance(event, WatchEvent), event
    assert event.cached is not None, event
    return event.cached


def main() -> None:
    """Fill a store, measure its memory, pass events through it, and print the figures."""
    kind, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    host, decoding, added = SystemHost(), Decoding(NODES if kind == "Node" else PODS), list[Delta]()
    lines = [line_of(kind, index, size, 1000000) for index in range(100)]
    changes = [line_of(kind, index, size, 1000001 + number) for number in range(4) for index in range(100)]
    store = Store(host)
    delivery = Delivery(host, store, "objects")
    before_ms, before = collection_ms(), own_memory()
    objects = {}
    for number in range(count):
        cached = cached_of(decoding, lines[number % 100].replace(b'"name":"', b'"name":"%06d-' % (number // 100), 1))
        objects[cached.plain_key] = cached
    delivery.replace(objects, "1000000")
    weight = (own_memory() - before) / count
    json_bytes = sum(len(cached.raw) for cached in objects.values()) / count
    del objects
    after_ms = collection_ms()
    delivery.add(lambda delta: added.append(delta) if delta.old is None else None, lambda: None)
    began = time.process_time()
    for number in range(EVENTS):
        event = decoding.event(changes[number % 400])
        assert isinstance(event, WatchEvent), event
        delivery.apply(event)
    event_us = (time.process_time() - began) / EVENTS * 1e6
    report(
        {
            "json_bytes": json_bytes,
            "bytes_per_object": weight,
            "times_its_json": weight / json_bytes,
            "gc_full_ms_more": after_ms - before_ms,
            "event_us": event_us,
        }
    )


if __name__ == "__main__":
    main()
