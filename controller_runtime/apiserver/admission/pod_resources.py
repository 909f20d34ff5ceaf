# SPDX-License-Identifier: Apache-2.0
"""The resources that a whole pod asks for, which follow from those of its containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from controller_runtime.api.quantities import parse_quantity
from controller_runtime.apiserver.rules.rules import Object, part

Amounts = dict[str, Decimal]
"""Amounts of resources by name."""


def containers_of(pod: Object) -> Iterator[Object]:
    """Yield the containers of a pod that run, and after them those that run before."""
    spec = part(pod, "spec")
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def amounts(quantities: Mapping[str, str]) -> Amounts:
    """Return quantities as amounts."""
    return {name: parse_quantity(str(text)) for name, text in quantities.items()}


def of_pod(pod: Object, side: str) -> Amounts:
    """Return the `requests` or the `limits` of a whole pod, with its overhead.

    Containers run together and add up. Of those that run before, one after another, the largest counts; one that
    goes on running counts with both.
    """
    spec = part(pod, "spec")
    running: Amounts = {}
    for container in spec.get("containers") or ():
        _add(running, _of(container, side))
    before: Amounts = {}
    staying: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, side)
        if container.get("restartPolicy") == "Always":
            _add(running, own)
            _add(staying, own)
            own = dict(staying)
        else:
            _add(own, staying)
        _raise(before, own)
    _raise(running, before)
    running.update(amounts(part(part(spec, "resources"), side)))
    overhead = amounts(part(spec, "overhead"))
    _add(running, {name: amount for name, amount in overhead.items() if side == "requests" or name in running})
    return running


def _of(container: Object, side: str) -> Amounts:
    return amounts(part(part(container, "resources"), side))


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, amount), amount)
