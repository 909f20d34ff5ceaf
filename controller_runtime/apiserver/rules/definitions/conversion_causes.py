# SPDX-License-Identifier: Apache-2.0
"""The faults of the conversion of a custom resource definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from controller_runtime.api.names import service_name_problems
from controller_runtime.apiserver.rules.validation import forbidden, invalid, not_supported, required
from controller_runtime.apiserver.status import Cause

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
# The older API, whose field names a real server uses in its messages, had both without the `webhook` around them.
_CLIENT, _VERSIONS = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
_URL_FORM = "desired format: https://host[/path]"


def conversion_causes(conversion: Mapping[str, Any]) -> Iterator[Cause]:
    """Return the faults of a definition's `spec.conversion`."""
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
    elif ("url" in client) == ("service" in client):
        yield required(_CLIENT, "exactly one of url or service is required")
    elif "url" in client:
        yield from _url_causes(client["url"])
    yield from _version_causes(versions)


def _url_causes(url: str) -> Iterator[Cause]:
    field, parts = f"{_CLIENT}.url", urlsplit(url)
    if parts.scheme != "https":
        yield invalid(field, parts.scheme, f"'https' is the only allowed URL scheme; {_URL_FORM}")
    if not parts.netloc:
        yield invalid(field, parts.netloc, f"host must be specified; {_URL_FORM}")
    if parts.username is not None:
        yield invalid(field, parts.username, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(field, parts.query, "query parameters are not permitted in the URL")


def _version_causes(versions: Sequence[str]) -> Iterator[Cause]:
    if not versions:
        yield required(_VERSIONS)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{_VERSIONS}[{index}]", version, "duplicate version")
        else:
            yield from (invalid(f"{_VERSIONS}[{index}]", version, text) for text in service_name_problems(version))
    if not any(version in _REVIEWS for version in versions):
        yield invalid(_VERSIONS, list(versions), f"must include at least one of {', '.join(_REVIEWS)}")
