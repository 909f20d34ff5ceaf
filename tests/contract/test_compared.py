# SPDX-License-Identifier: Apache-2.0
"""Sequences of requests for custom objects, definitions, admission and deletion are answered as by a real server."""

from __future__ import annotations

import pytest
from kit.compared import RECORDINGS, compared

from controller_runtime.apiserver.server import APIServer
from controller_runtime.testing.simulation import Simulation


@pytest.mark.parametrize("name", RECORDINGS)
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
