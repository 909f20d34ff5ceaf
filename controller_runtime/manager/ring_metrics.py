# SPDX-License-Identifier: Apache-2.0
"""The metrics of the rings of a manager."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
from prometheus_client.metrics_core import Metric

from controller_runtime.manager.exposition import Row, counter, gauge, histogram, metrics_of

if TYPE_CHECKING:  # a program without a ring should not pay for it
    from controller_runtime.ring.ring import Ring
    from controller_runtime.ring.status import RingCounts


@attrs.frozen
class _Seen:
    """A ring, and what its member had seen and done at one instant."""

    ring: Ring
    counts: RingCounts


# fmt: off
_OF_RINGS: tuple[Row[_Seen], ...] = (
    Row(gauge, "controller_runtime_ring_slots",
        "Slots of which this replica may begin work now, of 256.", lambda s: s.ring.ownership.owned.bit_count()),
    Row(gauge, "controller_runtime_ring_unclaimed_slots",
        "Slots that no living member claimed at the last look.", lambda s: s.counts.unclaimed),
    Row(gauge, "controller_runtime_ring_members",
        "Members whose claims counted at the last look.", lambda s: len(s.counts.members)),
    Row(gauge, "controller_runtime_ring_turn_age_seconds",
        "Seconds since the last turn that succeeded.", lambda s: s.counts.turn_age),
    Row(gauge, "controller_runtime_ring_waiting",
        "1 while this replica waits, without slots, because another division works.",
        lambda s: bool(s.ring.member.status.waits_for)),
    Row(gauge, "controller_runtime_ring_epoch",
        "The number of the assignment that this replica follows.", lambda s: s.ring.member.epoch),
    Row(histogram, "controller_runtime_ring_gap_seconds",
        "For each slot that came, how long ago another member may have owned it last.", lambda s: s.counts.gaps),
)
# fmt: on


def of_rings(rings: Sequence[Ring]) -> Iterator[Metric]:
    """Yield the metrics of a manager's rings."""
    if not rings:
        return
    seen = [((ring.config.name,), _Seen(ring, ring.member.status.counts())) for ring in rings]
    yield from metrics_of(_OF_RINGS, ("ring",), seen)
    changes = [((name, how), number) for (name,), one in seen for how, number in one.counts.changes.items()]
    text = "Slots that were taken, given back, or lost because the membership was over."
    yield counter("controller_runtime_ring_slot_changes_total", text, ("ring", "change"), changes)
