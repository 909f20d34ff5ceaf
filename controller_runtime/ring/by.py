# SPDX-License-Identifier: Apache-2.0
"""The property of a request that decides to which slot it belongs."""

from __future__ import annotations

import enum


class RingBy(enum.Enum):
    """The property of a request or its object by which it is assigned to one of the ring's slots."""

    NAMESPACE = "namespace"
    """The namespace of the request: all objects of one namespace have one owner. For tenants, and for work whose
    effects are counted for a namespace. A cluster-scoped object belongs to the slot of its name."""

    NAME = "name"
    """The namespace and name of the request: the objects of one namespace are spread, too."""

    UID = "uid"
    """The uid of the object: as `NAME`, and a server can send each replica its share only. An object that is deleted
    and created again may then have another owner, who does not wait for the first one."""

    OWNER = "owner"
    """The uid of the object's controller, or its own if nothing controls it: an owner and all that it controls have
    one owner of their slot, and an object that its controller creates again under its name stays there."""

    @property
    def needs_object(self) -> bool:
        """Whether the slot depends on the object, so that its key alone is not enough."""
        return self in (RingBy.UID, RingBy.OWNER)
