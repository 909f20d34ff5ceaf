# SPDX-License-Identifier: Apache-2.0
"""Leases, and candidates for them."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.coordination import leases
from embedded_apiserver.kinds.cells import NAMED, at
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind

_coordination = partial(Kind, group="coordination.k8s.io", create_on_update=True, unconditional_update=False)
LEASE = _coordination(
    version="v1",
    kind="Lease",
    plural="leases",
    metadata="g",
    checks=Checks(leases.lease),
    cells={**NAMED, "Holder": at("spec.holderIdentity", "")},
)
_candidate = partial(
    _coordination,
    kind="LeaseCandidate",
    plural="leasecandidates",
    name_rule="key",
    checks=Checks(leases.candidate, leases.candidate_change),
)
LEASE_CANDIDATE = _candidate(
    version="v1beta1",
    deprecation="coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
    metadata="g",
    cells={
        **NAMED,
        "LeaseName": at("spec.leaseName", ""),
        "BinaryVersion": at("spec.binaryVersion", ""),
        "EmulationVersion": at("spec.emulationVersion", ""),
    },
)
OLD_LEASE_CANDIDATE = _candidate(
    version="v1alpha2",
    deprecation="coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
    stored_as=LEASE_CANDIDATE,
)
KINDS = (LEASE, LEASE_CANDIDATE, OLD_LEASE_CANDIDATE)
