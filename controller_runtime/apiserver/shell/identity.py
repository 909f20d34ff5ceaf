# SPDX-License-Identifier: Apache-2.0
"""Who a server is to its clients: certificates and token, kept beside its objects where those are kept.

So a server that was killed comes back as the one that its clients know.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from pathlib import Path

import attrs
import msgspec

from controller_runtime.apiserver.shell.kubeconfig import write_private
from controller_runtime.apiserver.shell.tls import Certificates, make_certificates
from controller_runtime.core.errors import UsageError

# Certificates that end sooner are made anew: a server may run for a while.
_SPARE = timedelta(days=90)


@attrs.frozen
class Identity:
    """What a server shows, and the bearer token that it takes."""

    certificates: Certificates
    token: str = attrs.field(repr=False)


def new_identity(now: datetime) -> Identity:
    """One that nobody knows yet."""
    return Identity(make_certificates(now), secrets.token_urlsafe(32))


def kept_identity(directory: Path, now: datetime) -> Identity:
    """The identity kept in a directory (0600); a new one, kept from now on, where there is none or it ends soon.

    Raises:
        UsageError: The directory cannot be used, or the file is not what was kept.
    """
    path = directory / "identity.json"
    try:
        if path.exists():
            found = msgspec.json.decode(path.read_bytes(), type=Identity)
            if found.certificates.valid_until() > now + _SPARE:
                return found
        directory.mkdir(parents=True, exist_ok=True)
        identity = new_identity(now)
        write_private(path, msgspec.json.encode(identity))
    except OSError as error:
        raise UsageError(f"data directory {directory}: cannot be used: {error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is damaged ({error}): remove it, and its clients need the new kubeconfig") from error
    return identity
