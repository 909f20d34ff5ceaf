# SPDX-License-Identifier: Apache-2.0
"""The calls of a client that enter pods: how they get its transport and its limits. See `client.pods`."""

from __future__ import annotations

from apimachinery.objects import ObjectKey
from controller_runtime.client.calls import ClientCalls
from controller_runtime.client.pods.messages import PodCaller, Query
from controller_runtime.client.pods.session import Session

LONG = 3600.0
"""Seconds that a session or a forwarded connection may last, unless the caller says otherwise."""


def caller_of(calls: ClientCalls) -> PodCaller:
    """Return the `PodCaller` by which `client.pods` sends requests with a client's transport and limits."""
    return PodCaller(calls.host, calls.transport, calls.agent, calls.timeout)


def opened(
    calls: ClientCalls,
    key: ObjectKey,
    part: str,
    query: Query,
    container: str,
    *,
    stdin: bool,
    tty: bool,
    within: float,
) -> Session:
    """Open the streams of a command or of a container's process, and return them; see `Client.open_exec`."""
    flags = ("stdin", stdin), ("stdout", True), ("stderr", not tty), ("tty", tty)
    named = (("container", container),) if container else ()
    caller = caller_of(calls)
    whole = (*query, *named, *((name, "true") for name, is_set in flags if is_set))
    return Session(caller, caller.request(key, part, whole), within)
