# SPDX-License-Identifier: Apache-2.0
"""The replay of the recordings, against the embedded server or the chosen one."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.contract.real_server import emptied
from kit.contract.recorded import AGENT, Replay, Translation, exchanges, regardless_of_pace
from kit.contract.targets import cluster, embedded

from apimachinery.http import HTTPRequest


@pytest.fixture(scope="session")
def is_embedded(chosen: Path | None) -> bool:
    """True if the recordings are replayed against the embedded server."""
    return chosen is None


@pytest.fixture(scope="session")
def replay(chosen: Path | None) -> Replay:
    """The expected and the actual response of each exchange. All are made once, in the recorded order.

    With a real server, the parts of a response that depend on the pace of the run are left out.
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
