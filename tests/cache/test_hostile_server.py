# SPDX-License-Identifier: Apache-2.0
"""A server that always does the same wrong thing: how often it is asked, what is kept, and what readiness says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.cache.scripted import Act, Cut, End, Pause, Refused, failure, page, watched
from kit.cache.wrong_server import Behaviour, Program, most_in_a_minute
from kit.nodes import bookmark_line, error_line, line, node

from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.ends

HALF_AN_HOUR = 1800.0


def listing(watch: Callable[[int], Act]) -> Behaviour:
    """Answer lists, but neither watches nor lists by stream."""

    def behave(kind: str, version: int) -> Act:
        match kind:
            case "list":
                return page(version, node("a", version))
            case "stream":
                return failure(422, "Invalid", "sendInitialEvents is forbidden")
        return watch(version)

    return behave


def streaming(*after: bytes | Pause | Cut | End) -> Behaviour:
    """Answer every request with a good streamed list, which then goes on like this."""
    return lambda kind, version: watched(
        line("ADDED", node("a", version)), bookmark_line(version, ends_initial="true"), *after
    )


def said(version: int, *steps: bytes | Pause | Cut | End) -> Act:
    return watched(line("MODIFIED", node("a", version)), *steps)


@pytest.mark.parametrize(
    ("behaviour", "most", "is_well"),
    [
        pytest.param(listing(lambda v: watched(End())), 10, True, id="closes watches at once, so it is listed"),
        pytest.param(listing(lambda v: watched(Cut())), 8, False, id="cuts watches at once"),
        pytest.param(listing(lambda v: said(v, End())), 61, True, id="closes watches after one event"),
        pytest.param(listing(lambda v: said(v, Cut())), 8, True, id="cuts watches after one event"),
        pytest.param(listing(lambda v: watched(bookmark_line(v), End())), 61, True, id="closes after a bookmark"),
        pytest.param(listing(lambda v: failure(410, "Expired")), 12, True, id="a storm of 410"),
        pytest.param(listing(lambda v: watched(error_line(410, "Expired"))), 12, True, id="a storm of 410 as events"),
        pytest.param(streaming(error_line(410, "Expired")), 8, True, id="a storm of 410 after streamed lists"),
        pytest.param(streaming(End()), 61, True, id="closes streamed lists at once"),
        pytest.param(listing(lambda v: failure(429, "TooManyRequests", retry_after=1)), 8, False, id="always busy"),
        pytest.param(listing(lambda v: watched()), 3, False, id="half-open after each list"),
        pytest.param(
            lambda kind, v: page(v, node("a", v), more="token") if kind == "list" else failure(422, "Invalid"),
            8,
            False,
            id="a list that never ends",
        ),
        pytest.param(lambda kind, v: Refused(), 8, False, id="nobody there"),
        pytest.param(lambda kind, v: watched() if kind != "list" else Refused(), 8, False, id="streams are silent"),
    ],
)
def test_a_server_that_goes_wrong_for_ever_is_asked_seldom_and_told_of(
    behaviour: Behaviour, most: int, is_well: bool, sim: Simulation
) -> None:
    p = Program(sim, behaviour)

    sim.advance(HALF_AN_HOUR)
    problems = [p.problem for _ in range(30) if sim.advance(10.0) is None and p.problem]

    times = p.server.times
    assert most_in_a_minute(times) <= 63
    assert most_in_a_minute([time for time in times if time > times[0] + 600.0]) <= most
    assert (not problems) == is_well, problems
    assert len(p.informer.store) <= 1
