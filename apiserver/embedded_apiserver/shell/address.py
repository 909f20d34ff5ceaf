# SPDX-License-Identifier: Apache-2.0
"""The address at which a server listens, and the names by which clients reach it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import attrs

from apimachinery.errors import UsageError
from apimachinery.names import subdomain_errors

LOOPBACK = "127.0.0.1"


@attrs.frozen(kw_only=True)
class Address:
    """The address at which a server listens, and the names for its certificate and kubeconfig.

    Attributes:
        bind: The IP address to listen on; `0.0.0.0` and `::` mean all addresses of the machine.
        names: Further DNS names and IP addresses for which the server's certificate is valid.
    """

    bind: str = LOOPBACK
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, bind: str, names: Sequence[str]) -> Address:
        """Return the address for the command line options `--bind-address` and `--tls-san`.

        Raises:
            UsageError: An option is malformed.
        """
        address = _ip(bind)
        if address is None:
            raise UsageError(f"--bind-address needs an IP address such as 0.0.0.0 or 127.0.0.1, not {bind!r}")
        for name in names:
            if _ip(name) is None and subdomain_errors(name):
                raise UsageError(f"--tls-san needs a DNS name or an IP address, without a port, not {name!r}")
        return cls(bind=str(address), names=tuple(str(_ip(name) or name) for name in names))

    @property
    def certified(self) -> tuple[str, ...]:
        """The names and addresses for which the certificate must be valid, in addition to 127.0.0.1, ::1 and
        localhost.
        """
        return self.names if ipaddress.ip_address(self.bind).is_unspecified else (self.bind, *self.names)

    @property
    def host(self) -> str:
        """The host name or address of the server in the kubeconfig: the first of `names`, if there are any."""
        if self.names:
            return self.names[0]
        return LOOPBACK if ipaddress.ip_address(self.bind).is_unspecified else self.bind

    @property
    def is_reached_from_elsewhere(self) -> bool:
        """True if other machines may reach the server."""
        return not ipaddress.ip_address(self.bind).is_loopback

    def at(self, port: int) -> str:
        """Return `host` with a port, in the form for a URL."""
        address = _ip(self.host)
        return f"[{self.host}]:{port}" if address is not None and address.version == 6 else f"{self.host}:{port}"


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
