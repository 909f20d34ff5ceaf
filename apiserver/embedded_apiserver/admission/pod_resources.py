# SPDX-License-Identifier: Apache-2.0
"""The resources that a whole pod requests, computed from those of its containers."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.objects import Object, part
from embedded_apiserver.typed.pod_amounts import Amounts, add, amounts, of_containers


def containers_of(pod: Object) -> Iterator[Object]:
    """Yield the containers of a pod, then its init containers."""
    spec = part(pod, "spec")
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def of_pod(pod: Object, side: str) -> Amounts:
    """Return the `requests` or the `limits` (`side`) of a whole pod, by resource, including its overhead.

    The overhead is not added to the limits of resources that are not limited otherwise.
    """
    spec = part(pod, "spec")
    total = of_containers(spec, side)
    total.update(amounts(part(part(spec, "resources"), side)))
    overhead = amounts(part(spec, "overhead"))
    add(total, {name: amount for name, amount in overhead.items() if side == "requests" or name in total})
    return total
