# SPDX-License-Identifier: Apache-2.0
"""Heartbeats with planted bugs, which the simulation must find: replacements for parts of the real one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from controller_runtime.api.objects import Cached
from controllers.heartbeat import step as heartbeat_step
from controllers.heartbeat.step import FIRST_PAUSE, Answer, Ask, Heartbeat, Part, Reply, Step, Terms


def wall_clock(now: datetime, last: datetime | None) -> datetime:
    """Replacement of `next_renew_time`: returns the clock's time, even if it went back."""
    return now


def short_memory(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """Replacement of `renew_time_of`: ignores the times that an earlier process wrote."""
    return known


def same_time(base: Cached | None, terms: Terms, renew_time: datetime) -> dict[str, Any]:
    """Replacement of `content`: a renewal writes the time that the lease has already."""
    lease = heartbeat_step.content(base, terms, renew_time)
    if base is not None:
        lease["spec"]["renewTime"] = msgspec.json.decode(base.raw)["spec"]["renewTime"]
    return lease


def resigned(state: Heartbeat, answer: Answer) -> Step:
    """Replacement of `advance`: once the pauses have grown to 3.2 s, the next read comes in an hour."""
    step = heartbeat_step.advance(state, answer)
    return attrs.evolve(step, wait=3600.0) if step.wait >= 3.2 else step


def stubborn(state: Heartbeat, answer: Answer) -> Step:
    """Replacement of `advance`: does not read the lease again after a conflict, now or later."""
    if state.ask is Ask.RENEW and answer.reply is Reply.CONFLICT:
        return Step(Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=state.base, base=state.base), pass_ends=True)
    return heartbeat_step.advance(state, answer)


def hasty(state: Heartbeat, answer: Answer) -> Step:
    """Replacement of `advance`: once a request has failed, it renews twice as often forever."""
    step = heartbeat_step.advance(state, answer)
    if state.tries == 0 and state.pause == FIRST_PAUSE:
        return step
    remembers = attrs.evolve(step.state, pause=2 * FIRST_PAUSE)
    return attrs.evolve(step, state=remembers, pass_ends=False, wait=5.0 if step.pass_ends else step.wait)
