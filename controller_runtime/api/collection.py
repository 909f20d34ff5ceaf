# SPDX-License-Identifier: Apache-2.0
"""A set of objects to list and watch, as a value."""

from __future__ import annotations

from typing import Any

import attrs

from apimachinery.errors import UsageError
from apimachinery.selectors import FieldSelector, LabelSelector
from controller_runtime.api.resources import Kind, Resource, resource_of


def _resource(kind: Kind[Any]) -> Resource[Any]:
    return resource_of(kind)


@attrs.frozen
class Collection:
    """A set of objects to list and watch: those of one resource, possibly narrowed. It is a value, which can be shared.

    Attributes:
        resource: The resource; a class that declares a custom resource can be given instead.
        namespace: Only objects in this namespace; empty for all namespaces.
        label_selector: Only objects whose labels match; the server selects them.
        field_selector: Only objects whose fields match; the resource decides which fields can be named.
    """

    resource: Resource[Any] = attrs.field(converter=_resource)
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.resource}{where}" + "".join(
            f" with {selector}" for selector in (self.label_selector, self.field_selector) if selector
        )

    @property
    def path(self) -> str:
        """The URL path of the collection on the API server.

        Raises:
            ValueError: A namespace was given for a cluster-scoped resource.
        """
        return self.resource.path(self.namespace)

    def normalized(self) -> Collection:
        """Return this collection with selectors in normal form, so that equivalent collections are equal.

        Raises:
            UsageError: A selector is malformed; the message names the collection.
        """
        try:
            labels, fields = LabelSelector.parse(self.label_selector), FieldSelector.parse(self.field_selector)
        except ValueError as error:
            raise UsageError(f"{self}: a selector cannot be read: {error}") from None
        return attrs.evolve(self, label_selector=str(labels), field_selector=str(fields))
