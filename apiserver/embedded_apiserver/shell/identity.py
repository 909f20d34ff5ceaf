# SPDX-License-Identifier: Apache-2.0
"""The identity of a server: its certificates and token, stored next to its objects if those are stored.

A server that was killed and started again can therefore be reached by its clients without a new kubeconfig.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path

import attrs
import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.errors import UsageError
from apimachinery.system import thread_names
from embedded_apiserver.shell.kubeconfig import write_private
from embedded_apiserver.shell.tls import Certificates, make_certificates
from embedded_apiserver.storage.private import check_is_usable, make_private_directory, remedy_for

# Certificates that expire sooner than this are replaced at the start, because a server may run for weeks.
_LEAST_VALIDITY = timedelta(days=90)
# The syntax of a bearer token in HTTP.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@attrs.frozen
class Identity:
    """The certificates of a server, the administrator's token, and the key that signs other tokens.

    Attributes:
        certificates: The certificates of the server and its authority.
        token: The administrator's bearer token.
        signing_key: The private key for tokens of service accounts, in PEM form; empty if read from a file of an
            earlier release.
    """

    certificates: Certificates
    token: str = attrs.field(repr=False)
    signing_key: str = attrs.field(default="", repr=False)


_decode: Callable[[bytes], Identity] = decoder_of(Identity)


def identity_of(directory: Path | None, now: datetime, names: Collection[str] = ()) -> Identity:
    """Return the identity stored in a directory, or a new one if `directory` is None. For the errors see
    `kept_identity`.
    """
    return new_identity(now, names) if directory is None else kept_identity(directory, now, names)


def identity_from_child(directory: Path | None, now: datetime, names: Collection[str] = ()) -> Callable[[], Identity]:
    """Return a function that returns the result of `identity_of`, which a child process computes meanwhile.

    The child imports the package cryptography, so that this process saves 8 MiB and 0.1 s. If there is no child, or it
    fails, this process does the work when the function is called, which then raises the errors of `identity_of`.

    Threads: the main thread, before there are others.
    """
    if sys.platform == "win32" or len(thread_names()) > 1:
        return lambda: identity_of(directory, now, names)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, msgspec.json.encode(identity_of(directory, now, names)))  # shorter than a pipe's 64 KiB
        finally:
            os._exit(0)  # this process does the same work if the child wrote nothing, and tells of the error
    os.close(writer)

    def received() -> Identity:
        with open(reader, "rb") as file:
            content = file.read()
        os.waitpid(child, 0)
        return _decode(content) if content else identity_of(directory, now, names)

    return received


def new_identity(now: datetime, names: Collection[str] = ()) -> Identity:
    """Return an identity with new certificates for loopback and `names`, a new token and a new signing key."""
    from embedded_apiserver.authentication.signing import new_signing_key

    return Identity(make_certificates(now, names), secrets.token_urlsafe(32), new_signing_key())


def kept_identity(directory: Path, now: datetime, names: Collection[str] = ()) -> Identity:
    """Return the identity stored in a directory; if there is none that can be used, create and store one (mode 0600).

    A stored identity cannot be used if its certificates expire within 90 days, or are not valid for all of `names`; its
    signing key is kept even then. If only the signing key is missing, only that is new.

    Raises:
        UsageError: The directory cannot be used, or the stored file is damaged.
    """
    path = directory / "identity.json"
    try:
        make_private_directory(directory)
        if path.exists():
            check_is_usable(path)
            found = _read(path)
            if _serves(found.certificates, now, names) and found.signing_key:
                return found
            identity = _completed(found, now, names)
        else:
            identity = new_identity(now, names)
        write_private(path, msgspec.json.encode(identity))
    except _Damaged as error:
        remedy = "remove it, and give the new kubeconfig to all clients"
        raise UsageError(f"{path} is damaged ({error}): {remedy}") from error
    except OSError as error:
        raise UsageError(f"data directory {directory}: cannot be used: {error}: {remedy_for(error)}") from error
    return identity


def _serves(certificates: Certificates, now: datetime, names: Collection[str]) -> bool:
    return certificates.valid_until() > now + _LEAST_VALIDITY and certificates.names().issuperset(names)


def _completed(found: Identity, now: datetime, names: Collection[str]) -> Identity:
    """Return an identity with what is missing or outdated made new: a signing key, or certificates and token."""
    from embedded_apiserver.authentication.signing import new_signing_key

    if _serves(found.certificates, now, names):
        return attrs.evolve(found, signing_key=new_signing_key())
    # The key stays, because pods and other clients may hold tokens that it has signed.
    return attrs.evolve(new_identity(now, names), signing_key=found.signing_key or new_signing_key())


class _Damaged(Exception):
    """The stored identity is damaged; the message says how."""


def _read(path: Path) -> Identity:
    from embedded_apiserver.authentication.signing import SigningKey

    content = path.read_bytes()
    try:
        found = _decode(content)
        found.certificates.check()
        if found.signing_key:
            SigningKey(found.signing_key)
    except (ValueError, TypeError, RecursionError) as error:
        raise _Damaged(str(error)) from error
    if not _TOKEN.fullmatch(found.token):
        raise _Damaged("its token is no bearer token")
    return found
