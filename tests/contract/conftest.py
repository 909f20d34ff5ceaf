# SPDX-License-Identifier: Apache-2.0
"""The contract suite's option and its replay."""

from __future__ import annotations

import pytest
from kit.recorded import AGENT, Replay, Translation, exchanges
from kit.targets import cluster, embedded

from controller_runtime.api.http import HTTPRequest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", help="replay the recordings against this API server instead of the embedded one")


@pytest.fixture(scope="session")
def is_embedded(pytestconfig: pytest.Config) -> bool:
    """Whether our own server is asked."""
    return pytestconfig.getoption("--kubeconfig", None) is None


@pytest.fixture(scope="session")
def replay(pytestconfig: pytest.Config) -> Replay:
    """What had to be answered and what was, by exchange; all are made once, in their order."""
    kubeconfig = pytestconfig.getoption("--kubeconfig", None)
    translation, replayed = Translation(), {}
    with cluster(kubeconfig) if kubeconfig else embedded() as ask:
        ask(HTTPRequest("POST", "/api/v1/namespaces", headers=AGENT, body=b'{"metadata": {"name": "rec"}}'))
        for exchange in exchanges():
            actual = ask(translation.request(exchange))
            replayed[exchange.id] = (translation.expected(exchange.answer, actual), actual)
    return replayed
