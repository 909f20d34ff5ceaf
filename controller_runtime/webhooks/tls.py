# SPDX-License-Identifier: Apache-2.0
"""TLS contexts of a server: from certificates in memory, or from files that are read again when they change."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from apimachinery.log import get_logger

log = get_logger(__name__)

LOOK = 10.0
"""Seconds between two checks of the files of a certificate."""

_NO_PASSWORD = ""  # an encrypted key is an error: without this OpenSSL asks the terminal, and the program waits


def server_context(certificate: bytes, key: bytes, client_authority: Path | None = None) -> ssl.SSLContext:
    """Return a TLS context of a server, for TLS 1.2 and later, that presents a certificate.

    Args:
        certificate: The certificate, followed by those of intermediate authorities, in PEM.
        key: The private key of the certificate, in PEM.
        client_authority: A file of authorities, one of which must have signed the certificate of each client; None
            requires no client certificate.

    Raises:
        UsageError: The file of authorities cannot be read.
        ssl.SSLError: The files are not a certificate and a key, or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(client_authority)
        except OSError as error:  # ssl's errors are OSErrors, too
            raise UsageError(f"{client_authority} has no certificates of authorities: {error}") from error
    _load(context, certificate + b"\n" + key)
    return context


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Load a chain from memory: `ssl` reads files only, and the file system of a pod may be read-only."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(pem)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_NO_PASSWORD)
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile(prefix="controller-runtime-") as file:  # 0600
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=_NO_PASSWORD)


class PresentedCertificate:
    """The certificate that a server presents to new connections. It can be replaced while the server runs.

    Args:
        client_authority: A file of authorities for client certificates; None accepts every client.

    Threads: any; it is replaced by one assignment.
    """

    def __init__(self, client_authority: Path | None = None) -> None:
        self._client_authority = client_authority
        self._context: ssl.SSLContext | None = None

    @property
    def is_there(self) -> bool:
        """Whether a certificate has been set."""
        return self._context is not None

    def present(self, certificate: bytes, key: bytes) -> None:
        """Present this certificate to new connections; the arguments are those of `server_context`."""
        self._context = server_context(certificate, key, self._client_authority)

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection.

        Raises:
            ConnectionAbortedError: No certificate has been set yet.
        """
        if self._context is None:
            raise ConnectionAbortedError("there is no certificate yet")
        return self._context


@attrs.define(eq=False)
class CertificateFiles:
    """Presents the certificate in `tls.crt` and `tls.key` of a folder, such as a mounted Secret of cert-manager.

    Two files cannot be replaced at the same moment. So if they do not belong together, the last pair is still
    presented, and they are read again.

    Args:
        folder: The folder.
        presented: The holder of the presented certificate.

    Attributes:
        problem: Why the files cannot be used; empty if they can.

    Threads: one for `look`, any for the attribute.
    """

    folder: Path
    presented: PresentedCertificate
    problem: str = attrs.field(default="", init=False)
    _seen: bytes = attrs.field(default=b"", init=False)

    def look(self) -> float:
        """Read the files, present a new certificate if there is one, and return the seconds until the next check."""
        try:
            certificate, key = ((self.folder / name).read_bytes() for name in ("tls.crt", "tls.key"))
            if certificate + key != self._seen:
                self.presented.present(certificate, key)
                self._seen = certificate + key
                log.info("certificate of webhooks loaded", folder=self.folder)
            self.problem = ""
        except (OSError, ssl.SSLError) as error:
            text = f"{self.folder} has no usable tls.crt and tls.key: {error}"
            if text != self.problem:
                log.warning(text)
            self.problem = text
        return LOOK
