# SPDX-License-Identifier: Apache-2.0
"""A token is requested when it is due, by one caller at a time, and no lock is held during the request."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost
from apimachinery.log import text_of
from controller_runtime.client.http.authorization import Authorization
from controller_runtime.client.http.credentials import Credential, TokenFile
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
    """Returns the header that is sent now, or that becomes available within so many seconds."""
    return authorization.identity(authorization._host.monotonic() + seconds).credential.header


@pytest.fixture
def authorization(sim: Simulation, plugin: Plugin) -> Authorization:
    """Makes an authorization that has requested its credential once."""
    made = Authorization(plugin._host, plugin.configuration)
    header(made)
    return made


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


class Scripted:
    """A source whose credentials expire, and whose answers take time."""

    is_followed = False
    is_quick = False

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._condition = host.condition("scripted source")
        self.lifetime: float | None = 600.0
        self.seconds = 0.0
        self.broken = False
        self.constant = False
        self.asked = 0
        self.given_up = False

    def __str__(self) -> str:
        return "a scripted source"

    def ask(self) -> Credential:
        self.asked += 1
        deadline = self._host.monotonic() + self.seconds
        with self._condition:
            while self._host.monotonic() < deadline and not self.given_up:
                self._condition.wait_until(deadline)
        if self.broken or self.given_up:
            raise OSError("the plugin failed")
        expires_at = self._host.now() + timedelta(seconds=self.lifetime) if self.lifetime else None
        return Credential("Bearer 1" if self.constant else f"Bearer {self.asked}", None, expires_at)

    def give_up(self) -> None:
        with self._condition:
            self.given_up = True
            self._condition.notify_all()

    def __call__(self, configuration: Configuration) -> None:
        raise AssertionError("it is asked as what it is")


@pytest.fixture
def source(sim: Simulation) -> Scripted:
    return Scripted(sim.host("r0"))


@pytest.fixture
def scripted(source: Scripted) -> Authorization:
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.refresh_api_key_hook = source
    made = Authorization(source._host, configuration)
    header(made)
    return made


def test_a_credential_is_used_until_it_expires(sim: Simulation, source: Scripted, scripted: Authorization) -> None:
    headers = [header(scripted)]
    sim.advance(590.0)
    headers.append(header(scripted))
    sim.advance(20.0)
    headers.append(header(scripted))

    assert headers == ["Bearer 1", "Bearer 1", "Bearer 2"]


def test_nobody_waits_for_a_plugin_beyond_the_own_deadline_and_it_is_asked_once(
    sim: Simulation, source: Scripted, scripted: Authorization
) -> None:
    source.seconds = 30.0
    sim.advance(601.0)
    headers: list[str | None] = []
    late: list[str] = []

    def ask(patience: float) -> None:
        try:
            headers.append(header(scripted, patience))
        except ConnectionLost as error:
            late.append(str(error))

    for number, patience in enumerate((5.0, 5.0, 60.0, 60.0)):
        source._host.spawn(f"caller-{number}", lambda patience=patience: ask(patience))
    sim.advance(10.0)
    assert late == ["the credentials were not refreshed in time: a scripted source has yet to answer"] * 2
    sim.advance(25.0)

    assert (headers, source.asked) == (["Bearer 2"] * 2, 2)


def test_a_refusal_renews_the_credential_once_for_all_who_met_it(
    sim: Simulation, source: Scripted, scripted: Authorization
) -> None:
    refused = scripted.identity(source._host.monotonic() + 60.0)
    source.seconds = 2.0
    renewed: list[str | None] = []

    def renew() -> None:
        other = scripted.renewed(refused, source._host.monotonic() + 60.0)
        renewed.append(other and other.credential.header)

    for number in range(3):
        source._host.spawn(f"refused-{number}", renew)
    sim.advance(5.0)
    renew()

    assert (renewed, source.asked) == (["Bearer 2"] * 4, 2)


def test_a_server_that_refuses_everybody_does_not_have_the_plugin_run_each_time(
    sim: Simulation, source: Scripted, scripted: Authorization
) -> None:
    source.constant = True
    for _ in range(20):
        identity = scripted.identity(source._host.monotonic() + 60.0)
        assert scripted.renewed(identity, source._host.monotonic() + 60.0) is None
        sim.advance(0.5)

    assert source.asked == 3


def test_a_renewal_that_fails_is_logged_and_the_refusal_stands(
    sim: Simulation, source: Scripted, scripted: Authorization, caplog: pytest.LogCaptureFixture
) -> None:
    refused = scripted.identity(source._host.monotonic() + 60.0)
    source.broken = True

    assert scripted.renewed(refused, source._host.monotonic() + 60.0) is None

    assert [text_of(record) for record in caplog.records] == [
        "the server refuses the credentials, and new ones could not be had"
    ]


def test_giving_up_ends_the_wait_for_a_plugin(sim: Simulation, source: Scripted, scripted: Authorization) -> None:
    sim.advance(601.0)
    source.seconds = 1000.0
    failed: list[str] = []

    def ask() -> None:
        with pytest.raises(ConnectionLost, match="the plugin failed") as caught:
            header(scripted, 2000.0)
        failed.append(str(caught.value))

    source._host.spawn("caller", ask)
    sim.advance(1.0)
    scripted.give_up()
    sim.settle()

    assert len(failed) == 1


def test_files_that_are_replaced_make_another_identity(sim: Simulation, tmp_path: Path) -> None:
    certificate = tmp_path / "tls.crt"
    certificate.write_text("one")
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.cert_file = str(certificate)
    host = sim.host("r0")
    authorization = Authorization(host, configuration)
    first = authorization.identity(host.monotonic() + 1.0)
    sim.advance(2.0)
    same = authorization.identity(host.monotonic() + 1.0)

    (tmp_path / "new").write_text("two, as kubelets and secrets do it: renamed over the old one")
    (tmp_path / "new").rename(certificate)
    sim.advance(2.0)
    other = authorization.identity(host.monotonic() + 1.0)

    assert first == same
    assert other.connection_key != first.connection_key


def test_a_token_file_is_read_again(sim: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.refresh_api_key_hook = TokenFile(path)
    host = sim.host("r0")
    authorization = Authorization(host, configuration)
    headers = [header(authorization)]

    path.write_text("two")
    headers.append(header(authorization))
    sim.advance(1.1)
    headers.append(header(authorization))
    path.write_text("")
    sim.advance(1.1)

    assert headers == ["Bearer one", "Bearer one", "Bearer two"]
    with pytest.raises(ConnectionLost, match=f"the token file {path} is empty"):
        header(authorization)


def test_nothing_is_asked_before_it_is_needed_and_a_first_failure_is_told_to_all(
    sim: Simulation, source: Scripted
) -> None:
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.refresh_api_key_hook = source
    authorization = Authorization(source._host, configuration)
    source.broken = True
    assert source.asked == 0

    for _ in range(3):
        with pytest.raises(ConnectionLost, match="could not be refreshed: the plugin failed"):
            header(authorization)
    assert source.asked == 1

    source.broken = False
    sim.advance(1.1)
    assert header(authorization) == "Bearer 2"
