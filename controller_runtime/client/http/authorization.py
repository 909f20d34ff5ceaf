# SPDX-License-Identifier: Apache-2.0
"""The credentials of a transport: they are read again when they may have changed, and after the server refused them.

One thread at a time reads them, while the others use the last ones. No request waits for them beyond its deadline.
Files that were replaced are noticed by their inode, time and size.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.log import get_logger
from controller_runtime.client.http.credentials import Credential
from controller_runtime.client.http.inquiry import Inquiry
from controller_runtime.client.http.rest_config import RESTConfig, source_of

if TYPE_CHECKING:
    from kubernetes.client import Configuration

log = get_logger(__name__)

# Seconds for which credentials are not asked for again, also after a failure.
_FRESH = 1.0
# Seconds between two runs of a plugin because of a 401. A server that refuses every credential would otherwise have the
# plugin run with each request.
_RENEWALS_APART = 5.0


@attrs.frozen
class Identity:
    """The credential of this client, with the state of its TLS files when the credential was read.

    Attributes:
        credential: The credential.
        files: Inode, time and size of the TLS files; if they differ later, a file was replaced.
    """

    credential: Credential
    files: tuple[object, ...]

    @property
    def connection_key(self) -> tuple[object, ...]:
        """The client certificate and the state of the TLS files; a connection made with others must not be used."""
        return (self.credential.certificate, self.files)

    def differs_from(self, other: Identity) -> bool:
        """Return whether the two identities differ for a server: in their header, certificate or TLS files."""
        return (self.credential.header, self.connection_key) != (other.credential.header, other.connection_key)


class Authorization:
    """Provides the identity of a configuration.

    The source of the credentials is first asked when an identity is needed.

    Args:
        host: The source of time, threads and locks.
        configuration: Names the source of the credentials and the TLS files.

    Threads: any.
    """

    def __init__(self, host: Host, configuration: RESTConfig | Configuration) -> None:
        self._host = host
        self._configuration = configuration
        self._source = source_of(configuration)
        # Guards the four fields below; never held while a source is asked.
        self._lock = host.lock("authorization")
        self._identity: Identity | None = None  # the last one
        self._inquiry = self._new_inquiry()  # the last one; begun by the first thread that waits for it
        self._asked_at = self._renewed_at = -float("inf")

    def identity(self, deadline: float) -> Identity:
        """Return the current identity; ask its source first if there is none, or if it has expired or may have changed.

        While another thread asks the source, the last identity is returned unless it has expired.

        Raises:
            ConnectionLost: The source failed, or did not answer by `deadline` (monotonic seconds).
        """
        now = self._host.monotonic()
        with self._lock:
            known, inquiry = self._identity, self._inquiry
            is_fresh = now - self._asked_at < _FRESH
        if not is_fresh:
            files = self._files()
            with self._lock:
                known = self._usable(files, now)
                inquiry = self._inquiry if known else self._open_inquiry()
        return known or self._answer(inquiry, deadline)

    def renewed(self, refused: Identity, deadline: float) -> Identity | None:
        """Return another identity than `refused`, to which the server answered 401; None if there is none in time.

        The time ends at `deadline` (monotonic seconds). A source that is not quick is not asked again, and None is
        returned, within 5 s of the last time that it was asked because of a 401.
        """
        now = self._host.monotonic()
        with self._lock:
            known, is_asking = self._identity, not self._inquiry.is_over
            if known is not None and known.differs_from(refused):
                return known
            if not self._source.is_quick and not is_asking and now - self._renewed_at < _RENEWALS_APART:
                return None
            self._renewed_at = now
            inquiry = self._open_inquiry()
        try:
            identity = self._answer(inquiry, deadline)
        except ConnectionLost as error:  # the caller gets the 401
            log.warning("the server refuses the credentials, and new ones could not be had", error=error)
            return None
        return identity if identity.differs_from(refused) else None

    def give_up(self) -> None:
        """Cancel the running request for credentials, if their source allows that."""
        self._source.give_up()

    def _usable(self, files: tuple[object, ...], now: float) -> Identity | None:
        """Return the last identity if it can be used: it cannot have changed, or another thread asks for a new one."""
        known = self._identity
        if known is None or known.credential.has_expired(self._host.now()):
            return None
        if known.files == files and not self._source.is_followed:
            self._asked_at = now
            return known
        return None if self._inquiry.is_over else known

    def _open_inquiry(self) -> Inquiry[Identity]:
        if self._inquiry.is_over:
            self._inquiry = self._new_inquiry()
        return self._inquiry

    def _new_inquiry(self) -> Inquiry[Identity]:
        return Inquiry(self._host, "credentials", self._ask, is_quick=self._source.is_quick)

    def _answer(self, inquiry: Inquiry[Identity], deadline: float) -> Identity:
        if not inquiry.is_over_by(deadline):
            raise ConnectionLost(f"the credentials were not refreshed in time: {self._source} has yet to answer")
        if inquiry.answer is None:
            raise ConnectionLost(f"the credentials could not be refreshed: {inquiry.failure}") from inquiry.failure
        return inquiry.answer

    def _ask(self) -> Identity:
        files = self._files()  # read first, so that a file which is replaced meanwhile is noticed next time
        try:
            identity = Identity(self._source.ask(), files)
            with self._lock:
                self._identity = identity
        finally:
            with self._lock:
                self._asked_at = self._host.monotonic()
        return identity

    def _files(self) -> tuple[object, ...]:
        c = self._configuration
        return tuple(_status(path) for path in (c.ssl_ca_cert, c.cert_file, c.key_file) if path)


def _status(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:  # its use will report the error
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size)
