# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds in which programs tell of themselves, as data: leases, candidates and events."""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind

LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    create_on_update=True,
    unconditional_update=False,
)

LEASE_CANDIDATE = Kind(
    group="coordination.k8s.io",
    version="v1beta1",
    kind="LeaseCandidate",
    plural="leasecandidates",
    create_on_update=True,
    unconditional_update=False,
    name_rule="key",
    introduced=33,
    deprecated=36,
    deprecation="coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
)
OLD_LEASE_CANDIDATE = Kind(
    group="coordination.k8s.io",
    version="v1alpha2",
    kind="LeaseCandidate",
    plural="leasecandidates",
    create_on_update=True,
    unconditional_update=False,
    name_rule="key",
    introduced=33,
    deprecated=35,
    deprecation="coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
    stored_as=LEASE_CANDIDATE,
)

# The fields of the reference to the object that an event is about.
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    create_on_update=True,
    fields={
        **{f"involvedObject.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingComponent", "source", "type"), ""),
    },
    field_paths={"source": "source.component"},
    names_known_fields=False,
)
# The same objects as `EVENT` under other field names, which `event.py` in `rules` maps.
NEW_EVENT = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    create_on_update=True,
    fields={
        **{f"regarding.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingController", "type"), ""),
    },
    field_paths={
        **{f"regarding.{name}": f"involvedObject.{name}" for name in _ABOUT},
        "reportingController": "reportingComponent",
    },
    names_known_fields=False,
    stored_as=EVENT,
)
