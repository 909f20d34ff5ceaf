# SPDX-License-Identifier: Apache-2.0
"""Who a server is to its clients: certificates and token, kept beside its objects where those are kept.

So a server that was killed comes back as the one that its clients know.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta
from pathlib import Path

import attrs
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm

from controller_runtime.apiserver.shell.kubeconfig import write_private
from controller_runtime.apiserver.shell.tls import Certificates, make_certificates
from controller_runtime.apiserver.storage.private import check_is_usable, make_private_directory, remedy_for
from controller_runtime.core.errors import UsageError

# Certificates that end sooner are made anew: a server may run for a while.
_SPARE = timedelta(days=90)
# A bearer token as HTTP has it.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@attrs.frozen
class Identity:
    """What a server shows, and the bearer token that it takes."""

    certificates: Certificates
    token: str = attrs.field(repr=False)


def new_identity(now: datetime) -> Identity:
    """One that nobody knows yet."""
    return Identity(make_certificates(now), secrets.token_urlsafe(32))


def kept_identity(directory: Path, now: datetime) -> Identity:
    """Return the identity kept in a directory (0600), or make and keep a new one: there is none, or it ends soon.

    Raises:
        UsageError: The directory cannot be used, or the file is not what was kept.
    """
    path = directory / "identity.json"
    try:
        make_private_directory(directory)
        if path.exists():
            check_is_usable(path)
            found = _read(path)
            if found.certificates.valid_until() > now + _SPARE:
                return found
        identity = new_identity(now)
        write_private(path, msgspec.json.encode(identity))
    except _Damaged as error:
        remedy = "remove it, and its clients need the new kubeconfig"
        raise UsageError(f"{path} is damaged ({error}): {remedy}") from error
    except OSError as error:
        raise UsageError(f"data directory {directory}: cannot be used: {error}: {remedy_for(error)}") from error
    return identity


class _Damaged(Exception):
    """The file is not what was kept; the message says why."""


def _read(path: Path) -> Identity:
    content = path.read_bytes()
    try:
        found = msgspec.json.decode(content, type=Identity)
        found.certificates.check()
    except (ValueError, TypeError, RecursionError, UnsupportedAlgorithm) as error:
        raise _Damaged(str(error)) from error
    if not _TOKEN.fullmatch(found.token):
        raise _Damaged("its token is no bearer token")
    return found
