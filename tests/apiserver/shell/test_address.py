# SPDX-License-Identifier: Apache-2.0
"""Addresses to listen at, and the names by which clients reach the server."""

from __future__ import annotations

import pytest

from apimachinery.errors import UsageError
from embedded_apiserver.shell.address import Address


@pytest.mark.parametrize(
    ("bind", "names", "at", "certified"),
    [
        ("127.0.0.1", (), "127.0.0.1:8443", ("127.0.0.1",)),
        ("127.0.0.2", (), "127.0.0.2:8443", ("127.0.0.2",)),
        ("::1", (), "[::1]:8443", ("::1",)),
        ("0.0.0.0", (), "127.0.0.1:8443", ()),
        ("::", (), "127.0.0.1:8443", ()),
        ("192.0.2.7", (), "192.0.2.7:8443", ("192.0.2.7",)),
        ("2001:db8::7", (), "[2001:db8::7]:8443", ("2001:db8::7",)),
        ("2001:0db8::0007", (), "[2001:db8::7]:8443", ("2001:db8::7",)),
        ("0.0.0.0", ("kubernetes", "192.0.2.8"), "kubernetes:8443", ("kubernetes", "192.0.2.8")),
        ("192.0.2.7", ("2001:db8::8",), "[2001:db8::8]:8443", ("192.0.2.7", "2001:db8::8")),
    ],
)
def test_the_kubeconfig_has_the_first_name_and_the_certificate_has_all(
    bind: str, names: tuple[str, ...], at: str, certified: tuple[str, ...]
) -> None:
    address = Address.of(bind, names)

    assert address.at(8443) == at
    assert address.certified == certified


@pytest.mark.parametrize(
    ("bind", "reached"),
    [("127.0.0.1", False), ("127.0.0.2", False), ("::1", False), ("0.0.0.0", True), ("::", True), ("192.0.2.7", True)],
)
def test_only_loopback_is_not_reached_from_elsewhere(bind: str, reached: bool) -> None:
    assert Address.of(bind, ()).is_reached_from_elsewhere == reached


@pytest.mark.parametrize(
    ("bind", "names", "message"),
    [
        ("everywhere", (), "--bind-address needs an IP address such as 0.0.0.0 or 127.0.0.1, not 'everywhere'"),
        ("0.0.0.0:443", (), "--bind-address needs an IP address such as 0.0.0.0 or 127.0.0.1, not '0.0.0.0:443'"),
        ("0.0.0.0", ("db:443",), "--tls-san needs a DNS name or an IP address, without a port, not 'db:443'"),
        ("0.0.0.0", ("db", "a b"), "--tls-san needs a DNS name or an IP address, without a port, not 'a b'"),
    ],
)
def test_a_malformed_address_is_refused_in_one_line(bind: str, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        Address.of(bind, names)

    assert str(refused.value) == message
