# SPDX-License-Identifier: Apache-2.0
"""Clients find the server by the environment, and nothing else; afterwards it is as it was."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.testing.environment import ProcessEnvironment, changes

FILE = Path("/tmp/kubeconfig")
NAMES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "HTTPS_PROXY", "NO_PROXY", "no_proxy", "A")


def test_the_variables_of_a_pod_are_unset() -> None:
    assert changes({}, FILE) == {
        "KUBECONFIG": str(FILE),
        "KUBERNETES_SERVICE_HOST": None,
        "KUBERNETES_SERVICE_PORT": None,
        "KUBERNETES_SERVICE_PORT_HTTPS": None,
    }


def test_loopback_is_excepted_from_a_proxy() -> None:
    found = changes({"HTTPS_PROXY": "http://proxy:1", "no_proxy": "example.com"}, FILE)

    assert (found["NO_PROXY"], found["no_proxy"]) == ("127.0.0.1", "example.com,127.0.0.1")


def test_an_exception_that_is_there_is_left_alone() -> None:
    found = changes({"all_proxy": "socks5://proxy:1", "NO_PROXY": "127.0.0.1,x", "no_proxy": "*"}, FILE)

    assert not {"NO_PROXY", "no_proxy"} & {*found}


@given(st.dictionaries(st.sampled_from(NAMES), st.text()))
def test_the_environment_is_restored_whatever_it_was(before: dict[str, str]) -> None:
    environment = dict(before)
    changed = ProcessEnvironment(FILE, environment)

    changed.enter()
    assert environment["KUBECONFIG"] == str(FILE)
    assert "KUBERNETES_SERVICE_HOST" not in environment
    changed.leave()
    changed.leave()

    assert environment == before
