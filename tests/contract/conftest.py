# SPDX-License-Identifier: Apache-2.0
"""The contract suite's option `--kubeconfig`, and the replay of the recordings."""

from __future__ import annotations

import pytest
from kit.recorded import AGENT, Replay, Translation, exchanges
from kit.targets import cluster, embedded

from controller_runtime.api.http import HTTPRequest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", help="replay the recordings against this API server instead of the embedded one")


@pytest.fixture(scope="session")
def is_embedded(pytestconfig: pytest.Config) -> bool:
    """True if the recordings are replayed against the embedded server."""
    return pytestconfig.getoption("--kubeconfig", None) is None


@pytest.fixture(scope="session")
def replay(pytestconfig: pytest.Config) -> Replay:
    """The expected and the actual response of each exchange. All are made once, in the recorded order."""
    kubeconfig = pytestconfig.getoption("--kubeconfig", None)
    translation, replayed = Translation(), {}
    with cluster(kubeconfig) if kubeconfig else embedded() as ask:
        ask(HTTPRequest("POST", "/api/v1/namespaces", headers=AGENT, body=b'{"metadata": {"name": "rec"}}'))
        for exchange in exchanges():
            actual = ask(translation.request(exchange))
            replayed[exchange.id] = (translation.expected(exchange.answer, actual), actual)
    return replayed
