# SPDX-License-Identifier: Apache-2.0
"""Rules of a `clientConfig`, which says where a webhook is: by a URL, or by a service of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from apimachinery.names import subdomain_errors
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause

_FORM = "; desired format: https://host[/path]"
_BAD_IN_HOST = set(' "<>\\^`{|}')


def client_config(config: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """Return the validation errors of a webhook's `clientConfig`; `place` is its path."""
    if ("url" in config) == ("service" in config):
        yield required(place, "exactly one of url or service is required")
    elif "url" in config:
        yield from url(config["url"], f"{place}.url")
    else:
        yield from service(config["service"], f"{place}.service")


def url(text: str, place: str) -> Iterator[Cause]:
    """Return the validation errors of a webhook's URL; `place` is its path."""
    try:
        parts = urlsplit(text)
        problem = _problem_of_host(parts.netloc.rpartition("@")[2])
    except ValueError:
        problem = "missing ']' in host"
    if problem:
        yield required(place, f"url must be a valid URL: parse {quoted(text)}: {problem}{_FORM}")
        return
    if parts.scheme != "https":
        yield invalid(place, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    host, _, user = reversed(parts.netloc.rpartition("@"))
    if not host:
        yield invalid(place, host, f"host must be specified{_FORM}")
    if "@" in parts.netloc:
        yield invalid(place, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(place, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(place, parts.query, "query parameters are not permitted in the URL")


def _problem_of_host(host: str) -> str:
    bad = next((one for one in host if one in _BAD_IN_HOST), None)
    return "" if bad is None else f'invalid character "{bad}" in host name'


def service(reference: Mapping[str, Any], place: str) -> Iterator[Cause]:
    """Return the validation errors of a webhook's reference to a service; `place` is its path."""
    # A real server hands its function the two the wrong way round, so that the other one is said to be missing.
    for name, other in (("name", "namespace"), ("namespace", "name")):
        if not reference.get(other):
            yield required(f"{place}.{name}")
    if not 1 <= (port := reference.get("port", 443)) <= 65535:
        yield invalid(f"{place}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    path = reference.get("path")
    if path not in (None, "", "/"):
        yield from _path(path, f"{place}.path")


def _path(path: str, place: str) -> Iterator[Cause]:
    if path == "//":
        yield invalid(place, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield invalid(place, path, "must start with a '/'")
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(place, path, f"segment[{index}] may not be empty")
        else:
            yield from (invalid(place, path, f"segment[{index}]: {text}") for text in subdomain_errors(segment))
