# SPDX-License-Identifier: Apache-2.0
"""The checks of seccomp profiles: once by annotations, since release 1.19 by fields."""

from __future__ import annotations

from embedded_apiserver.admission.pod_security.violations import (
    Violation,
    context,
    contexts,
    in_quotes,
    named,
    names_of,
    setters,
    several,
)
from embedded_apiserver.groups.pods.all_containers import all_containers, is_windows
from embedded_apiserver.groups.pods.profile_annotations import SECCOMP, SECCOMP_OF
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted

_ALLOWED = ("Localhost", "RuntimeDefault")
_NOTED = ("runtime/default", "docker/default")
_REASON = "seccompProfile"


def by_annotations(metadata: Object, spec: Object) -> Violation | None:
    """Return a violation if an annotation names a seccomp profile that is not allowed."""
    annotations = part(metadata, "annotations")
    keys = {SECCOMP, *(SECCOMP_OF + one.get("name", "") for one in all_containers(spec))}
    found = {key: value for key, value in annotations.items() if key in keys}
    bad = sorted([f"{key}={quoted(value)}" for key, value in found.items() if not _is_allowed(value)])
    return Violation(_REASON, f"forbidden {several('annotation', bad)} {', '.join(bad)}") if bad else None


def of_baseline(_: Object, spec: Object) -> Violation | None:
    """Return a violation if a field has a seccomp profile other than `RuntimeDefault` and `Localhost`."""
    if who := setters(spec, _is_bad):
        return _refused(who, spec)
    return None


def of_restricted(_: Object, spec: Object) -> Violation | None:
    """Return the violation found by `of_baseline`, or one if no seccomp profile is set for a container."""
    if who := setters(spec, _is_bad):
        return _refused(who, spec)
    if _type(context(spec)) is not None:
        return None
    without = names_of(spec, lambda one: _type(context(one)) is None)
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation(_REASON, f"pod or {named('container', without)} {must}") if without else None


def of_restricted_linux(metadata: Object, spec: Object) -> Violation | None:
    """Return the violation found by `of_restricted`; None for a Windows pod, which has no seccomp profiles."""
    return None if is_windows(spec) else of_restricted(metadata, spec)


def _type(security: Object) -> str | None:
    profile = security.get("seccompProfile")
    return None if profile is None else profile.get("type", "")


def _is_bad(security: Object) -> bool:
    return (kind := _type(security)) is not None and kind not in _ALLOWED


def _is_allowed(value: str) -> bool:
    return value in _NOTED or value.startswith("localhost/")


def _refused(who: list[str], spec: Object) -> Violation:
    values = sorted({_type(one) or "" for one in contexts(spec) if _is_bad(one)})
    must = f"must not set securityContext.seccompProfile.type to {in_quotes(values)}"
    return Violation(_REASON, f"{' and '.join(who)} {must}")
