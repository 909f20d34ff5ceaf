# SPDX-License-Identifier: Apache-2.0
"""A program serves its webhooks as its options say, and says so if it has some that no option serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinV1Alpha1
from kit.crd.conversions import cabins

from apimachinery.stop import Stop
from controller_runtime import Manager, ObjectKey, SystemHost
from controller_runtime.errors import Invalid, UsageError
from controller_runtime.manifests.facts import unconnected_manager
from controller_runtime.program.plan import ProgramOptions
from controller_runtime.program.program import Program, execute
from controller_runtime.program.webhooks import EMBEDDED, choose_webhooks, forget_webhooks, webhook_serving
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.webhooks import Admission, Checks, Converts, Defaults, FieldError, WebhookServing
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING

SERVED = {"webhook_bind_address": ":9443", "webhook_service": "cabins-system/hooks"}


def test_without_an_address_nothing_is_served() -> None:
    assert webhook_serving(ProgramOptions()) is None


def test_the_options_name_address_service_and_files() -> None:
    options = ProgramOptions(**SERVED, webhook_cert_dir=Path("certs"), webhook_client_ca_file=Path("ca.crt"))

    assert webhook_serving(options) == WebhookServing(
        address=":9443",
        name="hooks",
        namespace="cabins-system",
        folder=Path("certs"),
        client_authority=Path("ca.crt"),
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"webhook_service": "a/b"}, "--webhook-service needs --webhook-bind-address"),
        ({"webhook_cert_dir": Path("x")}, "--webhook-cert-dir needs --webhook-bind-address"),
        ({"webhook_bind_address": ":9443"}, "needs --webhook-service NS/NAME"),
        ({"webhook_bind_address": ":9443", "webhook_service": "hooks"}, "needs --webhook-service NS/NAME, got 'hooks'"),
    ],
)
def test_options_that_do_not_fit_together_are_one_line(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        webhook_serving(ProgramOptions(**options))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"webhook_cert_dir": Path("x")}, "--webhook-cert-dir and --embedded exclude each other"),
        ({"webhook_client_ca_file": Path("x")}, "--webhook-client-ca-file and --embedded exclude each other"),
        ({"webhook_service": "hooks"}, "--webhook-service must be NS/NAME, got 'hooks'"),
    ],
)
def test_options_that_an_embedded_server_cannot_have_are_one_line(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        webhook_serving(ProgramOptions(embedded=True, **options), embedded=True)


@pytest.mark.parametrize(
    ("options", "address", "name"),
    [
        ({}, "127.0.0.1:0", "webhooks"),
        (SERVED, ":9443", "hooks"),
        ({"webhook_service": "a/b"}, "127.0.0.1:0", "b"),
    ],
)
def test_an_embedded_server_is_given_the_configurations(options: dict[str, Any], address: str, name: str) -> None:
    found = webhook_serving(ProgramOptions(embedded=True, **options), embedded=True)

    assert found == WebhookServing(address=address, name=name, namespace="kube-system", installed=True)


def test_certificates_from_files_are_not_installed() -> None:
    with pytest.raises(UsageError, match="leave the folder out"):
        unconnected_manager(SystemHost()).webhooks.serve(WebhookServing(folder=Path("x"), installed=True))


class Writes:
    """Writes cabins of both versions while the program runs, and then stops it."""

    name = "writes"

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self.found: dict[str, Any] = {}

    def run(self, stop: Stop) -> None:
        client = self._manager.client
        old = {"metadata": {"name": "old", "namespace": "default"}, "spec": {"bunks": 2}}
        client.create(CabinV1Alpha1, old)
        self.found["old"] = client.get(Cabin, ObjectKey("old", "default")).spec
        try:
            client.create(Cabin, {"metadata": {"name": "new", "namespace": "default"}, "spec": {"beds": 8}})
        except Invalid as error:
            self.found["new"] = str(error).rpartition("denied the request: ")[2]
        self.found["names"] = [each["metadata"]["name"] for each in client.list(VALIDATING)]
        self._manager.stopping.set()


@pytest.mark.embedded("the program starts a server of its own")
def test_a_program_on_an_embedded_server_has_it_call_the_webhooks() -> None:
    writes: list[Writes] = []

    def setup(manager: Manager) -> None:
        manager.install(Cabin, CabinV1Alpha1)
        manager.webhooks.add(Defaults(Cabin, fill), Checks(Cabin, refuse), Converts(cabins))
        writes.append(Writes(manager))
        manager.add(writes[0])

    execute(Program(name="cabins", setup=setup), ProgramOptions(embedded=True, duration=20.0))

    assert writes[0].found == {
        "old": CabinSpec(2, tags={"filled": "in"}),
        "new": 'Cabin.example.com "new" is invalid: spec.beds: Invalid value: 8: seven at most',
        "names": ["webhooks"],
    }


def fill(cabin: Cabin, request: Admission[Cabin]) -> Cabin:
    cabin.spec.tags["filled"] = "in"
    return cabin


def refuse(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
    return FieldError("spec.beds", "seven at most", value=cabin.spec.beds) if cabin.spec.beds > 7 else None


def test_the_webhooks_of_an_earlier_manager_are_not_called_while_the_next_one_is_set_up(
    cluster: EmbeddedCluster,
) -> None:
    cluster.manager.webhooks.add(Checks(Cabin, refuse), Defaults(Cabin, fill))
    cluster.start()
    before = [len(cluster.user.list(each)) for each in (MUTATING, VALIDATING)]

    for _ in range(2):
        forget_webhooks(cluster.manager, EMBEDDED)

    assert before == [1, 1]
    assert [cluster.user.list(each) for each in (MUTATING, VALIDATING)] == [[], []]


def test_a_manager_that_was_set_up_serves_them_or_says_that_it_does_not(caplog: pytest.LogCaptureFixture) -> None:
    manager: Manager = unconnected_manager(SystemHost())
    choose_webhooks(manager, None)
    assert caplog.text == ""
    manager.webhooks.add(Checks(Cabin, lambda *_: None))
    choose_webhooks(manager, None)
    assert "webhooks are not served: --webhook-bind-address and --webhook-service serve them" in caplog.text

    choose_webhooks(manager, webhook_serving(ProgramOptions(**SERVED)))

    assert manager.webhooks.service == ("hooks", "cabins-system")
    assert manager.declared_webhooks.problem() == "the webhooks are not served yet"


def test_install_crds_says_that_it_installs_no_configurations(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    manager = unconnected_manager(SystemHost())
    manager.webhooks.add(Checks(Cabin, lambda cabin, request: None))
    choose_webhooks(manager, webhook_serving(ProgramOptions(**SERVED)), installs=True)

    assert caplog.text.count("--install-crds installs no configurations of admission webhooks: apply those of") == 1
