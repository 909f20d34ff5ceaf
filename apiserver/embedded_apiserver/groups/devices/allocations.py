# SPDX-License-Identifier: Apache-2.0
"""Rules of what was allocated to a claim for devices, and of references to the requests of a claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import invalid
from embedded_apiserver.checks.selectors import node_selector
from embedded_apiserver.groups.devices.device_names import Rule, device_name, each_of, pool_name
from embedded_apiserver.groups.pods.sources import driver_name
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_MOST_RESULTS = 32
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_HEX = r"[0-9a-fA-F]"
_DASHED = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_UID = re.compile(rf"{_HEX}{{32}}|{_DASHED}|\{{{_DASHED}\}}|urn:uuid:{_DASHED}", re.ASCII)
_LONG = 36
_LENGTHS = (32, _LONG, 38, 45)  # of identifiers without dashes, with them, in braces, and with a prefix
_NO_UID = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)


def names_of(requests: Sequence[Object]) -> set[str]:
    """Return the names of a claim's device requests, and `request/subrequest` for each of their alternatives."""
    found = set()
    for request in requests:
        name = request.get("name", "")
        found.add(name)
        found |= {f"{name}/{one.get('name', '')}" for one in request.get("firstAvailable") or ()}
    return found


def reference_to(names: set[str]) -> Rule:
    """Return a rule that yields a validation error if a text is not one of `names`."""

    def reference(name: str, field: str) -> Iterator[Cause]:
        segments = name.split("/")
        if len(segments) > 2:
            yield invalid(field, name, _NO_REQUEST)
            return
        for segment in segments:
            yield from device_name(segment, field)
        if name not in names:
            yield invalid(field, name, _NO_REQUEST)

    return reference


def allocation(given: Object, names: set[str], place: str) -> Iterator[Cause]:
    """Return the validation errors of the allocated devices in a ResourceClaim's status.

    `names` are the names of the claim's requests.
    """

    def result(one: Object, field: str) -> Iterator[Cause]:
        yield from reference_to(names)(one.get("request", ""), f"{field}.request")
        yield from driver_name(one.get("driver", ""), f"{field}.driver")
        yield from pool_name(one.get("pool", ""), f"{field}.pool")
        yield from device_name(one.get("device", ""), f"{field}.device")
        if (uid := one.get("shareID")) is not None:
            yield from _share(uid, f"{field}.shareID")

    devices = part(given, "devices")
    yield from each_of(devices.get("results") or (), _MOST_RESULTS, result, f"{place}.devices.results")
    if (selector := given.get("nodeSelector")) is not None:
        yield from node_selector(selector, f"{place}.nodeSelector")


def _share(uid: str, field: str) -> Iterator[Cause]:
    if (length := len(uid.encode())) not in _LENGTHS:
        yield invalid(field, uid, f"error validating uid: invalid UUID length: {length}")
    elif _UID.fullmatch(uid) is None:
        yield invalid(field, uid, "error validating uid: invalid UUID format")
    elif length != _LONG or uid != uid.lower():
        yield invalid(field, uid, _NO_UID)
