# SPDX-License-Identifier: Apache-2.0
"""Sequences of requests for custom objects, definitions, admission and deletion are answered as by a real server."""

from __future__ import annotations

import pytest
from kit.contract.compared import RECORDINGS, compared
from kit.contract.engines import WITH_RE2

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=WITH_RE2 if name == "definitions" else ()) for name in RECORDINGS]
)
def test_answers_are_those_of_a_real_server(name: str) -> None:
    with Simulation() as sim:
        server = APIServer(sim.host("server"))
        different = [
            f"{request}\n  recorded: {recorded}\n  here:     {actual}"
            for request, recorded, actual in compared(name, server)
            if recorded != actual
        ]
        server.close()

    assert different == []
