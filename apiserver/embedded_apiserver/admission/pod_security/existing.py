# SPDX-License-Identifier: Apache-2.0
"""Warnings about the existing pods of a namespace when another level is to be enforced in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from embedded_apiserver.admission.pod_security.levels import LevelVersion
from embedded_apiserver.admission.pod_security.table import violations
from embedded_apiserver.objects import Object, part

MOST = 3000
"""The most pods that are checked, as on a real API server."""
LONGEST = 1.0
"""Seconds after which no further pod is checked, as on a real API server."""


def in_order(pods: Iterable[Object]) -> list[Object]:
    """Return the pods in the order in which to check them: those without a controller and one of each controller come
    before all others.

    The pods of one controller are mostly alike, so a check that runs out of time leaves out pods like those checked.
    """
    first: list[Object] = []
    others: list[Object] = []
    seen: set[str] = set()
    for pod in pods:
        uid = _controller(pod)
        (others if uid in seen else first).append(pod)
        if uid is not None:
            seen.add(uid)
    return [*first, *others]


def _controller(pod: Object) -> str | None:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((one["uid"] for one in owners if one.get("controller")), None)


def warnings_of(
    namespace: str, pods: Sequence[Object], asked: LevelVersion, newest: int, is_late: Callable[[], bool]
) -> list[str]:
    """Return the warnings about existing pods that violate a level which is going to be enforced.

    Args:
        namespace: The name of the namespace.
        pods: The pods of the namespace, as returned by `in_order`.
        asked: The level to be enforced.
        newest: The minor version of the newest known release.
        is_late: A function that returns True when the time for the check is over.
    """
    found: dict[str, list[str]] = {}
    looked_at = 0
    for pod in pods[:MOST]:
        looked_at += 1
        if against := violations(asked, newest, pod["metadata"], part(pod, "spec")):
            found.setdefault(", ".join(one.reason for one in against), []).append(pod["metadata"]["name"])
        if is_late():
            break
    told = []
    if looked_at < len(pods):
        which = f"the first {looked_at} of {len(pods)} existing pods"
        told.append(f"new PodSecurity enforce level only checked against {which}")
    if found:
        told.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{asked}"')
    return told + sorted([f"{_counted(names)}: {reasons}" for reasons, names in found.items()])


def _counted(names: Sequence[str]) -> str:
    others = len(names) - 1
    more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
    return min(names) + more
