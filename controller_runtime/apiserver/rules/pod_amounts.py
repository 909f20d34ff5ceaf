# SPDX-License-Identifier: Apache-2.0
"""The resources that the containers of a pod ask for together."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from controller_runtime.api.quantities import parse_quantity
from controller_runtime.apiserver.rules.rules import Object, part

Amounts = dict[str, Decimal]
"""Amounts of resources by name."""


def amounts(quantities: Mapping[str, str]) -> Amounts:
    """Return quantities as amounts."""
    return {name: parse_quantity(str(text)) for name, text in quantities.items()}


def of_containers(spec: Object, side: str) -> Amounts:
    """Return the `requests` or the `limits` of all containers of a pod together.

    Containers run together and add up. Of those that run before, one after another, the largest counts; one that
    goes on running counts with both.
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
    """Add amounts to a total, which is modified."""
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, amount), amount)
