# SPDX-License-Identifier: Apache-2.0
"""What servers log about who called."""

from __future__ import annotations

import importlib.metadata

from controller_runtime.core.host import Host


def user_agent(host: Host) -> str:
    """`controller-runtime/<version> (<host name>)`."""
    try:
        version = importlib.metadata.version("controller-runtime")
    except importlib.metadata.PackageNotFoundError:  # run from a clone
        version = "unreleased"
    return f"controller-runtime/{version} ({host.name})"
