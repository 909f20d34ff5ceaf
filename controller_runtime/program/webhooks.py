# SPDX-License-Identifier: Apache-2.0
"""Serves the webhooks of a program, by its options."""

from __future__ import annotations

import attrs

from apimachinery.errors import UsageError
from apimachinery.log import get_logger
from controller_runtime.client.client import Client
from controller_runtime.manager.endpoints import NOWHERE
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.secure_metrics import show_metrics
from controller_runtime.program.plan import ProgramOptions
from controller_runtime.webhooks.configurations import SYSTEM
from controller_runtime.webhooks.installing import uninstall
from controller_runtime.webhooks.webhooks import WebhookServing

log = get_logger(__name__)


EMBEDDED = WebhookServing(address="127.0.0.1:0", namespace=SYSTEM, installed=True)
"""The options for serving webhooks to an embedded server: at a free port, with certificates of their own."""


def webhook_serving(options: ProgramOptions, *, embedded: bool = False) -> WebhookServing | None:
    """Return the options for serving webhooks; None if they are not served.

    Args:
        options: The options of the command line.
        embedded: Whether the server is embedded. Then webhooks are served even without an option, and the server calls
            them by URL, since there is no service.

    Raises:
        UsageError: An option is missing, or has no effect.
    """
    if embedded:
        return _for_embedded(options)
    if options.webhook_bind_address == NOWHERE:
        for name in ("webhook_service", "webhook_cert_dir", "webhook_client_ca_file", "secure_metrics"):
            if getattr(options, name):
                raise UsageError(f"--{name.replace('_', '-')} needs --webhook-bind-address: add it")
        return None
    namespace, slash, name = options.webhook_service.partition("/")
    if not (namespace and slash and name):
        raise UsageError(
            f"--webhook-bind-address needs --webhook-service NS/NAME, got {options.webhook_service!r}: the service "
            "that leads to it"
        )
    return WebhookServing(
        address=options.webhook_bind_address,
        name=name,
        namespace=namespace,
        folder=options.webhook_cert_dir,
        client_authority=options.webhook_client_ca_file,
    )


def _for_embedded(options: ProgramOptions) -> WebhookServing:
    if options.webhook_cert_dir is not None:
        raise UsageError(
            "--webhook-cert-dir and --embedded exclude each other: the embedded server trusts the webhooks by "
            "certificates that the program makes"
        )
    if options.webhook_client_ca_file is not None:
        raise UsageError(
            "--webhook-client-ca-file and --embedded exclude each other: the embedded server has no client certificate"
        )
    namespace, slash, name = options.webhook_service.partition("/")
    if options.webhook_service and not (namespace and slash and name):
        raise UsageError(f"--webhook-service must be NS/NAME, got {options.webhook_service!r}")
    bound = options.webhook_bind_address
    return attrs.evolve(EMBEDDED, address=EMBEDDED.address if bound == NOWHERE else bound, name=name or EMBEDDED.name)


def choose_webhooks(
    manager: Manager, serving: WebhookServing | None, *, metrics: bool = False, installs: bool = False
) -> None:
    """Let a manager serve its webhooks; log a message if it has webhooks that no option serves.

    Args:
        manager: The manager, after `setup` and before it runs.
        serving: How they are served; None if they are not.
        metrics: Whether its metrics are served at the same address.
        installs: The option `--install-crds`.
    """
    if serving is not None and (manager.declared_webhooks or metrics or not serving.installed):
        if metrics:
            show_metrics(manager)
        manager.webhooks.serve(serving)
        if installs and not serving.installed and manager.webhooks.hooks:
            log.info(
                "--install-crds installs no configurations of admission webhooks: apply those of the manifests "
                "(python -m controller_runtime manifests)"
            )
    elif manager.declared_webhooks:
        log.warning("the program's webhooks are not served: --webhook-bind-address and --webhook-service serve them")


def forget_webhooks(manager: Manager, serving: WebhookServing | None) -> None:
    """Remove webhook configurations of an earlier manager from the embedded server, since `setup` may write.

    Args:
        manager: The new manager, before `setup`.
        serving: How its webhooks will be served.
    """
    if serving is not None:
        uninstall(Client(manager.host, manager.transport), serving.name)
