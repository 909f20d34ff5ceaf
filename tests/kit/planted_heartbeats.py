# SPDX-License-Identifier: Apache-2.0
"""Replacements for parts of a heartbeat with planted errors, which the simulation must find."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from controller_runtime.api.objects import Cached
from controllers.heartbeat import step as heartbeat_step
from controllers.heartbeat.step import FIRST_PAUSE, Answer, Ask, Heartbeat, LeaseFields, Part, Reply, Step


def wall_clock(now: datetime, last: datetime | None) -> datetime:
    """Return the clock's time; replaces `next_renew_time`, which never goes back."""
    return now


def short_memory(lease: Mapping[str, Any], known: datetime | None) -> datetime | None:
    """Ignore the time in the lease that an earlier process wrote; replaces `renew_time_of`."""
    return known


def same_time(base: Cached | None, terms: Terms, renew_time: datetime) -> dict[str, Any]:
    """Renew the lease with the time that it has already; replaces `content`."""
    lease = heartbeat_step.content(base, terms, renew_time)
    if base is not None:
        lease["spec"]["renewTime"] = msgspec.json.decode(base.raw)["spec"]["renewTime"]
    return lease


def resigned(state: Heartbeat, answer: Answer) -> Step:
    """Wait for an hour once the pauses between tries have grown to 3.2 s; replaces `advance`."""
    step = heartbeat_step.advance(state, answer)
    return attrs.evolve(step, wait=3600.0) if step.wait >= 3.2 else step


def stubborn(state: Heartbeat, answer: Answer) -> Step:
    """Never read the lease again after a conflict; replaces `advance`."""
    if state.ask is Ask.RENEW and answer.reply is Reply.CONFLICT:
        return Step(Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=state.base, base=state.base), pass_ends=True)
    return heartbeat_step.advance(state, answer)


def hasty(state: Heartbeat, answer: Answer) -> Step:
    """Renew twice as often, forever, after a request has failed; replaces `advance`."""
    step = heartbeat_step.advance(state, answer)
    if state.tries == 0 and state.pause == FIRST_PAUSE:
        return step
    remembers = attrs.evolve(step.state, pause=2 * FIRST_PAUSE)
    return attrs.evolve(step, state=remembers, pass_ends=False, wait=5.0 if step.pass_ends else step.wait)
