# SPDX-License-Identifier: Apache-2.0
"""Defaults of custom resource definitions that depend on other fields."""

from __future__ import annotations

from collections.abc import Mapping

from embedded_apiserver.objects import Object, filled

_HTTPS = 443
_NONE: Mapping[str, str] = {"strategy": "None"}


def definition(value: Object, before: Object) -> Object:
    """Return the `spec` of a custom resource definition with default names, which are derived from the kind."""
    names = value.get("names") or {}
    kind = names.get("kind", "")
    if not kind:
        return value
    given = {name: text for name, text in names.items() if text}
    made = {**names, "singular": kind.lower(), "listKind": f"{kind}List", **given}
    return value if made == names else {**value, "names": made}


def conversion(value: Object, before: Object) -> Object:
    """Return the conversion of a custom resource definition; if it is empty, the default strategy `None`."""
    return value or _NONE


def service_reference(value: Object, before: Object) -> Object:
    """Return a webhook's reference to a service with the default port."""
    return filled(value, {"port": _HTTPS})
