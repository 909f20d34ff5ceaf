# SPDX-License-Identifier: Apache-2.0
"""All built-in kinds.

A kind that is added to the `KINDS` of a group is stored, listed, watched and discovered, validated against its recorded
schema, merged by it, and checked and shown as its value says. Kinds that users define come on top at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import attrs

from embedded_apiserver.groups.autoscaling import kinds as autoscaling
from embedded_apiserver.groups.certificates import kinds as certificates
from embedded_apiserver.groups.coordination import kinds as coordination
from embedded_apiserver.groups.core import kinds as core
from embedded_apiserver.groups.definitions import kinds as definitions
from embedded_apiserver.groups.devices import kinds as devices
from embedded_apiserver.groups.events import kinds as events
from embedded_apiserver.groups.flowcontrol import kinds as flowcontrol
from embedded_apiserver.groups.networking import kinds as networking
from embedded_apiserver.groups.pods import kinds as pods
from embedded_apiserver.groups.policy import kinds as policy
from embedded_apiserver.groups.rbac import kinds as rbac
from embedded_apiserver.groups.registration import kinds as registration
from embedded_apiserver.groups.reviews import kinds as reviews
from embedded_apiserver.groups.scheduling import kinds as scheduling
from embedded_apiserver.groups.storage import kinds as storage
from embedded_apiserver.groups.workloads import kinds as workloads
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.policy import Policy
from embedded_apiserver.kinds.recorded import GONE, adapted, facts_of
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.kinds.versions import rank

_ALL = chain(
    *(pods.KINDS, core.KINDS, workloads.KINDS, networking.KINDS, storage.KINDS, autoscaling.KINDS, policy.KINDS),
    *(rbac.KINDS, reviews.KINDS, registration.KINDS, definitions.KINDS, coordination.KINDS, events.KINDS),
    *(certificates.KINDS, scheduling.KINDS, devices.KINDS, flowcontrol.KINDS),
)
# The groups in the order of a real server's discovery documents.
_GROUPS = (
    *("", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"),
    *("autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"),
    *("storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"),
    *("coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"),
)


def _place(kind: Kind) -> tuple[object, ...]:
    return _GROUPS.index(kind.group), rank(kind.version), kind.plural


KINDS = Kinds(sorted(_ALL, key=_place))
"""The kinds in the order of a real API server's discovery documents: groups, versions, and names within a version."""

# Until this gate is on, the name of a service begins with a letter.
_RELAXED_SERVICE_NAMES = "RelaxedServiceNameValidation"


def kinds_of(release: Release) -> Kinds:
    """Return the built-in kinds of a Kubernetes release, with that release's verbs, fields and columns."""
    if release == NEWEST:
        return KINDS
    discovery: Mapping[str, Any] = facts_of(str(release))["kinds"]
    gone = {kind for kind in KINDS if _named(kind) in discovery[GONE]}
    made: dict[Kind, Kind] = {}
    for kind in sorted(set(KINDS) - gone, key=lambda one: one.stored_as is not None):  # what others are stored as first
        made[kind] = _as_in(release, kind, discovery.get(_named(kind), {}), made)
    return Kinds(sorted(made.values(), key=_place))


def _named(kind: Kind) -> str:
    return f"{kind.group}/{kind.version}/{kind.plural}"


def _as_in(release: Release, kind: Kind, difference: Mapping[str, Any], made: Mapping[Kind, Kind]) -> Kind:
    """Return a kind as an older release serves it."""
    newest = {"verbs": kind.verbs, "shortNames": kind.short_names, "categories": kind.categories}
    then = adapted({**newest, "subresources": dict.fromkeys(kind.subresources)}, difference)
    return attrs.evolve(
        kind,
        release=release,
        newest=kind,
        verbs=tuple(then["verbs"]),
        short_names=tuple(then.get("shortNames", ())),
        categories=tuple(then.get("categories", ())),
        subresources=tuple(then["subresources"]),
        deprecation=facts_of(str(release))["warnings"].get(_named(kind), ""),
        name_rule="service" if kind == core.SERVICE and not release.is_on(_RELAXED_SERVICE_NAMES) else kind.name_rule,
        # A release that lacks the version in which the newest one stores the kind stores it in its own.
        stored_as=None if kind.stored_as is None else made.get(kind.stored_as),
        cells=kind.stored.cells,
        policy=_policy(kind.policy, facts_of(str(release)).get("created", {}).get(_named(kind), {})),
    )


def _policy(policy: Policy, difference: Mapping[str, Any]) -> Policy:
    """Return the policy of a kind whose new objects differ so from those of the newest release."""
    if "generation" in difference.get("metadata", {}).get(GONE, ()):
        policy = attrs.evolve(policy, generation=None)
    if policy.status is not None and "status" in difference:
        policy = attrs.evolve(policy, status=adapted(policy.status, difference["status"]))
    return policy
