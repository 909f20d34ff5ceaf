# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that are wrong on purpose, to see that the weather finds them: stand-ins for parts of the real one."""

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
    """In place of `next_renew_time`: whatever the clock says."""
    return now


def short_memory(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """In place of `renew_time_of`: what a process before this one wrote does not count."""
    return known


def same_time(base: Cached | None, terms: Terms, renew_time: datetime) -> dict[str, Any]:
    """In place of `content`: a renewal carries the time that the lease has."""
    lease = heartbeat_step.content(base, terms, renew_time)
    if base is not None:
        lease["spec"]["renewTime"] = msgspec.json.decode(base.raw)["spec"]["renewTime"]
    return lease


def resigned(state: Heartbeat, answer: Answer) -> Step:
    """In place of `advance`: once the pauses have grown to 3.2 s, the next look comes in an hour."""
    step = heartbeat_step.advance(state, answer)
    return attrs.evolve(step, wait=3600.0) if step.wait >= 3.2 else step


def stubborn(state: Heartbeat, answer: Answer) -> Step:
    """In place of `advance`: a conflict is no reason to read the lease again, now or in later passes."""
    if state.ask is Ask.RENEW and answer.reply is Reply.CONFLICT:
        return Step(Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=state.base, base=state.base), pass_ends=True)
    return heartbeat_step.advance(state, answer)


def hasty(state: Heartbeat, answer: Answer) -> Step:
    """In place of `advance`: once a request has failed, it beats twice as often for ever."""
    step = heartbeat_step.advance(state, answer)
    if state.tries == 0 and state.pause == FIRST_PAUSE:
        return step
    remembers = attrs.evolve(step.state, pause=2 * FIRST_PAUSE)
    return attrs.evolve(step, state=remembers, pass_ends=False, wait=5.0 if step.pass_ends else step.wait)
