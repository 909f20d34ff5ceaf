# SPDX-License-Identifier: Apache-2.0
"""A program serves its webhooks as its options say, and says so if it has some that no option serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.cabins import Cabin

from controller_runtime import Manager, SystemHost, UsageError
from controller_runtime.manifests.facts import unconnected_manager
from controller_runtime.program.plan import ProgramOptions
from controller_runtime.program.webhooks import choose_webhooks, webhook_serving
from controller_runtime.webhooks import Checks, WebhookServing

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


def test_a_manager_that_was_set_up_serves_them_or_says_that_it_does_not(caplog: pytest.LogCaptureFixture) -> None:
    manager: Manager = unconnected_manager(SystemHost())
    choose_webhooks(manager, None)
    assert caplog.text == ""
    manager.webhooks.add(Checks(Cabin, lambda *_: None))
    choose_webhooks(manager, None)
    assert "webhooks are not served: --webhook-bind-address and --webhook-service serve them" in caplog.text

    choose_webhooks(manager, webhook_serving(ProgramOptions(**SERVED)))

    assert manager.webhooks.service == ("hooks", "cabins-system")
    assert manager.webhooks_problem() == "the webhooks are not served yet"
