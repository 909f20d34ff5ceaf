# SPDX-License-Identifier: Apache-2.0
"""The proxy that the environment names, and the hosts that are reached without it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_of(host: str, environment: Mapping[str, str]) -> str | None:
    """Return the URL of the proxy for the URL `host`; None if `environment` names none.

    The variable is `https_proxy` or `http_proxy`, by the scheme of `host`, or else `all_proxy`. A lower-case name takes
    precedence over the same name in upper case. `HTTP_PROXY` is not read in a CGI program, where a client could set it
    by a header.
    """
    scheme = urlsplit(host).scheme.lower()
    found = _variable(f"{scheme}_proxy", environment) or _variable("all_proxy", environment)
    return found or None


def no_proxy_of(environment: Mapping[str, str]) -> str | None:
    """Return the hosts that `environment` excludes from the proxy, separated by commas; None if it excludes none."""
    return _variable("no_proxy", environment) or None


def bypasses_proxy(host: str, no_proxy: str) -> bool:
    """Return whether `no_proxy` excludes the URL `host` from the proxy.

    It lists hosts, domains and networks; `*` is all.
    """
    parts = urlsplit(host)
    name, with_port = (parts.hostname or "").lower(), parts.netloc.rpartition("@")[2].lower()
    for entry in filter(None, (entry.strip().lower() for entry in no_proxy.split(","))):
        own = entry.lstrip(".")
        if entry == "*" or name == own or name.endswith(f".{own}") or with_port == own or _is_in(name, entry):
            return True
    return False


def _variable(name: str, environment: Mapping[str, str]) -> str:
    upper = "" if name == "http_proxy" and "REQUEST_METHOD" in environment else environment.get(name.upper(), "")
    return environment.get(name, upper)


def _is_in(name: str, network: str) -> bool:
    if not (network[:1].isdigit() or ":" in network):
        return False
    import ipaddress  # only those with a proxy need it

    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
