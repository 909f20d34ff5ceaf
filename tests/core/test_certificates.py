# SPDX-License-Identifier: Apache-2.0
"""Certificates of an authority and of its servers, of which the server and webhooks make theirs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from apimachinery.certificates import BACKDATED, Pair, names_of, new_authority, new_leaf

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)


def test_a_leaf_names_each_of_its_names_once_and_its_authority_names_none() -> None:
    authority = new_authority("an authority", NOW, YEAR)
    leaf = new_leaf(authority, "a server", ("::1", "localhost", "10.0.0.1", "localhost"), NOW, YEAR)

    loaded = x509.load_pem_x509_certificate(leaf.certificate)
    [names] = [each.value for each in loaded.extensions if isinstance(each.value, x509.SubjectAlternativeName)]
    assert len([*names]) == 3
    assert names_of(loaded) == {"::1", "localhost", "10.0.0.1"}
    assert names_of(x509.load_pem_x509_certificate(authority.certificate)) == frozenset()


@pytest.mark.parametrize(("life", "until"), [(YEAR * 2, NOW + YEAR), (YEAR / 2, NOW + YEAR / 2)])
def test_a_leaf_does_not_outlive_its_authority(life: timedelta, until: datetime) -> None:
    authority = new_authority("an authority", NOW, YEAR)

    leaf = x509.load_pem_x509_certificate(new_leaf(authority, "a server", ("a",), NOW, life).certificate)

    assert (leaf.not_valid_before_utc, leaf.not_valid_after_utc) == (NOW - BACKDATED, until)
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))


def test_a_name_is_cut_to_what_a_certificate_can_hold() -> None:
    loaded = x509.load_pem_x509_certificate(new_authority("n" * 100, NOW, YEAR).certificate)

    assert loaded.subject.rfc4514_string() == f"CN={'n' * 64}"


def test_a_key_of_another_kind_signs_nothing() -> None:
    authority = new_authority("an authority", NOW, YEAR)

    other = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    with pytest.raises(ValueError, match="not of the kind that this library makes"):
        new_leaf(Pair(authority.certificate, other), "a server", ("a",), NOW, YEAR)


def test_an_authority_signs_servers_alone_and_a_server_signs_nothing() -> None:
    authority = new_authority("an authority", NOW, YEAR)
    leaf = new_leaf(authority, "a server", ("a",), NOW, YEAR)
    loaded = [x509.load_pem_x509_certificate(each.certificate).extensions for each in (authority, leaf)]

    usages = [each.get_extension_for_class(x509.KeyUsage).value for each in loaded]
    limits = [each.get_extension_for_class(x509.BasicConstraints).value for each in loaded]

    assert [(each.key_cert_sign, each.digital_signature) for each in usages] == [(True, False), (False, True)]
    assert [(each.ca, each.path_length) for each in limits] == [(True, 0), (False, None)]
