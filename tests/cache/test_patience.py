# SPDX-License-Identifier: Apache-2.0
"""The bounds of lists and watches: they are checked, and they are kept."""

from __future__ import annotations

import pytest
from kit.cache.scripted import Answer, Cut, Pause, Refused, ScriptedServer, watched
from kit.nodes import bookmark_line

from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.patience import Patience
from controller_runtime.core.backoff import Backoff
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.problems import problem_of
from controller_runtime.testing.simulation import Simulation

SHORT = Patience(silence=5.0, overdue=7.0, watch=(20.0, 20.0), backoff=Backoff(initial=1.0, jitter=0.0))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"silence": 0.0}, id="no time at all"),
        pytest.param({"initial_silence": -1.0}, id="less than none"),
        pytest.param({"silence": 200.0}, id="overdue before it is given up"),
        pytest.param({"watch": (9.0, 8.0)}, id="bounds the wrong way round"),
        pytest.param({"watch": (0.5, 8.0)}, id="a watch without end"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Patience(**wrong)  # type: ignore[arg-type]


def test_a_manager_hands_its_patience_to_its_caches(sim: Simulation) -> None:
    host = sim.host("r0")
    server = ScriptedServer(host, watched(bookmark_line(5, ends_initial="true")), watched())
    manager, stop = Manager(host, server, patience=SHORT), Stop(host)
    informer = manager.informer(NODES)
    thread = host.spawn("manager", lambda: manager.run(stop))
    sim.settle()
    assert (server.asked[0]["timeoutSeconds"], problem_of(informer, host)) == ("20", "")

    sim.advance(12.0)

    assert informer.reflector.liveness.idle == 2
    assert "has heard nothing for" in problem_of(informer, host)
    stop.set()
    sim.advance(60.0)
    assert thread.join_until(host.monotonic())


def test_a_managers_cache_that_lost_the_server_tries_as_soon_as_a_write_is_answered(sim: Simulation) -> None:
    host = sim.host("r0")
    synced = watched(bookmark_line(5, ends_initial="true"), Pause(3.0), Cut())
    server = ScriptedServer(host, synced, *[Refused()] * 4, Answer(200, b"{}"), watched())
    manager, stop = Manager(host, server, patience=SHORT), Stop(host)
    manager.informer(NODES)
    thread = host.spawn("manager", lambda: manager.run(stop))
    sim.advance(30.0)  # it is lost after 3 s, tried 1, 3, 7 and 15 s later, and would be tried after 31
    began = host.monotonic()

    manager.transport.request(HTTPRequest("PUT", "/api/v1/nodes/a"), began + 1.0)
    sim.settle()

    assert server.questions[-1] == "watch 5"
    assert server.times[-1] == began
    stop.set()
    sim.advance(60.0)
    assert thread.join_until(host.monotonic())
