# SPDX-License-Identifier: Apache-2.0
"""The checks of API services."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apimachinery.names import subdomain_errors
from embedded_apiserver.causes import invalid, not_supported, required
from embedded_apiserver.checks.basic import each
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause

_STATES = ("True", "False", "Unknown")
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NO_VERSION = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def api_service(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an APIService, its name included."""
    spec, name = part(obj, "spec"), obj["metadata"]["name"]
    group, version = spec.get("group", ""), spec.get("version", "")
    if name and name != (wanted := f"{version}.{group}"):
        text = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
        if stem := obj["metadata"].get("generateName"):
            yield invalid("metadata.generateName", stem, text)
        yield invalid("metadata.name", name, text)
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        yield from each(subdomain_errors, group, "spec.group")
    if not _VERSION.fullmatch(version):
        yield invalid("spec.version", version, _NO_VERSION)
    for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        if not 0 < (value := spec.get(field, 0)) <= most:
            yield invalid(f"spec.{field}", value, f"must be positive and less than {most}")
    yield from _backend(spec)


def _backend(spec: Object) -> Iterator[Cause]:
    service, bundle, is_blind = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    field = "spec.insecureSkipTLSVerify"
    if service is None:
        if bundle:
            length = len(bundle) * 3 // 4 - bundle.count("=")
            yield invalid("spec.caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
        if is_blind:
            yield invalid(field, is_blind, "local APIServices may not have insecureSkipTLSVerify")
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            yield required(f"spec.service.{name}")
    if not 1 <= (port := service.get("port") or 0) <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid("spec.service.port", port, text)
    if is_blind and bundle:
        yield invalid(field, is_blind, "may not be true if caBundle is present")


def api_service_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of an APIService's status."""
    for index, one in enumerate(part(new, "status").get("conditions") or ()):
        if one.get("status") not in _STATES:
            yield not_supported(f"status.conditions[{index}].status", one.get("status", ""), _STATES)
