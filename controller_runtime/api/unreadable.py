# SPDX-License-Identifier: Apache-2.0
"""The error of an object that cannot be read as the class that its reader asked for."""

from __future__ import annotations

from typing import Any

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import Resource


class UnreadableObject(DecodeError):
    """An object does not have the form of the class that its reader asked for.

    Each further try fails in the same way until the object changes. So a reconcile that ends with this error is not
    retried, if its controller watches the collection of the object.

    Attributes:
        resource: The collection that was read.
        cached: The object as the server sent it; its metadata can most often be read.
        reason: The fault, and its place in the object.
    """

    def __init__(self, resource: Resource[Any], cached: Cached, reason: str) -> None:
        super().__init__(f"{resource.kind} {cached.key}: {reason}")
        self.resource = resource
        self.cached = cached
        self.reason = reason

    @property
    def key(self) -> ObjectKey:
        """The name and namespace of the object."""
        return self.cached.key
