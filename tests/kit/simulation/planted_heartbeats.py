# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that are wrong on purpose: each replaces one part of the real one, and the simulation must find it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.objects import Cached
from controllers.heartbeat import step as heartbeat_step
from controllers.heartbeat.step import FIRST_PAUSE, Answer, Ask, Heartbeat, LeaseFields, Part, Reply, Step


def wall_clock(now: datetime, last: datetime | None) -> datetime:
    """Replace `next_renew_time`: a renewal carries the time of our clock, even if that was set back."""
    return now


def short_memory(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """Replace `renew_time_of`: the time that an earlier process wrote to the lease is ignored."""
    return known


def same_time(base: Cached | None, fields: LeaseFields, renew_time: datetime) -> dict[str, Any]:
    """Replace `lease_to_write`: a renewal carries the time that the lease already has."""
    lease = heartbeat_step.lease_to_write(base, fields, renew_time)
    if base is not None:
        lease["spec"]["renewTime"] = msgspec.json.decode(base.raw)["spec"]["renewTime"]
    return lease


def resigned(state: Heartbeat, answer: Answer) -> Step:
    """Replace `advance`: once the pauses have grown to 3.2 s, the next request comes an hour later."""
    step = heartbeat_step.advance(state, answer)
    return attrs.evolve(step, wait=3600.0) if step.wait >= 3.2 else step


def stubborn(state: Heartbeat, answer: Answer) -> Step:
    """Replace `advance`: after a conflict the lease is not read again, in this pass or in later ones."""
    if state.ask is Ask.RENEW and answer.reply is Reply.CONFLICT:
        return Step(Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=state.base, base=state.base), pass_ends=True)
    return heartbeat_step.advance(state, answer)


def hasty(state: Heartbeat, answer: Answer) -> Step:
    """Replace `advance`: once a request has failed, renewals come twice as often, forever."""
    step = heartbeat_step.advance(state, answer)
    if state.tries == 0 and state.pause == FIRST_PAUSE:
        return step
    remembers = attrs.evolve(step.state, pause=2 * FIRST_PAUSE)
    return attrs.evolve(step, state=remembers, pass_ends=False, wait=5.0 if step.pass_ends else step.wait)
