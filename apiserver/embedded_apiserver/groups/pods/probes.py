# SPDX-License-Identifier: Apache-2.0
"""Rules of probes and of lifecycle hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import needs, non_negative, port_number
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_OF_PROBE = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOK = ("exec", "httpGet", "tcpSocket", "sleep")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)
_PORT = re.compile(r"[-a-z0-9]+")


def port_name_errors(name: str) -> list[str]:
    """Return the errors of a port's name; an empty list if it is valid."""
    problems = [] if len(name.encode()) <= 15 else ["must be no more than 15 characters"]
    if not _PORT.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= letter <= "z" for letter in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_reference(port: int | str, field: str) -> list[Cause]:
    """Return the validation errors of a port that is given by its number or its name."""
    if isinstance(port, int):
        return port_number(port, field)
    return [invalid(field, port, text) for text in port_name_errors(port)]


def probes(container: Object, place: str, grace: int | None) -> Iterator[Cause]:
    """Return the validation errors of a container's probes; `grace` is the pod's termination grace period in
    seconds.
    """
    for name in PROBES:
        if (probe := container.get(name)) is None:
            continue
        field = f"{place}.{name}"
        yield from _handler(probe, field, _OF_PROBE, grace)
        yield from non_negative(probe, field, *_NUMBERS)
        seconds = probe.get("terminationGracePeriodSeconds")
        if seconds is not None and seconds <= 0:
            yield invalid(f"{field}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
        if name == "readinessProbe":
            if seconds is not None:
                text = "must not be set for readinessProbes"
                yield invalid(f"{field}.terminationGracePeriodSeconds", seconds, text)
        elif (successes := probe.get("successThreshold", 0)) != 1:
            yield invalid(f"{field}.successThreshold", successes, "must be 1")


def lifecycle(hooks: Object | None, place: str, grace: int | None) -> Iterator[Cause]:
    """Return the validation errors of a container's lifecycle hooks; `grace` is the pod's termination grace period in
    seconds.
    """
    if hooks is None:
        return
    for name in ("postStart", "preStop"):
        if (hook := hooks.get(name)) is not None:
            yield from _handler(hook, f"{place}.{name}", _OF_HOOK, grace)


def _handler(handler: Object, place: str, names: tuple[str, ...], grace: int | None) -> Iterator[Cause]:
    is_first = True
    for name in names:
        if (action := handler.get(name)) is None:
            continue
        if is_first:
            yield from _action(name, action, f"{place}.{name}", grace)
        else:
            yield forbidden(f"{place}.{name}", "may not specify more than 1 handler type")
        is_first = False
    if is_first:
        yield required(place, "must specify a handler type")


def _action(name: str, action: Object, place: str, grace: int | None) -> Iterator[Cause]:
    match name:
        case "exec":
            yield from needs(action, place, "command")
        case "httpGet":
            yield from _http(action, place)
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace is not None and not 0 <= seconds <= grace:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid(place, seconds, text)
        case _:
            yield from port_reference(action.get("port", 0), f"{place}.port")


def _http(action: Object, place: str) -> Iterator[Cause]:
    yield from needs(action, place, "path")
    yield from port_reference(action.get("port", 0), f"{place}.port")
    if (scheme := action.get("scheme", "")) not in ("HTTP", "HTTPS"):
        yield not_supported(f"{place}.scheme", scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        if not _HEADER.fullmatch(name := header.get("name", "")):
            yield invalid(f"{place}.httpHeaders", name, _HEADER_TEXT)
