# SPDX-License-Identifier: Apache-2.0
"""All built-in kinds.

A kind that is added to the `KINDS` of a group is stored, listed, watched and discovered, validated against its recorded
schema, merged by it, and checked and shown as its value says. Kinds that users define come on top at run time.
"""

from __future__ import annotations

from itertools import chain

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
"""The kinds in the order of a real server's discovery documents: groups, versions, and names within a version."""
