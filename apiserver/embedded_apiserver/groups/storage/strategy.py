# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on persistent volumes and to drivers of storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from apimachinery.objects import timestamp
from embedded_apiserver.objects import Object, part

_CHANGED = "lastPhaseTransitionTime"
_UNSAFE_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def new_volume(obj: Object) -> Object:
    """Return a new PersistentVolume with its creation time as `status.lastPhaseTransitionTime`."""
    return {**obj, "status": {**obj["status"], _CHANGED: obj["metadata"]["creationTimestamp"]}}


def dated_volume(old: Object, new: Object, now: datetime) -> Object:
    """Return an updated PersistentVolume with the time of the last change of its phase."""
    before, after = part(old, "status"), part(new, "status")
    said = after.get(_CHANGED)
    if before.get("phase") != after.get("phase"):
        changed = timestamp(now) if said in (None, before.get(_CHANGED)) else said
    else:
        changed = said or before.get(_CHANGED)
    return new if changed in (None, said) else {**new, "status": {**after, _CHANGED: changed}}


def driver_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warning about new token requests of a CSIDriver, because the driver may log such tokens."""
    spec = part(obj, "spec")
    requests = spec.get("tokenRequests")
    if old is not None and part(old, "spec").get("tokenRequests") == requests:
        return
    if requests and spec.get("serviceAccountTokenInSecrets") is None:
        yield _UNSAFE_TOKENS
