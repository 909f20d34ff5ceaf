# SPDX-License-Identifier: Apache-2.0
"""Decides when a perturbation happens: by what a client does, because in real time its writes have no fixed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from embedded_apiserver.perturbation.names import Name

UNREAD = frozenset({"events", "leases"})
"""Plurals that are passed on as they are: an operator's election and its events are not what is perturbed."""


@attrs.frozen
class AtWrite:
    """The client ends at its write number `occurrence` of one kind.

    Attributes:
        what: Method and collection of the write, and the object if its name is not a generated one.
        occurrence: The number among writes of that kind, from 1.
        landed: Whether the server carries it out.
    """

    what: str
    occurrence: int
    landed: bool


@attrs.frozen
class AtChange:
    """Stalls the watches of a resource, from one of its changes on.

    Attributes:
        resource: The resource.
        name: The object, as text; empty for any.
        occurrence: The number of the change among those of the object, or of the resource, from 1.
        is_missed: Whether the watches end with 410 at the object's next change, so that this one is never seen.
        is_far: Whether the object's next change belongs to a later step of the test. The test must not wait for rest
            before that step, since the stalled client cannot act.
    """

    resource: str
    name: str
    occurrence: int
    is_missed: bool
    is_far: bool = False


@attrs.frozen
class AtRest:
    """The client ends when nothing has changed for a while; with a resource, its successor first sees that as it was.

    Attributes:
        rest: The number of the rest in a story, from 0.
        resource: The resource that is shown as it was; empty for none.
        changes: The number of its changes that are shown.
        after: The object whose change is the last one before the rest, as text; empty for a rest before all changes.
        occurrence: The number of that change among those of the object, from 1.
    """

    rest: int
    resource: str = ""
    changes: int = 0
    after: str = ""
    occurrence: int = 0


Trigger = AtWrite | AtChange | AtRest


def write_of(method: str, target: str, prefixes: Iterable[str]) -> str:
    """Return what a write is in every run: without the name of its object if that was generated.

    Args:
        method: The method of HTTP.
        target: The resource, the key and the subresource, such as `deployments.apps default/web status`.
        prefixes: The prefixes of generated names.
    """
    resource, _, rest = target.partition(" ")
    key, _, subresource = rest.partition(" ")
    name = key.rpartition("/")[2]
    if any(name.startswith(prefix) for prefix in prefixes if prefix):
        key = key.removesuffix(name) + "*"
    return " ".join(filter(None, (method, resource, key, subresource)))


def matches(trigger: AtChange, name: Name, seen: Mapping[str, int]) -> bool:
    """Tell whether a change is the one that a trigger means.

    Args:
        trigger: The trigger.
        name: The object that has changed.
        seen: How many changes each resource and each object has had so far, this one among them.
    """
    if name.resource != trigger.resource or (trigger.name and str(name) != trigger.name):
        return False
    return seen.get(trigger.name or trigger.resource, 0) == trigger.occurrence
