# SPDX-License-Identifier: Apache-2.0
"""Several threads report events at once, the recorder is stopped in between, and the server sometimes fails."""

from __future__ import annotations

from typing import Any

import pytest
from kit.occurrences import Sink

from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.events.occurrence import OccurrenceFate
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.testing.simulation import SimulatedHost, Simulation

TELLERS, TIMES = 3, 12


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}


def tell(host: SimulatedHost, recorder: EventRecorder, number: int, stop: Stop) -> None:
    for time in range(TIMES):
        recorder.event(node(f"n{time % 3}"), "Normal", "Seen", f"{number} {time % 2}")
        stop.wait(host.random.random() * 20.0)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("api", [pytest.param(EventAPI.EVENTS, id="events"), pytest.param(EventAPI.CORE, id="core")])
def test_every_occurrence_is_counted_on_the_server_or_as_lost(seed: int, api: EventAPI) -> None:
    with Simulation(seed) as sim:
        host = sim.host("h")
        sink = Sink(*[host.random.choice([200, 200, None]) for _ in range(20)], loses_only_answers=seed % 2 == 0)
        recorder = EventRecorder(host, Client(host, sink), component="c", api=api)
        recording, telling = Stop(host, "recording"), Stop(host, "telling")
        thread = host.spawn("recorder", lambda: recorder.run(recording))
        for number in range(TELLERS):
            host.spawn(f"teller-{number}", lambda number=number: tell(host, recorder, number, telling))  # type: ignore[misc]

        sim.advance(100.0)
        recording.set()
        sim.advance(1000.0)

        assert thread.join_until(host.monotonic())
        counts = recorder.counts()
        on_server = sum(event.get("count") or event.get("series", {}).get("count", 1) for event in sink.events.values())
        told = TELLERS * TIMES
        assert on_server <= told
        # A write that failed may have contained the count of many occurrences.
        assert (
            counts[OccurrenceFate.FAILED]
            or on_server + counts[OccurrenceFate.DROPPED] + counts[OccurrenceFate.SPAM] == told
        )
