# SPDX-License-Identifier: Apache-2.0
"""Certificates for a server: its own, and that of the authority that signed it."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Collection
from datetime import datetime

import attrs


@attrs.frozen
class Certificates:
    """The certificate of a server with its private key, and the certificate of the authority that issued it.

    The authority's private key is not kept, so that it cannot issue another certificate.

    Attributes:
        authority: The authority's certificate, in PEM form.
        server: The server's certificate, in PEM form.
        key: The server's private key, in PEM form.
    """

    authority: bytes
    server: bytes
    key: bytes = attrs.field(repr=False)

    def valid_until(self) -> datetime:
        """Return the time at which the server's certificate expires.

        Raises:
            ValueError: `server` is not a certificate.
        """
        from embedded_apiserver.shell.issuing import valid_until

        return valid_until(self.server)

    def names(self) -> frozenset[str]:
        """Return the DNS names and IP addresses for which the server's certificate is valid.

        Raises:
            ValueError: `server` is not a certificate.
        """
        from embedded_apiserver.shell.issuing import names_of

        return names_of(self.server)

    def check(self) -> None:
        """Check that the authority has issued the server's certificate, and that the key is that of this certificate.

        The times of expiry are not checked; see `valid_until`.

        Raises:
            ValueError: A value is not a certificate or key, or they do not belong together.
        """
        from embedded_apiserver.shell.issuing import check_issuer

        check_issuer(self.server, self.authority)
        try:
            self.server_context()
        except ssl.SSLError as error:
            raise ValueError("the key is not that of the server's certificate") from error

    def server_context(self) -> ssl.SSLContext:
        """Return a TLS context with the server's certificate and key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.NamedTemporaryFile(prefix="controller-runtime-") as file:  # 0600; `ssl` loads only from files
            file.write(self.key + self.server)
            file.flush()
            context.load_cert_chain(file.name)
        return context


def make_certificates(now: datetime, names: Collection[str] = ()) -> Certificates:
    """Return a new authority and a server certificate issued by it, valid for a year from `now`.

    The server certificate is for 127.0.0.1, ::1, localhost and `names`, which are DNS names and IP addresses.
    """
    from embedded_apiserver.shell.issuing import issue

    return Certificates(*issue(now, names))
