# SPDX-License-Identifier: Apache-2.0
"""Events, in both of their groups."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.events import columns, events
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy

# The fields of the reference to the object that an event is about.
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_event = partial(
    Kind,
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    create_on_update=True,
    names_known_fields=False,
    is_cached=False,
)
EVENT = _event(
    group="",
    fields={
        **{f"involvedObject.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingComponent", "source", "type"), ""),
    },
    field_paths={"source": "source.component"},
    policy=Policy(dependents=""),
    metadata="",
    checks=Checks(events.event, before_metadata=True),
    cells=columns.EVENTS,
)
# The same objects as `EVENT` under other field names.
NEW_EVENT = _event(
    group="events.k8s.io",
    fields={
        **{f"regarding.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingController", "type"), ""),
    },
    field_paths={
        **{f"regarding.{name}": f"involvedObject.{name}" for name in _ABOUT},
        "reportingController": "reportingComponent",
    },
    stored_as=EVENT,
    policy=Policy(dependents="", stored_form=events.stored_form, shown_form=events.shown_form),
    checks=Checks(events.new_event, events.event_change),
)
KINDS = (EVENT, NEW_EVENT)
