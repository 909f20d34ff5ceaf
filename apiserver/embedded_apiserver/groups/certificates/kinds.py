# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates."""

from __future__ import annotations

from embedded_apiserver.groups.certificates import columns, signing_requests, strategy
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy

SIGNING_REQUEST = Kind(
    group="certificates.k8s.io",
    version="v1",
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    tableless=("approval",),
    namespaced=False,
    short_names=("csr",),
    subresources=("approval", "status"),
    name_rule="path",
    fields={"spec.signerName": ""},
    names_known_fields=False,
    policy=Policy(
        status={},
        # Decisions are made through `approval`, and the certificate is written through `status`.
        resets={"status": ("f:status", "f:conditions"), "approval": ("f:status", "f:certificate")},
        isolated=strategy.isolated_request,
        dated=strategy.dated_request,
    ),
    metadata="wu",
    status_metadata="wu",
    checks=Checks(
        signing_requests.signing_request,
        signing_requests.signing_request_change,
        signing_requests.signing_request_status,
        {"approval": signing_requests.approval},
    ),
    cells=columns.REQUESTS,
)
KINDS = (SIGNING_REQUEST,)
