# SPDX-License-Identifier: Apache-2.0
"""Requests for certificates have to be signed by the key that they name; certificates have to be some."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.signing_requests import signing_request

from apimachinery.certificates import new_authority
from embedded_apiserver.groups.certificates.certificates import certificate_problem

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


_BEGIN, _END = "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"
_WHOLE = new_authority("a", datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)).certificate.decode()
_UNREAD = f"{_BEGIN}!!!!\n{_END}"
_NONE = "must contain at least one CERTIFICATE PEM block"


# As a server of 1.36 answered.
@pytest.mark.parametrize(
    ("pem", "told"),
    [
        pytest.param("hello", _NONE, id="no block"),
        pytest.param(_UNREAD, _NONE, id="only a block that is not base64"),
        pytest.param(f"x{_WHOLE}", _NONE, id="a block that does not begin a line"),
        pytest.param(_UNREAD + _WHOLE, "", id="first a block that is not base64"),
        pytest.param(_WHOLE + _UNREAD, "", id="then a block that is not base64"),
        pytest.param(f"text\n{_WHOLE}text\n", "", id="text around it"),
        pytest.param(_WHOLE.replace("\n", "\r\n"), "", id="ends of lines of another system"),
        pytest.param(_WHOLE[:-1], "", id="no end of the last line"),
        pytest.param(f"{_WHOLE}{_BEGIN}AAAA\n", "", id="a block without end"),
        pytest.param(f"{_BEGIN}AAAA\n-----END FOO-----\n{_WHOLE}", "", id="a block with another end"),
        pytest.param(
            f"-----BEGIN FOO-----\n!!!\n-----END FOO-----\n{_WHOLE}", "", id="one of another type, not base64"
        ),
        pytest.param(
            f"{_WHOLE}-----BEGIN FOO-----\nAAAA\n-----END FOO-----\n",
            'only CERTIFICATE PEM blocks are allowed, found "FOO"',
            id="a block of another type",
        ),
        pytest.param(_WHOLE.replace(_BEGIN, f"{_BEGIN}A: b\n\n"), "no PEM block headers are permitted", id="headers"),
        pytest.param(f"{_BEGIN}A: b\n\n{_END}", "no PEM block headers are permitted", id="headers alone"),
        pytest.param(
            f"{_WHOLE}{_BEGIN}{_END}", "found CERTIFICATE PEM block containing 0 certificates", id="an empty block"
        ),
        pytest.param(f"{_WHOLE}{_BEGIN}AAAA\n{_END}", "x509: malformed certificate", id="no certificate"),
    ],
)
def test_each_block_of_an_issued_certificate_has_to_be_one(pem: str, told: str) -> None:
    assert certificate_problem(base64.b64encode(pem.encode()).decode()) == told


def test_what_is_no_certificate_is_refused(ask: Asking) -> None:
    _sent(ask, signing_request())
    path = f"{REQUESTS}/r/status"

    for certificate, told in (
        (base64.b64encode(b"none").decode(), "must contain at least one CERTIFICATE PEM block"),
        (_pem("CERTIFICATE", b"0"), "x509: malformed certificate"),
    ):
        status, body = ask.patch(path, {"status": {"certificate": certificate}})
        assert (status, told in body["message"]) == (422, True)
