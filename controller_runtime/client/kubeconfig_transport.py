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
    """Return the transport to the cluster that a kubeconfig describes; see `Manager.from_kubeconfig`.

    In a pod, with neither `path` nor `context`, it is the transport to the pod's cluster.

    Args:
        host: The source of time, threads and locks.
        path: The kubeconfig; None for the default one.
        context: The context; None for the current one.
        longest_answer: The most bytes of one answer; None for the default.

    Raises:
        UsageError: The configuration is missing or cannot be used.
    """
    # Imported here, because the official client is large, and a program with another transport does not need it.
    from controller_runtime.client.http.answer import LONGEST_ANSWER
    from controller_runtime.client.http.configuration import find
    from controller_runtime.client.http.transport import HTTPTransport

    longest = LONGEST_ANSWER if longest_answer is None else longest_answer
    return HTTPTransport(host, find(path, context), longest_answer=longest)
