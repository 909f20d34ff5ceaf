# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on slices of endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from embedded_apiserver.objects import Object


def is_other_slice(old: Object, new: Object) -> bool:
    """Return whether an EndpointSlice has changed. Of its metadata only the labels count, which name its service."""
    labels = [one["metadata"].get("labels") or {} for one in (old, new)]
    return _rest(old) != _rest(new) or labels[0] != labels[1]


def new_slice(obj: Object) -> Object:
    """Return an EndpointSlice without the deprecated topology fields."""
    endpoints = obj.get("endpoints") or ()
    if not any("deprecatedTopology" in one for one in endpoints):
        return obj
    left = [{name: value for name, value in one.items() if name != "deprecatedTopology"} for one in endpoints]
    return {**obj, "endpoints": left}


def updated_slice(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated EndpointSlice; if its endpoints have changed, without the deprecated topology fields."""
    return made if old.get("endpoints") == made.get("endpoints") else new_slice(made)


def slice_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warning about a new EndpointSlice with the deprecated address type `FQDN`."""
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def _rest(obj: Object) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name != "metadata"}
