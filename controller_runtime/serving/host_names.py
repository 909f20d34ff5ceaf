# SPDX-License-Identifier: Apache-2.0
"""Decides whether a request names this machine in its Host header, against DNS rebinding.

A web page can let a name of its own domain resolve to 127.0.0.1, and then read what is served to this
machine only. The browser puts that name into the Host header, so a request with a foreign name is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection


def names_this_machine(host: str, own: Collection[str] = ()) -> bool:
    """Return whether a Host header names this machine: by a loopback address or name, or by one of `own`.

    Args:
        host: The value of the header; a port in it is ignored.
        own: The names and addresses at which the server listens, without ports.
    """
    name = _without_port(host.strip()).lower().rstrip(".")
    if name in {one.lower() for one in own if one} or name == "localhost" or name.endswith(".localhost"):
        return bool(name)
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
