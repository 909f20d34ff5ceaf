# SPDX-License-Identifier: Apache-2.0
"""Rules of certificate signing requests: their content, and the users that may approve and sign them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.checks.prefixed import signer_name
from embedded_apiserver.groups.certificates.certificates import certificate_problem, request_problem
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause

_LEGACY = "kubernetes.io/legacy-unknown"
_SHORTEST = 600  # seconds
_DECIDED = ("Approved", "Denied")
_FINAL = (*_DECIDED, "Failed")
_STATES = ("False", "True", "Unknown")
_EXCLUSIVE = "Approved and Denied conditions are mutually exclusive"
_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system"),
    *("ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc"),
    *("ocsp signing", "s/mime", "server auth", "signing", "timestamping"),
)


def signing_request(obj: Object, old: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of a CertificateSigningRequest, its status included.

    The request of an unchanged spec and an unchanged certificate of `old` are not checked again, and the signer name
    `kubernetes.io/legacy-unknown` is an error only without `old`.
    """
    spec = part(obj, "spec")
    if (old is None or part(old, "spec") != spec) and (problem := request_problem(spec.get("request") or "")):
        yield invalid("spec.request", spec.get("request"), problem)
    usages = spec.get("usages") or ()
    if not usages:
        yield required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            yield not_supported(f"spec.usages[{index}]", usage, _USAGES)
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            yield duplicate(f"spec.usages[{index}]", usage)
    name = spec.get("signerName", "")
    if name == _LEGACY and old is None:
        yield invalid("spec.signerName", name, "the legacy signerName is not allowed via this API version")
    else:
        yield from signer_name(name, "spec.signerName")
    if (seconds := spec.get("expirationSeconds")) is not None and seconds < _SHORTEST:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, text)
    status = part(obj, "status")
    yield from _conditions(status.get("conditions") or ())
    certificate = status.get("certificate") or ""
    is_new = old is None or part(old, "status").get("certificate") != certificate
    if certificate and is_new and (problem := certificate_problem(certificate)):
        yield invalid("status.certificate", "<certificate data>", problem)


def _conditions(conditions: Sequence[Object]) -> Iterator[Cause]:
    place = "status.conditions"
    seen: list[str] = []
    for index, one in enumerate(conditions):
        kind, state = one.get("type", ""), one.get("status", "")
        if not kind:
            yield required(f"{place}[{index}].type")
        allowed = ("True",) if kind in _FINAL else _STATES
        if not state:
            yield required(f"{place}[{index}].status")
        elif state not in allowed:
            yield not_supported(f"{place}[{index}].status", state, allowed)
        if kind in _DECIDED and any(other in seen for other in _DECIDED if other != kind):
            yield invalid(place, kind, _EXCLUSIVE)
        if kind in seen:
            yield duplicate(f"{place}[{index}].type", kind)
        seen.append(kind)


def signing_request_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CertificateSigningRequest: only its metadata may change."""
    return _change(old, new)


def approval(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an approval or denial of a CertificateSigningRequest."""
    return _change(old, new, decides=True)


def signing_request_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a CertificateSigningRequest's status, which may set the
    certificate.
    """
    return _change(old, new, signs=True)


def _change(old: Object, new: Object, *, decides: bool = False, signs: bool = False) -> Iterator[Cause]:
    yield from signing_request(new, old)
    for kind in _FINAL:
        if len(_of_type(new, kind)) < len(_of_type(old, kind)):
            text = f"updates may not remove a condition of type {quoted(kind)}"
            yield forbidden("status.conditions", text)
    for kind in () if decides else _DECIDED:
        before, after = _of_type(old, kind), _of_type(new, kind)
        if len(after) > len(before):
            yield forbidden("status.conditions", f"updates may not add a condition of type {quoted(kind)}")
        elif len(after) == len(before) and after != before:
            yield forbidden("status.conditions", f"updates may not modify a condition of type {quoted(kind)}\n")
    was, now = (part(one, "status").get("certificate") or "" for one in (old, new))
    if was != now and not signs:
        yield forbidden("status.certificate", "updates may not set certificate content")
    elif was != now and was:
        yield forbidden("status.certificate", "updates may not modify existing certificate content")


def _of_type(obj: Object, kind: str) -> list[Any]:
    return [one for one in part(obj, "status").get("conditions") or () if one.get("type") == kind]
