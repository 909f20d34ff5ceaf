# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates have to be signed by the key that they name; certificates have to be some."""

from __future__ import annotations

import base64

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.signing_requests import signing_request

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def _pem(kind: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return base64.b64encode(f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n".encode()).decode()


def _sent(ask: Asking, request: str) -> str:
    spec = {"request": request, "signerName": "example.com/signer", "usages": ["client auth"]}
    status, told = ask("POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})
    assert status in (201, 422), told
    return "" if status == 201 else str(told["details"]["causes"][0]["message"]).rpartition(": ")[2]


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        pytest.param(signing_request(), "", id="signed"),
        pytest.param(signing_request(forged=True), "ECDSA verification failure", id="forged"),
        pytest.param(_pem("CERTIFICATE", b"0"), "PEM block type must be CERTIFICATE REQUEST", id="certificate"),
        pytest.param(_pem("CERTIFICATE REQUEST", b"\x02\x01\x01"), "tags don't match", id="number"),
    ],
)
def test_a_request_is_signed_by_its_key(ask: Asking, request_: str, told: str) -> None:
    assert told in _sent(ask, request_)
    assert bool(told) == bool(ask("GET", f"{REQUESTS}/r")[0] == 404)


def test_what_is_no_certificate_is_refused(ask: Asking) -> None:
    _sent(ask, signing_request())
    path = f"{REQUESTS}/r/status"

    for certificate, told in (
        (base64.b64encode(b"none").decode(), "must contain at least one CERTIFICATE PEM block"),
        (_pem("CERTIFICATE", b"0"), "x509: malformed certificate"),
    ):
        status, body = ask.patch(path, {"status": {"certificate": certificate}})
        assert (status, told in body["message"]) == (422, True)
