# SPDX-License-Identifier: Apache-2.0
"""The name under which requests appear in a server's logs."""

from __future__ import annotations

from apimachinery.host import Host
from controller_runtime.core.version import __version__


def user_agent(host: Host) -> str:
    """Return the default `User-Agent` header: `controller-runtime/<version> (<host name>)`."""
    return f"controller-runtime/{__version__} ({host.name})"
