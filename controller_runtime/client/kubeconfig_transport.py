# SPDX-License-Identifier: Apache-2.0
"""The transport of this machine to the cluster that a kubeconfig describes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from apimachinery.host import Host

if TYPE_CHECKING:  # see below
    from controller_runtime.client.http.transport import HTTPTransport


def kubeconfig_transport(
    host: Host, path: str | os.PathLike[str] | None, context: str | None, *, longest_answer: int | None = None
) -> HTTPTransport:
    """Return the transport; see `Manager.from_kubeconfig`.

    Raises:
        UsageError: The configuration is missing or cannot be used.
    """
    # Imported here, because the official client is large, and a program with another transport does not need it.
    from controller_runtime.client.http.answer import LONGEST_ANSWER
    from controller_runtime.client.http.configuration import find
    from controller_runtime.client.http.transport import HTTPTransport

    longest = LONGEST_ANSWER if longest_answer is None else longest_answer
    return HTTPTransport(host, find(path, context), longest_answer=longest)
