# SPDX-License-Identifier: Apache-2.0
"""Judges a trial of a ring by the server's audit log: claims do not overlap, and writes begin inside their intervals.

All times are seconds of the one wall clock of the machine, by which the server receives and the processes send.
"""

from __future__ import annotations

import enum
import json
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from controller_runtime.ring.by import RingBy
from controller_runtime.ring.division import slot_of_key
from controller_runtime.ring.records import CLAIM, Claim, annotations_of

SIGNED = "signed"
"""The annotation that a replica writes: its name, when it began, and both numbers of its fencing token."""
STILL = 1.0
"""Seconds without a request by which the server is taken to have stood still: four processes send fifty in each."""
TRANSIT = 1.0
"""Seconds from when a write is begun until it arrives, for which it needs no other reason to be late: on two cores with
a load of 20, half a second was seen, from three processes at once."""
AWAKE = 1.0
"""Seconds after a process goes on in which it may still do what it was about to do when it was stopped."""


@attrs.frozen
class Stored:
    """A claim that the server has stored.

    Attributes:
        version: The resourceVersion of the lease.
        at: When its request arrived.
        sent_at: When it was sent, by the `renewTime`.
        process: The name of the process.
        lease: The name of the lease.
        slots: The slots that are claimed.
    """

    version: int
    at: float
    sent_at: float
    process: str
    lease: str
    slots: int


@attrs.frozen
class Write:
    """A write of a reconcile.

    Attributes:
        at: When it arrived at the server.
        begun: When the reconcile was about to send it.
        process: The name of the process.
        node: The name of the node.
        order: The numbers of the fencing token.
        code: The status that the server answered.
    """

    at: float
    begun: float
    process: str
    node: str
    order: tuple[int, int]
    code: int


@attrs.frozen
class Fault:
    """A fault of one process, from its begin to its end."""

    kind: str
    process: str
    begun: float
    ended: float


class Verdict(enum.Enum):
    """The judgement of a write."""

    INSIDE = "begun and arrived inside its interval"
    LATE = "begun inside its interval, and arrived later"
    STOPPED = "begun outside by a process that was stopped, and refused or with a smaller token than the owner's"
    UNFOLLOWED = "begun outside by a process that was stopped, and no other had begun for the object since"
    WRONG = "begun outside, or arrived outside without a reason"


def intervals(claims: Iterable[Stored], deadline: float) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """Return when each process owned each slot at most: from a stored claim to its deadline, or a smaller claim.

    Args:
        claims: The claims in the order in which they were stored.
        deadline: Seconds for which a claim lasts after it was sent.
    """
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for claim in claims:
        for slot in range(256):
            spans = found.get((claim.process, slot))
            if claim.slots >> slot & 1:
                spans = found.setdefault((claim.process, slot), [])
                if spans and claim.at <= spans[-1][1]:
                    spans[-1] = spans[-1][0], max(spans[-1][1], claim.sent_at + deadline)
                else:
                    spans.append((claim.at, claim.sent_at + deadline))
            elif spans and claim.at < spans[-1][1]:
                spans[-1] = spans[-1][0], claim.at
    return found


def overlaps(claims: Iterable[Stored], deadline: float) -> list[str]:
    """Return the claims of a slot that another lease still claimed, before both deadlines."""
    held: dict[str, Stored] = {}
    found = []
    for claim in claims:
        for other in held.values():
            both = other.slots & claim.slots
            if other.lease != claim.lease and both and claim.at < min(other.sent_at, claim.sent_at) + deadline:
                what = f"{claim.lease} claims {both.bit_count()} slots of {other.lease}"
                found.append(f"version {claim.version}: {what}")
        held[claim.lease] = claim
    return found


def judged(
    writes: Iterable[Write], claims: Sequence[Stored], faults: Sequence[Fault], deadline: float
) -> Iterator[tuple[Write, Verdict]]:
    """Yield each write with its verdict.

    A write that arrives late needs a reason: it was on its way for less than `TRANSIT`, its process was cut off or
    stopped, or the server stood still when the interval ended, and had received nothing from any process for a while.

    Args:
        writes: The writes in the order in which they arrived.
        claims: The claims in the order in which they were stored.
        faults: The faults.
        deadline: Seconds for which a claim lasts after it was sent.
    """
    owned, writes = intervals(claims, deadline), [*writes]
    arrivals = sorted([*(write.at for write in writes), *(claim.at for claim in claims)])
    newest: dict[str, tuple[tuple[int, int], str]] = {}
    for write in writes:
        spans = owned.get((write.process, slot_of_key(RingBy.NAME, "", write.node)), [])
        order, owner = newest.get(write.node, ((0, 0), write.process))
        ends = [until for since, until in spans if since <= write.begun <= until]
        is_on_its_way = bool(ends) and write.at - write.begun <= TRANSIT
        is_held_up = is_on_its_way or any(_stood_still(arrivals, until, write.at) for until in ends)
        verdict = _verdict(write, spans, faults, is_smaller=write.order < order, is_followed=owner != write.process)
        yield write, Verdict.LATE if verdict is Verdict.WRONG and is_held_up else verdict
        newest[write.node] = max((order, owner), (write.order, write.process))


def _stood_still(arrivals: Sequence[float], at: float, until: float) -> bool:
    """Return whether the server received nothing around `at`, and then, within as long, what arrived at `until`."""
    place = bisect(arrivals, at)
    around = arrivals[max(place - 1, 0) : place + 1]
    return len(around) > 1 and around[1] - around[0] >= STILL and until <= around[1] + STILL


def _verdict(
    write: Write, spans: Sequence[tuple[float, float]], faults: Sequence[Fault], *, is_smaller: bool, is_followed: bool
) -> Verdict:
    is_begun = any(since <= write.begun <= until for since, until in spans)
    is_stopped = any(
        fault.kind == "freeze"
        and fault.process == write.process
        and fault.begun - AWAKE <= write.at
        and write.begun <= fault.ended + AWAKE
        for fault in faults
    )
    if is_begun and any(since <= write.at <= until for since, until in spans):
        return Verdict.INSIDE
    is_cut = any(
        fault.process == write.process and fault.begun <= write.at and write.begun <= fault.ended for fault in faults
    )
    if is_begun and is_cut and not is_stopped:
        return Verdict.LATE
    if is_stopped and (is_smaller or write.code >= 400):
        return Verdict.STOPPED
    return Verdict.UNFOLLOWED if is_stopped and not is_followed else Verdict.WRONG


def read(audit: Path, names: Iterable[str]) -> tuple[list[Stored], list[Write]]:
    """Return the stored claims and the writes of an audit log, each in order.

    Args:
        audit: The log; it has leases as RequestResponse and nodes as Request.
        names: The names of the processes.
    """
    claims, writes, known = list[Stored](), list[Write](), [*names]
    for line in audit.read_bytes().splitlines():
        if b'"ResponseComplete"' not in line:
            continue
        event: dict[str, Any] = json.loads(line)
        match event.get("objectRef", {}).get("resource"), event["verb"]:
            case "leases", "create" | "update" if event["responseStatus"]["code"] in (200, 201):
                claims += _claims(event, known)
            case "nodes", "patch":
                writes += _writes(event)
    return sorted(claims, key=lambda claim: claim.version), sorted(writes, key=lambda write: write.at)


def _claims(event: Mapping[str, Any], names: Iterable[str]) -> Iterator[Stored]:
    stored = event.get("responseObject") or {}
    if text := annotations_of(stored).get(CLAIM):
        lease, version = stored["metadata"]["name"], int(stored["metadata"]["resourceVersion"])
        process = next((name for name in names if f"-{name}-" in lease), lease)
        sent_at, slots = _seconds(stored["spec"]["renewTime"]), Claim.from_text(text).slots
        yield Stored(version, _seconds(event["requestReceivedTimestamp"]), sent_at, process, lease, slots)


def _writes(event: Mapping[str, Any]) -> Iterator[Write]:
    if text := annotations_of(event.get("requestObject") or {}).get(SIGNED):
        process, begun, incarnation, epoch = text.split()
        at, node = _seconds(event["requestReceivedTimestamp"]), event["objectRef"]["name"]
        yield Write(
            at, float(begun), process, node, (int(incarnation), int(epoch)), event["responseStatus"].get("code", 200)
        )


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
