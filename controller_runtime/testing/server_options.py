# SPDX-License-Identifier: Apache-2.0
"""The options of a cluster's new server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypedDict

from apimachinery.errors import UsageError
from embedded_apiserver import APIServer


class ServerOptions(TypedDict):
    """Arguments for a new `APIServer`."""

    release: str | None
    disable_admission_plugins: Collection[str]
    enable_admission_plugins: Collection[str]
    cluster_objects: bool


def check_together(
    server: APIServer | None, options: Mapping[str, object], role: object | None, transport: object | None
) -> None:
    """Refuse options of a new server together with an existing server, and a role together with a transport.

    Raises:
        UsageError: Both are given.
    """
    if server is not None and any(options.values()):
        raise UsageError(
            "give either a server, or the release, the admission plugins, the webhooks and the cluster objects "
            "of a new one, not both"
        )
    if role is not None and transport is not None:
        raise UsageError("a role is that of the cluster's own transport: give a transport or a role")
