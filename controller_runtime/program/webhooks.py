# SPDX-License-Identifier: Apache-2.0
"""How a program serves its webhooks, from its options."""

from __future__ import annotations

from controller_runtime.core.errors import UsageError
from controller_runtime.core.log import get_logger
from controller_runtime.manager.endpoints import NOWHERE
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.secure_metrics import show_metrics
from controller_runtime.program.plan import ProgramOptions
from controller_runtime.webhooks.webhooks import WebhookServing

log = get_logger(__name__)


def webhook_serving(options: ProgramOptions) -> WebhookServing | None:
    """Return how the options say that webhooks are served; None if they are not.

    Raises:
        UsageError: An option is missing or is given in vain.
    """
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


def choose_webhooks(manager: Manager, serving: WebhookServing | None, *, metrics: bool = False) -> None:
    """Have a manager that was set up serve its webhooks; say so if it has some that no option serves.

    Args:
        manager: The manager.
        serving: How they are served; None if they are not.
        metrics: Whether its metrics are served beside them.
    """
    if serving is not None:
        if metrics:
            show_metrics(manager)
        manager.webhooks.serve(serving)
    elif manager.has_webhooks:
        log.warning("the program's webhooks are not served: --webhook-bind-address and --webhook-service serve them")
