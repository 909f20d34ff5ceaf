# SPDX-License-Identifier: Apache-2.0
"""What servers log about who called."""

from __future__ import annotations

from controller_runtime.core.host import Host
from controller_runtime.core.version import __version__


def user_agent(host: Host) -> str:
    """`controller-runtime/<version> (<host name>)`."""
    return f"controller-runtime/{__version__} ({host.name})"
