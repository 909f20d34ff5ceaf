# SPDX-License-Identifier: Apache-2.0
"""The token is asked for as time goes by, by one caller at a time, and no lock is held meanwhile."""

from __future__ import annotations

import pytest
from kubernetes.client import Configuration

from controller_runtime.client.http_authorization import Authorization
from controller_runtime.core.errors import ConnectionLost
from controller_runtime.testing.simulation import SimulatedHost, Simulation


class Plugin:
    """A credential plugin that takes `seconds` and gives a new token each time."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._condition = host.condition("plugin")
        self.seconds = 0.0
        self.broken = False
        self.asked = 0
        self.configuration = Configuration(host="http://127.0.0.1:1")
        self.configuration.refresh_api_key_hook = self._refresh

    def _refresh(self, configuration: Configuration) -> None:
        self._host.leaving("plugin")
        self.asked += 1
        deadline = self._host.monotonic() + self.seconds
        with self._condition:
            while self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
        if self.broken:
            raise OSError("token file is gone")
        configuration.api_key["BearerToken"] = f"Bearer {self.asked}\n"


@pytest.fixture
def plugin(sim: Simulation) -> Plugin:
    return Plugin(sim.host("r0"))


def header(authorization: Authorization, seconds: float = 60.0) -> str | None:
    """What is said now, or within so many seconds."""
    return authorization.identity(authorization._host.monotonic() + seconds).credential.header


@pytest.fixture
def authorization(sim: Simulation, plugin: Plugin) -> Authorization:
    return Authorization(plugin._host, plugin.configuration)


def test_a_token_is_asked_for_again_after_a_second(
    sim: Simulation, plugin: Plugin, authorization: Authorization
) -> None:
    headers = [header(authorization), header(authorization)]

    sim.advance(1.1)
    headers.append(header(authorization))

    assert headers == ["Bearer 1", "Bearer 1", "Bearer 2"]


def test_while_one_asks_the_others_use_the_last_token(
    sim: Simulation, plugin: Plugin, authorization: Authorization
) -> None:
    plugin.seconds = 10.0
    sim.advance(2)
    headers: list[str | None] = []

    for number in range(5):
        plugin._host.spawn(f"caller-{number}", lambda: headers.append(header(authorization)))
    sim.advance(1)
    assert (headers, plugin.asked) == (["Bearer 1"] * 4, 2)
    sim.advance(10)

    assert headers == ["Bearer 1"] * 4 + ["Bearer 2"]


def test_a_failed_refresh_is_told_to_who_asked_and_tried_again_later(
    sim: Simulation, plugin: Plugin, authorization: Authorization
) -> None:
    plugin.broken = True
    sim.advance(2)

    with pytest.raises(ConnectionLost, match="token file is gone"):
        header(authorization)
    assert header(authorization) == "Bearer 1"

    plugin.broken = False
    sim.advance(2)
    assert header(authorization) == "Bearer 3"


def test_without_credentials_there_is_no_header(sim: Simulation) -> None:
    assert header(Authorization(sim.host("r0"), Configuration(host="http://127.0.0.1:1"))) is None
