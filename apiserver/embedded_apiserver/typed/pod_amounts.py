# SPDX-License-Identifier: Apache-2.0
"""The resources that the containers of a pod request together, and the quality of service class that follows."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal

from apimachinery.quantities import parse_quantity
from embedded_apiserver.objects import Object, part

Amounts = dict[str, Decimal]
"""Amounts of resources by name."""


def amounts(quantities: Mapping[str, str]) -> Amounts:
    """Return resource quantities as numbers, by resource name."""
    return {name: parse_quantity(str(text)) for name, text in quantities.items()}


def of_containers(spec: Object, side: str) -> Amounts:
    """Return the total `requests` or `limits` (`side`) of all containers of a pod, by resource name.

    The total is the larger of two amounts: the sum of the containers, which run at the same time, and the largest
    init container, since these run one after another. Restartable init containers (sidecars) are added to the sum, and
    to each later init container.
    """
    running: Amounts = {}
    for container in spec.get("containers") or ():
        add(running, _of(container, side))
    before: Amounts = {}
    staying: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, side)
        if container.get("restartPolicy") == "Always":
            add(running, own)
            add(staying, own)
            own = dict(staying)
        else:
            add(own, staying)
        _raise(before, own)
    _raise(running, before)
    return running


def _of(container: Object, side: str) -> Amounts:
    return amounts(part(part(container, "resources"), side))


def add(total: Amounts, more: Amounts) -> None:
    """Add amounts to `total`, which is modified."""
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, amount), amount)


def quality_of(spec: Object) -> str:
    """Return the quality of service class of a pod.

    It is computed from the requests and limits of the pod as a whole if it has `resources`, otherwise of all
    containers.
    """
    if "resources" in spec:  # of the whole pod
        resources = [part(spec, "resources")]
    else:
        resources = [part(container, "resources") for container in _containers(spec)]
    if not any(resources):
        return "BestEffort"
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    is_bounded = True
    for one in resources:
        _add(requests, one.get("requests"))
        is_bounded &= _add(limits, one.get("limits")) == len(_COUNTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if is_bounded and requests == limits else "Burstable"


_CONTAINERS = ("initContainers", "containers")
_COUNTED = ("cpu", "memory")
_amount = functools.lru_cache(maxsize=1024)(parse_quantity)


def _add(total: dict[str, Decimal], amounts: Mapping[str, str] | None) -> int:
    """Add amounts of processors and memory to a total, and return how many there are: no others count for the quality.

    An amount of zero counts as absent.
    """
    count = 0
    for name in _COUNTED if amounts else ():
        if amounts and name in amounts and (amount := _amount(amounts[name])) > 0:
            total[name] = total[name] + amount if name in total else amount
            count += 1
    return count


def _containers(spec: Object) -> Iterator[Object]:
    for name in _CONTAINERS:
        yield from spec.get(name, ())
