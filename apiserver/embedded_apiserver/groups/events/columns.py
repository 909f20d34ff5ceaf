# SPDX-License-Identifier: Apache-2.0
"""Cells of events."""

from __future__ import annotations

from datetime import datetime

from embedded_apiserver.kinds.ages import age
from embedded_apiserver.kinds.cells import (
    NAME,
    Cells,
    at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object, part


def _first_seen(event: Object) -> str | None:
    return event.get("firstTimestamp") or event.get("eventTime")


def _last_seen(event: Object, now: datetime) -> str:
    if event.get("series") is not None:
        return age(value_at(event, "series.lastObservedTime"), now)
    return age(event.get("lastTimestamp") or _first_seen(event), now)


def _about(event: Object) -> str:
    about = part(event, "involvedObject")
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else str(component)


def _count(event: Object) -> int:
    if event.get("series") is not None:
        return value_at(event, "series.count") or 0
    return event.get("count") or 1


EVENTS: Cells = {
    "Last Seen": _last_seen,
    "Type": at("type", ""),
    "Reason": at("reason", ""),
    "Object": of(_about),
    "Subobject": at("involvedObject.fieldPath", ""),
    "Source": of(_source),
    "Message": of(lambda event: event.get("message", "").strip()),
    "First Seen": lambda event, now: age(_first_seen(event), now),
    "Count": of(_count),
    "Name": NAME,
}
