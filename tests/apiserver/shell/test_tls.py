# SPDX-License-Identifier: Apache-2.0
"""The certificates of a server on loopback."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from embedded_apiserver.shell.tls import Certificates, make_certificates

NOW = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(NOW)


def test_the_server_is_certified_by_the_authority(certificates: Certificates) -> None:
    authority = x509.load_pem_x509_certificate(certificates.authority)
    server = x509.load_pem_x509_certificate(certificates.server)

    server.verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_it_is_the_server_of_every_name_of_loopback(certificates: Certificates) -> None:
    server = x509.load_pem_x509_certificate(certificates.server)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert set(names.get_values_for_type(x509.IPAddress)) == {
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    }


@pytest.mark.parametrize("which", ["authority", "server"])
def test_it_is_valid_now_for_a_year_and_where_clocks_are_a_little_behind(
    certificates: Certificates, which: str
) -> None:
    certificate = x509.load_pem_x509_certificate(getattr(certificates, which))

    assert certificate.not_valid_before_utc <= NOW - timedelta(minutes=30)
    assert certificate.not_valid_after_utc >= NOW + timedelta(days=364)


def test_the_private_key_is_not_shown(certificates: Certificates) -> None:
    assert b"PRIVATE KEY" in certificates.key
    assert "PRIVATE KEY" not in repr(certificates)


def test_each_run_has_keys_of_its_own(certificates: Certificates) -> None:
    assert make_certificates(NOW).key != certificates.key
