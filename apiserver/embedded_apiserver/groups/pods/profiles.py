# SPDX-License-Identifier: Apache-2.0
"""Rules of profiles of seccomp and of AppArmor in annotations of pods and of their templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embedded_apiserver.causes import forbidden, invalid
from embedded_apiserver.checks.paths import descending
from embedded_apiserver.groups.pods.all_containers import all_containers, is_windows, placed_containers
from embedded_apiserver.groups.pods.profile_annotations import APP_ARMOR_OF, SECCOMP, SECCOMP_OF, are_in
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause

_LOCAL = "localhost/"
_SECCOMP = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
_APP_ARMOR = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}


def profiles(annotations: Mapping[str, str], spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the annotations for seccomp and AppArmor profiles of a pod or template.

    An AppArmor annotation for a container that does not exist is an error, too.
    """
    if SECCOMP in annotations:
        yield from _seccomp(annotations[SECCOMP], f"{place}.{SECCOMP}")
    for key, value in annotations.items():
        if key.startswith(SECCOMP_OF):
            yield from _seccomp(value, f"{place}.{key}")
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR_OF):
            name = key.removeprefix(APP_ARMOR_OF)
            if all(one.get("name", "") != name for one in all_containers(spec)):
                yield invalid(f"{place}[{key}]", name, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith(_LOCAL):
                yield invalid(f"{place}[{key}]", value, f"invalid AppArmor profile name: {quoted(value)}")


def contradictions(pod: Object, place: str) -> Iterator[Cause]:
    """Return a validation error for each annotation of a new pod or template whose profile differs from the field.

    Args:
        pod: The pod or the template.
        place: The path of the spec.
    """
    metadata, spec = part(pod, "metadata"), part(pod, "spec")
    if not are_in(metadata):
        return
    annotations = part(metadata, "annotations")
    context = part(spec, "securityContext")
    field = f"{place}.securityContext.seccompProfile"
    yield from _contradiction(annotations.get(SECCOMP), context.get("seccompProfile"), field, "seccomp", _SECCOMP)
    for where, one in placed_containers(spec, place):
        profile, field = part(one, "securityContext").get("seccompProfile"), f"{where}.securityContext.seccompProfile"
        text = annotations.get(SECCOMP_OF + one.get("name", ""))
        yield from _contradiction(text, profile, field, "seccomp", _SECCOMP)
    if is_windows(spec):
        return
    for where, one in placed_containers(spec, place):
        profile, field = part(one, "securityContext").get("appArmorProfile"), f"{where}.securityContext.appArmorProfile"
        text = annotations.get(APP_ARMOR_OF + one.get("name", ""))
        profile = context.get("appArmorProfile") if profile is None else profile
        yield from _contradiction(text, profile, field, "apparmor", _APP_ARMOR)


def changed_profiles(before: Mapping[str, str], after: Mapping[str, str], place: str) -> Iterator[Cause]:
    """Return the validation errors of changed annotations for AppArmor profiles, which must not change."""
    for key, value in before.items():
        if key.startswith(APP_ARMOR_OF) and after.get(key) != value:
            yield forbidden(f"{place}[{key}]", "may not remove or update AppArmor annotations")
    for key in after.keys() - before.keys():
        if key.startswith(APP_ARMOR_OF):
            yield forbidden(f"{place}[{key}]", "may not add AppArmor annotations")


def _seccomp(value: str, field: str) -> Iterator[Cause]:
    if value.startswith(_LOCAL):
        yield from descending(value.removeprefix(_LOCAL), field)
    elif value not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid(field, value, "must be a valid seccomp profile")


def _contradiction(
    text: str | None, profile: Object | None, field: str, what: str, same: Mapping[str, tuple[str, ...]]
) -> Iterator[Cause]:
    """Return the cause for an annotation that says something else than a field."""
    if text is None or profile is None:
        return
    kind = profile.get("type", "")
    if kind == "Localhost" and text.startswith(_LOCAL):
        if text.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            yield forbidden(f"{field}.localhostProfile", f"{what} profile in annotation and field must match")
    elif kind == "Localhost" or text not in same.get(kind, (text,)):
        yield forbidden(f"{field}.type", f"{what} type in annotation and field must match")
