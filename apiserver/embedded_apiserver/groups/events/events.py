# SPDX-License-Identifier: Apache-2.0
"""Events: one stored object with two sets of field names, of the core group and of events.k8s.io.

Events are stored in the core form. A write through events.k8s.io has to follow the stricter, newer rules; a write
through the core group may leave out nearly every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apimachinery.names import qualified_name_errors
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

# From the name in events.k8s.io to the stored name. Other fields have the same name in both.
_NAMES: Mapping[str, str] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NEW_NAMES = {stored: new for new, stored in _NAMES.items()}
# Fields that one form always has, with their empty values; the other form leaves them out when they are empty.
_SHOWN_IN_CORE: Mapping[str, Any] = {
    "involvedObject": {},
    "source": {},
    "eventTime": None,
    "firstTimestamp": None,
    "lastTimestamp": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_SHOWN_IN_NEW: Mapping[str, Any] = {
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_CONTROLLER = "reportingController"  # the name in events.k8s.io
_TYPES = ("Normal", "Warning")
# Stored fields that only events of the core group have, in the order of messages.
_OLDER = ("firstTimestamp", "lastTimestamp", "count", "source")
_LONGEST, _LONGEST_NOTE = 128, 1024  # bytes, which a real server calls characters
# Stored fields that an update through events.k8s.io must not change.
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
    # The reason is checked twice there, and so are its causes.
    *("reason", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)


_STRUCTS = {"involvedObject": "ObjectReference", "related": "*ObjectReference", "source": "EventSource"}


def stored_form(obj: Object) -> Object:
    """Return an Event of events.k8s.io in the form of the core group, in which events are stored."""
    return {**_SHOWN_IN_CORE, **{_NAMES.get(name, name): value for name, value in obj.items()}}


def shown_form(obj: Object) -> Object:
    """Return a stored Event in the form of events.k8s.io."""
    named = {_NEW_NAMES.get(name, name): value for name, value in obj.items()}
    shown = {name: value for name, value in named.items() if value or name in ("metadata", "eventTime")}
    return {**_SHOWN_IN_NEW, **shown}


def event(obj: Object, controller: str = "reportingComponent") -> list[Cause]:
    """Return the validation errors of an Event.

    An event with an `eventTime` also needs a reporting controller, a reporting instance, an action and a reason.

    Args:
        obj: The event, with the field names under which it is stored.
        controller: The name that the request uses for the field of the reporting controller. It is used in errors: core
            events call the field `reportingComponent`, those of events.k8s.io `reportingController`.
    """
    if obj.get("eventTime"):
        return _namespace_causes(obj, "default", "kube-system", any_other=True) + _action_causes(obj, controller)
    return _namespace_causes(obj, "default")


def _action_causes(obj: Object, field: str) -> list[Cause]:
    controller = obj.get("reportingComponent", "")
    causes = [] if controller else [required(field)]
    causes += [invalid(field, controller, text) for text in qualified_name_errors(controller)]
    for name in ("reportingInstance", "action", "reason"):
        length = len(obj.get(name, "").encode())
        if not length:
            causes.append(required(name))
        elif length > _LONGEST:
            causes.append(invalid(name, "", f"can have at most {_LONGEST} characters"))
    if len(obj.get("message", "").encode()) > _LONGEST_NOTE:
        causes.append(invalid("message", "", f"can have at most {_LONGEST_NOTE} characters"))
    return causes


def new_event(obj: Object) -> list[Cause]:
    """Return the validation errors of a new Event of events.k8s.io, which needs an `eventTime` and a `type`."""
    causes, type_ = [*event(obj, _CONTROLLER), *_series_causes(obj)], obj.get("type", "")
    if not obj.get("eventTime"):
        causes.append(required("eventTime"))
    if type_ not in _TYPES:
        causes.append(invalid("type", "", f"has invalid value: {type_}"))
    return causes + [invalid(name, "", "needs to be unset") for name in _OLDER if _is_set(obj.get(name))]


def event_change(old: Object, new: Object) -> list[Cause]:
    """Return the validation errors of an update of an Event of events.k8s.io: only series and metadata may change."""
    series = [] if old.get("series") == new.get("series") else _series_causes(new)
    changed = [name for name in _FIXED if old.get(name) != new.get(name)]
    fixed = [invalid(name, _shown(name, new.get(name)), "field is immutable") for name in changed]
    return [*event(new, _CONTROLLER), *series, *fixed]


def _shown(name: str, value: Any) -> Any:
    """Return a field as a real API server's message shows it."""
    return shown(_STRUCTS[name], value) if name in _STRUCTS else value


def _is_set(value: Any) -> bool:
    return any(value.values()) if isinstance(value, Mapping) else bool(value)


def _series_causes(obj: Object) -> list[Cause]:
    """Return the validation errors of a series of events: how often there was one, and when the last."""
    if (series := obj.get("series")) is None:
        return []
    causes = [] if series.get("count", 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    return causes if series.get("lastObservedTime") else [*causes, required("series.lastObservedTime")]


def _namespace_causes(obj: Object, *for_cluster_scoped: str, any_other: bool = False) -> list[Cause]:
    """Return a cause unless an event is in the namespace of its object.

    An event about a cluster-scoped object has to be in one of the namespaces `for_cluster_scoped`. With `any_other`, an
    event about an object in a namespace may be in any; a real API server checks that for events without an eventTime
    only.
    """
    namespace, about = obj["metadata"]["namespace"], part(obj, "involvedObject").get("namespace", "")
    if (any_other and about) or namespace in ((about,) if about else for_cluster_scoped):
        return []
    return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
