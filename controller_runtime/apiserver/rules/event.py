# SPDX-License-Identifier: Apache-2.0
"""Events: one stored object with two sets of names, that of the core group and that of events.k8s.io.

The core form is stored. Whoever writes an event by its new name keeps the stricter,
newer rules; whoever writes it by its old one may leave out nearly everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.api.names import qualified_name_problems
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.validation import invalid, required
from controller_runtime.apiserver.status import Cause

# New name to stored name; all other fields have one name.
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
# Fields that one of the two forms always shows and the other leaves out when they are empty.
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
_TYPES = ("Normal", "Warning")
_LONGEST, _LONGEST_NOTE = 128, 1024
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
    *("type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)


class EventRules(Rules):
    """What every event keeps; those that carry an eventTime also tell who saw it and what was done.

    Args:
        controller: The name that this form has for the reporting controller.
    """

    def __init__(self, controller: str = "reportingComponent") -> None:
        self._controller = controller

    def causes(self, obj: Object) -> list[Cause]:
        if obj.get("eventTime"):
            return _place_causes(obj, "default", "kube-system") + self._action_causes(obj)
        return _place_causes(obj, "default")

    def _action_causes(self, obj: Object) -> list[Cause]:
        controller = obj.get("reportingComponent", "")
        if controller:
            causes = [invalid(self._controller, controller, text) for text in qualified_name_problems(controller)]
        else:
            causes = [required(self._controller)]
        for name in ("reportingInstance", "action", "reason"):
            value = obj.get(name, "")
            if not value:
                causes.append(required(name))
            elif len(value) > _LONGEST:
                causes.append(invalid(name, value, f"can have at most {_LONGEST} characters"))
        if len(message := obj.get("message", "")) > _LONGEST_NOTE:
            causes.append(invalid("message", message, f"can have at most {_LONGEST_NOTE} characters"))
        return causes


class NewEventRules(EventRules):
    """The rules of events.k8s.io: an event has its time and its type, and never changes but for its series."""

    def __init__(self) -> None:
        super().__init__("reportingController")

    def stored_form(self, obj: Object) -> Object:
        return {**_SHOWN_IN_CORE, **{_NAMES.get(name, name): value for name, value in obj.items()}}

    def shown_form(self, obj: Object) -> Object:
        named = {_NEW_NAMES.get(name, name): value for name, value in obj.items()}
        shown = {name: value for name, value in named.items() if value or name in ("metadata", "eventTime")}
        return {**_SHOWN_IN_NEW, **shown}

    def causes(self, obj: Object) -> list[Cause]:
        causes, type_ = super().causes(obj), obj.get("type", "")
        if not obj.get("eventTime"):
            causes.append(required("eventTime"))
        if type_ not in _TYPES:
            causes.append(invalid("type", type_, f"has invalid value: {type_}"))
        return causes

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        return [invalid(name, new.get(name), "field is immutable") for name in _FIXED if old.get(name) != new.get(name)]


def _place_causes(obj: Object, *homes_of_the_homeless: str) -> list[Cause]:
    """An event lies in the namespace of what it is about; those about what has none lie in a few known ones."""
    namespace, about = obj["metadata"]["namespace"], part(obj, "involvedObject").get("namespace", "")
    if namespace in ((about,) if about else homes_of_the_homeless):
        return []
    return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
