# SPDX-License-Identifier: Apache-2.0
"""The validation errors of the conversion of a custom resource definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.names import service_name_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.client_configs import client_config
from embedded_apiserver.status import Cause

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
# The older API, whose field names a real server uses in its messages, had both without the `webhook` around them.
_CLIENT, _VERSIONS = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"


def conversion_causes(conversion: Mapping[str, Any]) -> Iterator[Cause]:
    """Return the validation errors of `spec.conversion` in a custom resource definition."""
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    if not strategy:
        yield required("spec.conversion.strategy")
    elif strategy not in _STRATEGIES:
        yield not_supported("spec.conversion.strategy", strategy, _STRATEGIES)
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        yield from (forbidden(field, text) for field, value in ((_CLIENT, client), (_VERSIONS, versions)) if value)
        return
    if client is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
    else:
        yield from client_config(client, _CLIENT)
    yield from _version_causes(versions)


def _version_causes(versions: Sequence[str]) -> Iterator[Cause]:
    if not versions:
        yield required(_VERSIONS)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{_VERSIONS}[{index}]", version, "duplicate version")
        else:
            yield from (invalid(f"{_VERSIONS}[{index}]", version, text) for text in service_name_errors(version))
    if not any(version in _REVIEWS for version in versions):
        yield invalid(_VERSIONS, list(versions), f"must include at least one of {', '.join(_REVIEWS)}")
