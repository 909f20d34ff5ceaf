# SPDX-License-Identifier: Apache-2.0
"""Describes when a perturbation happens: by the actions of a client, because in real time its writes have no fixed
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from embedded_apiserver.perturbation.names import Name

UNREAD = frozenset({"events", "leases"})
"""The plurals whose requests are never perturbed: an operator's events, and the lease of its election."""


@attrs.frozen
class AtWrite:
    """Trigger: the client ends at its write number `occurrence` of one kind.

    Attributes:
        what: The method and resource of the write, and the object unless its name is generated.
        occurrence: The number among the writes of that kind, from 1.
        landed: True if the server carries out the write.
    """

    what: str
    occurrence: int
    landed: bool


@attrs.frozen
class AtChange:
    """Trigger: the watches of a resource are stalled from one of its changes on.

    Attributes:
        resource: The resource.
        name: The object, as the text of a `Name`; empty for any object.
        occurrence: The number of the change among those of the object, or of the resource if `name` is empty, from 1.
        is_missed: True if the watches end with 410 at the object's next change, so that the client never sees this one.
        is_far: True if the object's next change belongs to a later step of the test. Before that step the test must not
            wait until nothing changes any more, because the stalled client cannot finish its work.
    """

    resource: str
    name: str
    occurrence: int
    is_missed: bool
    is_far: bool = False


@attrs.frozen
class AtRest:
    """Trigger: the client ends when nothing has changed for a while. A restarted client may first see an old state of
    `resource`.

    Attributes:
        rest: The number of the rest in the test, from 0.
        resource: The resource whose lists show an old state; empty for none.
        changes: The number of changes of that resource that the old state includes.
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
    """Return a text that identifies a write in every run: without the name of its object if that is generated.

    Args:
        method: The HTTP method.
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
    """Return whether a change is the one that a trigger describes.

    Args:
        trigger: The trigger.
        name: The object that has changed.
        seen: The number of changes of each resource and of each object so far, including this one.
    """
    if name.resource != trigger.resource or (trigger.name and str(name) != trigger.name):
        return False
    return seen.get(trigger.name or trigger.resource, 0) == trigger.occurrence
