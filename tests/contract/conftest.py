# SPDX-License-Identifier: Apache-2.0
"""The contract suite's replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.real_server import emptied
from kit.recorded import AGENT, Replay, Translation, exchanges, regardless_of_pace
from kit.targets import cluster, embedded

from controller_runtime.api.http import HTTPRequest


@pytest.fixture(scope="session")
def is_embedded(chosen: Path | None) -> bool:
    """Whether our own server is asked."""
    return chosen is None


@pytest.fixture(scope="session")
def replay(chosen: Path | None) -> Replay:
    """What had to be answered and what was, by exchange; all are made once, in their order.

    On a real server what depends on the pace of the run is left out.
    """
    translation, replayed = Translation(others_write=chosen is not None), {}
    with embedded() if chosen is None else cluster(emptied(chosen)) as ask:
        ask(HTTPRequest("POST", "/api/v1/namespaces", headers=AGENT, body=b'{"metadata": {"name": "rec"}}'))
        for exchange in exchanges():
            recorded, actual = exchange.answer, ask(translation.request(exchange))
            if chosen is not None:
                recorded, actual = regardless_of_pace(recorded), regardless_of_pace(actual)
            replayed[exchange.id] = (translation.expected(recorded, actual), actual)
    return replayed
