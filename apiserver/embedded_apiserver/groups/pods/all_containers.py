# SPDX-License-Identifier: Apache-2.0
"""The containers of a pod, in all three lists of its spec."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.objects import Object, part

LISTS = ("initContainers", "containers", "ephemeralContainers")
"""The fields of a pod's spec that list containers, in the order in which a real API server looks at them."""


def all_containers(spec: Object) -> Iterator[Object]:
    """Yield all containers of a pod's spec, including init and ephemeral containers."""
    for name in LISTS:
        yield from spec.get(name) or ()


def placed_containers(spec: Object, place: str) -> Iterator[tuple[str, Object]]:
    """Yield each container of a pod's spec with its path; `place` is the path of the spec."""
    for name in LISTS:
        for index, one in enumerate(spec.get(name) or ()):
            yield f"{place}.{name}[{index}]", one


def is_windows(spec: Object) -> bool:
    """Return whether a pod's spec has the operating system `windows`."""
    return bool(part(spec, "os").get("name") == "windows")
