# SPDX-License-Identifier: Apache-2.0
"""The kinds of the bodies that requests to subresources send and get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.api.resources import Resource

_KINDS: Mapping[str, Resource[Any]] = {
    "binding": Resource("", "v1", "Binding", "bindings"),
    "eviction": Resource("policy", "v1", "Eviction", "evictions"),
    "scale": Resource("autoscaling", "v1", "Scale", "scales"),
    "token": Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests"),
}


def kind_of(resource: Resource[Any], subresource: str) -> Resource[Any]:
    """Return the kind of a subresource's body: a separate kind, as for `scale`, or the object's, as for `status`."""
    return _KINDS.get(subresource, resource)
