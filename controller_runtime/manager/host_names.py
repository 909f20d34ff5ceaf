# SPDX-License-Identifier: Apache-2.0
"""Whether a request asks for this machine by one of its own names, or by one that was made to lead here.

A page in a browser can have a name of its own resolved to 127.0.0.1 (DNS rebinding), and then read what is served
to this machine alone. The browser still says that name in the Host header.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection


def names_this_machine(host: str, own: Collection[str] = ()) -> bool:
    """Whether a Host header names this machine: as a loopback address or name, or as one of `own`.

    Args:
        host: The header; the port, if there is one, does not count.
        own: Names and addresses at which the server listens, without ports.
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
