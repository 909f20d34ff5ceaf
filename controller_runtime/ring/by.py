# SPDX-License-Identifier: Apache-2.0
"""The property of a request that decides to which slot it belongs."""

from __future__ import annotations

import enum


class RingBy(enum.Enum):
    """The property of a request or its object whose hash assigns it to one of the 256 slots of a ring."""

    NAMESPACE = "namespace"
    """The namespace of the request: one replica works for all objects of a namespace. For tenants, and for work whose
    effects are counted for a namespace. A cluster-scoped object is assigned by its name.
    """

    NAME = "name"
    """The namespace and name of the request, so that the objects of one namespace are spread over the replicas, too."""

    UID = "uid"
    """The uid of the object: spreads objects like `NAME`, and a server can send each replica only its share of them. An
    object that is deleted and created again may then be assigned to another replica, which does not wait until the
    first one has finished.
    """

    OWNER = "owner"
    """The uid of the object's controller, or its own if it has none: one replica works for an owner and for all objects
    that it controls. An object that its controller creates again under the same name stays with that replica.
    """

    @property
    def needs_object(self) -> bool:
        """Whether the slot depends on the object itself, so that it cannot be computed from the object's key alone."""
        return self in (RingBy.UID, RingBy.OWNER)
