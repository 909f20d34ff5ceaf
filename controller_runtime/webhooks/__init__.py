# SPDX-License-Identifier: Apache-2.0
"""Webhooks for typed objects: defaults, checks and conversions, over TLS with certificates that renew themselves.

The names in `__all__` are public; see `docs/webhooks.md`. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_runtime.webhooks.admission import Admission, FieldError, Findings, Operation, User
    from controller_runtime.webhooks.converting import Converts
    from controller_runtime.webhooks.hooks import Checks, Defaults, Hook
    from controller_runtime.webhooks.webhooks import Webhooks, WebhookServing

__all__ = [
    "Admission",
    "Checks",
    "Converts",
    "Defaults",
    "FieldError",
    "Findings",
    "Hook",
    "Operation",
    "User",
    "WebhookServing",
    "Webhooks",
]

_MODULES = {
    **dict.fromkeys(("Checks", "Defaults", "Hook"), "hooks"),
    "Converts": "converting",
    **dict.fromkeys(("WebhookServing", "Webhooks"), "webhooks"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'admission')}"), name)


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
