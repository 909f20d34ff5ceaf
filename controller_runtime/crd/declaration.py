# SPDX-License-Identifier: Apache-2.0
"""The declaration of a class as one version of a custom resource."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import attrs

from controller_runtime.api.resources import RESOURCE_ATTRIBUTE, Resource, resource_of
from controller_runtime.crd.columns import Column, Scale, columns_of, require_path
from controller_runtime.crd.rules import RULE_KEY, Rule
from controller_runtime.crd.structural import RawSchema, schema_of_type
from controller_runtime.crd.types import CustomResource

C = TypeVar("C", bound=CustomResource)

Scope = Literal["Namespaced", "Cluster"]
_DECLARATION = "__declaration__"
_ROOT_FIELDS: Mapping[str, RawSchema] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}


@attrs.frozen(eq=False)
class Declaration:
    """The names, schema and options of a class, as `custom_resource` has set them.

    Attributes:
        resource: The resource, with the class as its default class.
        schema: The structural schema of the objects.
        short_names: Short names for kubectl.
        categories: The groups of kinds in kubectl to which the kind belongs, such as `all`.
        columns: The columns that `kubectl get` shows next to the name.
        scale: The paths of the subresource `scale`; None for no such subresource.
        selectable: The paths that field selectors can use.
        deprecated: Whether the version is deprecated, or the text of the server's warning.
        served: Whether the server serves this version.
    """

    resource: Resource[Any]
    schema: RawSchema
    short_names: Sequence[str]
    categories: Sequence[str]
    columns: Sequence[Column]
    scale: Scale | None
    selectable: Sequence[str]
    deprecated: bool | str
    served: bool

    @property
    def has_status(self) -> bool:
        """Whether the objects have a status, which is a subresource."""
        return "status" in self.schema["properties"]


def custom_resource(
    api_version: str,
    *,
    kind: str | None = None,
    plural: str | None = None,
    scope: Scope = "Namespaced",
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    columns: Mapping[str, str] | Sequence[Column] = (),
    scale: Scale | None = None,
    selectable: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    deprecated: bool | str = False,
    served: bool = True,
) -> Callable[[type[C]], type[C]]:
    """Return a decorator that declares a class as one version of a custom resource.

    The class can then be used wherever a `Resource` is accepted, and `definition` makes its custom resource definition.
    A field `status` becomes a subresource, which is written with `subresource="status"`.

    Args:
        api_version: Group and version, such as `example.com/v1`.
        kind: The kind; by default the name of the class.
        plural: The name in paths; by default the English plural of the kind in lower case.
        scope: `Namespaced`, or `Cluster` for a cluster-scoped kind.
        short_names: Short names for kubectl.
        categories: The groups of kinds in kubectl to which the kind belongs, such as `all`.
        columns: Columns of `kubectl get`: paths by title, such as `{"Beds": ".spec.beds"}`, or `Column` values.
        scale: The paths of the subresource `scale`.
        selectable: Up to eight paths that field selectors can use, such as `.spec.heating`.
        rules: CEL rules for whole objects. A rule for a part belongs in its annotation; see `validated`.
        deprecated: True or a warning text: the server warns clients that use this version.
        served: False for a version that is only stored.

    Raises:
        TypeError: The class is not derived from `CustomResource`.
        ValueError: A name is not valid in the API, a path names no field, or a type has no structural schema.
    """

    if name := getattr(api_version, "__name__", ""):  # of a class: the decorator is without its arguments
        raise TypeError(f"write @custom_resource('example.com/v1') above {name}")

    def declare(cls: type[C]) -> type[C]:
        resource, schema = _resource(cls, api_version, kind, plural, scope), _root_schema(cls, rules)
        shown = columns_of(schema, columns, cls.__name__)
        declared = Declaration(resource, schema, short_names, categories, shown, scale, selectable, deprecated, served)
        return _declared(cls, declared)

    return declare


def _resource(cls: type[C], api_version: str, kind: str | None, plural: str | None, scope: Scope) -> Resource[C]:
    given: object = cls  # nothing checks the types of a program that does not use a type checker
    if not (isinstance(given, type) and issubclass(given, CustomResource)):
        raise TypeError(f"{getattr(cls, '__name__', cls)} must be derived from CustomResource")
    group, slash, version = api_version.rpartition("/")
    if not slash or "." not in group:
        raise ValueError(f"{cls.__name__}: api_version {api_version!r} must be like example.com/v1")
    named = kind or cls.__name__
    return Resource(group, version, named, plural or plural_of(named), scope == "Namespaced", cls)


def _declared(cls: type[C], declaration: Declaration) -> type[C]:
    """Return the class with its declaration, after a look at the paths."""
    for path in declaration.selectable:
        require_path(declaration.schema, path, f"{cls.__name__}: selectable")
    if declaration.scale is not None:
        declaration.scale.require_fields(declaration.schema, cls.__name__)
    resource = declaration.resource
    cls.api_version, cls.kind = resource.api_version, resource.kind
    setattr(cls, RESOURCE_ATTRIBUTE, resource)
    setattr(cls, _DECLARATION, declaration)
    return cls


def declaration_of(cls: type[Any]) -> Declaration:
    """Return the declaration of a class.

    Raises:
        TypeError: The class is not declared with `custom_resource`.
    """
    resource_of(cls)  # refuses a class without one
    return cast("Declaration", vars(cls)[_DECLARATION])


def _root_schema(cls: type[CustomResource], rules: Sequence[Rule]) -> RawSchema:
    """Return the schema of whole objects."""
    schema = schema_of_type(cls, cls.__name__)
    fields = {name: field for name, field in schema["properties"].items() if name not in _ROOT_FIELDS}
    made: RawSchema = {**schema, "properties": {**_ROOT_FIELDS, **fields}}
    made["required"] = [name for name in schema.get("required", ()) if name not in _ROOT_FIELDS]
    if not made["required"]:
        del made["required"]
    return {**made, RULE_KEY: [rule.body() for rule in rules]} if rules else made


def plural_of(kind: str) -> str:
    """Return the English plural of a kind in lower case."""
    word = kind.lower()
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"
