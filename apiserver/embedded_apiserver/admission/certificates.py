# SPDX-License-Identifier: Apache-2.0
"""Steps about requests for certificates: who may approve and sign them, and which names they may not have."""

from __future__ import annotations

from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.authorization.attributes import Attributes as Asked
from embedded_apiserver.authorization.authorizer import Authorizer
from embedded_apiserver.groups.certificates.certificates import UnreadableRequest, organizations
from embedded_apiserver.groups.certificates.kinds import SIGNING_REQUEST
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted

_CLIENT, _ADMINISTRATORS = "kubernetes.io/kube-apiserver-client", "system:masters"


class _BySigner(Step):
    """Asks whether a user may do something with the signer of a request, by its name or by all of its domain."""

    kinds = (SIGNING_REQUEST,)
    operations = (Operation.UPDATE,)
    subresources = None

    def _check(self, attributes: Attributes, verb: str) -> None:
        signer = part(attributes.old or {}, "spec").get("signerName", "")
        authorizer = Authorizer(self._storage)
        for name in (signer, f"{signer.partition('/')[0]}/*"):
            if authorizer.decide(Asked(attributes.user, verb, SIGNING_REQUEST.group, "signers", name=name)).allowed:
                return
        raise attributes.refused(f"user not permitted to {verb} requests with signerName {quoted(signer)}")


class CertificateApproval(_BySigner):
    """Allows only users with the verb `approve` on the signer to approve or deny a CertificateSigningRequest.

    The permission may be for the name of the signer, or for its whole domain.
    """

    name = "CertificateApproval"

    def validate(self, attributes: Attributes) -> None:
        if attributes.subresource == "approval":
            self._check(attributes, "approve")


class CertificateSigning(_BySigner):
    """Allows only users with the verb `sign` on the signer to change the certificate or the conditions of a
    CertificateSigningRequest by its subresource `status`.

    The permission may be for the name of the signer, or for its whole domain.
    """

    name = "CertificateSigning"

    def validate(self, attributes: Attributes) -> None:
        if attributes.subresource == "status" and _signed(attributes.obj) != _signed(attributes.old or {}):
            self._check(attributes, "sign")


def _signed(obj: Object) -> tuple[object, object]:
    status = part(obj, "status")
    return status.get("certificate") or "", status.get("conditions") or []


class CertificateSubjectRestriction(Step):
    """Refuses a CertificateSigningRequest to `kubernetes.io/kube-apiserver-client` for the group `system:masters`."""

    name = "CertificateSubjectRestriction"
    kinds = (SIGNING_REQUEST,)
    operations = (Operation.CREATE,)

    def validate(self, attributes: Attributes) -> None:
        spec = part(attributes.obj, "spec")
        if spec.get("signerName") != _CLIENT:
            return
        try:
            names = organizations(spec.get("request") or "")
        except UnreadableRequest as error:
            raise attributes.refused(f"failed to parse CSR: {error}") from None
        if _ADMINISTRATORS in names:
            raise attributes.refused(f"use of {_CLIENT} signer with {_ADMINISTRATORS} group is not allowed")
