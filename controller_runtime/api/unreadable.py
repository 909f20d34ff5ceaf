# SPDX-License-Identifier: Apache-2.0
"""The error of an object that cannot be decoded into the class that its reader chose."""

from __future__ import annotations

from typing import Any

from apimachinery.errors import DecodeError
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.api.resources import Resource


class UnreadableObject(DecodeError):
    """Raised if an object cannot be decoded into the class that its reader asked for.

    Each retry fails in the same way until the object changes. So if a controller watches the collection of the object,
    a reconcile that ends with this error is not retried.

    Attributes:
        resource: The collection that was read.
        cached: The object as the server sent it; its metadata is readable in most cases.
        reason: The error, and the path of the malformed field.
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
