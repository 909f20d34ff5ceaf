# SPDX-License-Identifier: Apache-2.0
"""Profiles of seccomp and of AppArmor in annotations, where they stood before they had fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.groups.pods.all_containers import LISTS, all_containers, is_windows
from embedded_apiserver.objects import Object, part

SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
"""The annotation with the profile of all containers."""
SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
"""The beginning of the annotation with the profile of one container, whose name follows."""
APP_ARMOR_OF = "container.apparmor.security.beta.kubernetes.io/"
"""The beginning of the annotation with the AppArmor profile of one container, whose name follows."""
_ALL = (SECCOMP, SECCOMP_OF, APP_ARMOR_OF)
_SECCOMP_ENDED = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR_OLD = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_FIELD = "appArmorProfile"
_LOCAL = "localhost/"
_LONGEST = 4095  # characters of the path of a profile
_LATER = ("stdin", "stdinOnce", "tty")  # the fields of a container after its security context


def are_in(metadata: Object) -> bool:
    """Return whether the metadata of a pod or a template has annotations for seccomp or AppArmor profiles."""
    return any(key.startswith(_ALL) for key in metadata.get("annotations") or ())


def of_pod(pod: Object, place: str) -> Iterator[str]:
    """Yield the warning about the annotation for the seccomp profile of a whole pod; `place` is the annotations'
    path.
    """
    if SECCOMP in _annotations(pod) and _context(part(pod, "spec")).get("seccompProfile") is None:
        yield f"{place}[{SECCOMP}]: {_SECCOMP_ENDED}"


def of_container(container: Object, pod: Object, place: str, *, of_template: bool) -> Iterator[str]:
    """Yield the warnings about annotations for the profiles of one container.

    For a pod, the warnings about AppArmor come from `of_app_armor`, because they are the first ones.
    """
    key = SECCOMP_OF + container.get("name", "")
    if key in _annotations(pod) and _context(container).get("seccompProfile") is None:
        yield f"{place}[{key}]: {_SECCOMP_ENDED}"
    if of_template:
        yield from _of_app_armor(container, pod, place)


def of_app_armor(pod: Object, place: str) -> Iterator[str]:
    """Yield the warnings about annotations for AppArmor profiles of a pod's containers."""
    spec = part(pod, "spec")
    if not is_windows(spec):
        for container in all_containers(spec):
            yield from _of_app_armor(container, pod, place)


def _of_app_armor(container: Object, pod: Object, place: str) -> Iterator[str]:
    key = APP_ARMOR_OF + container.get("name", "")
    if _context(container).get(_FIELD) is not None or (text := _annotations(pod).get(key)) is None:
        return
    found = _app_armor(text)
    if found is None or found != _context(part(pod, "spec")).get(_FIELD):
        yield f"{place}[{key}]: {_APP_ARMOR_OLD}"


def with_app_armor(metadata: Object, spec: Object) -> Object:
    """Return the spec of a new pod with the AppArmor profiles from its annotations as fields of the containers.

    An existing field is not changed. A container whose annotation has the same profile as the pod gets no field.
    """
    if not are_in(metadata) or is_windows(spec):
        return spec
    annotations, of_all = part(metadata, "annotations"), _context(spec).get(_FIELD)

    def armored(container: Object) -> Object:
        context = _context(container)
        found = _app_armor(annotations.get(APP_ARMOR_OF + container.get("name", ""), ""))
        if found is None or found == of_all or context.get(_FIELD) is not None:
            return container
        before = {name: value for name, value in container.items() if name not in _LATER}
        after = {name: container[name] for name in _LATER if name in container}
        return {**before, "securityContext": {**context, _FIELD: found}, **after}

    return {**spec, **{group: [armored(one) for one in spec[group]] for group in LISTS if spec.get(group)}}


def _app_armor(text: str) -> dict[str, Any] | None:
    """Return the field that means the same as an annotation; None if its text is not one that is known."""
    match text:
        case "unconfined":
            return {"type": "Unconfined"}
        case "runtime/default":
            return {"type": "RuntimeDefault"}
    path = text.removeprefix(_LOCAL)
    if path in (text, "") or path.strip() != path or len(path.encode()) > _LONGEST:
        return None
    return {"type": "Localhost", "localhostProfile": path}


def _annotations(pod: Object) -> Mapping[str, str]:
    return part(part(pod, "metadata"), "annotations")


def _context(owner: Object) -> Object:
    return part(owner, "securityContext")
