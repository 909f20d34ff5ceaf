# SPDX-License-Identifier: Apache-2.0
"""The contract suite's replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_server import emptied
from recorded import AGENT, Replay, Translation, exchanges, in_any_order
from targets import cluster, embedded

from controller_runtime.api.wire import HTTPRequest


@pytest.fixture(scope="session")
def is_embedded(chosen: Path | None) -> bool:
    """Whether our own server is asked."""
    return chosen is None


@pytest.fixture(scope="session")
def replay(chosen: Path | None) -> Replay:
    """What had to be answered and what was, by exchange; all are made once, in their order.

    A real server orders managedFields by the second of their last write, and a replay in real time takes several: there
    they are compared in any order.
    """
    translation, replayed = Translation(), {}
    with embedded() if chosen is None else cluster(emptied(chosen)) as ask:
        ask(HTTPRequest("POST", "/api/v1/namespaces", headers=AGENT, body=b'{"metadata": {"name": "rec"}}'))
        for exchange in exchanges():
            recorded, actual = exchange.answer, ask(translation.request(exchange))
            if chosen is not None:
                recorded, actual = in_any_order(recorded), in_any_order(actual)
            replayed[exchange.id] = (translation.expected(recorded, actual), actual)
    return replayed
