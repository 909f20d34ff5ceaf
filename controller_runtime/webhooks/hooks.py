# SPDX-License-Identifier: Apache-2.0
"""Declarations of admission webhooks: the writes of a kind whose objects a function fills in or checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import attrs

from apimachinery.plain_functions import synchronous
from controller_runtime.api.codec import Decoder, decoder_for
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.official import is_official, official_schema
from controller_runtime.crd.types import CustomResource
from controller_runtime.webhooks.admission import Admission, FieldError, Findings, Operation

T = TypeVar("T")

FailurePolicy = Literal["Fail", "Ignore"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}")
LONGEST_TIMEOUT = 30
"""The longest timeout of a webhook in seconds; the API's limit."""


@attrs.frozen(eq=False, kw_only=True)
class Hook(Generic[T]):
    """An admission webhook for one kind; made by `Defaults` and `Checks`.

    Attributes:
        name: Its name in the configuration, a domain name with at least three parts. It is also its path.
        resource: The kind.
        view: The class of the objects that the function takes.
        operations: The operations for which it is called.
        failure_policy: `Fail` refuses writes while the webhook cannot be reached, `Ignore` allows them.
        timeout: Whole seconds that the API server waits for the answer.
        match_conditions: CEL expressions by name; the API server calls the webhook only if all are true.
        object_selector: A label selector of the objects, as in the API; None for all objects.
        has_effects: Whether the function has effects beyond its answer; it must not have them in a dry run.
        decoder: Decodes the objects.
    """

    name: str
    resource: Resource[Any]
    view: type[Any]
    operations: Sequence[Operation]
    failure_policy: FailurePolicy = "Fail"
    timeout: int = 10
    match_conditions: Mapping[str, str] = attrs.field(factory=dict)
    object_selector: Mapping[str, Any] | None = None
    has_effects: bool = False
    decoder: Decoder[T] = attrs.field(init=False, repr=False)

    @decoder.default
    def _decoder(self) -> Decoder[T]:
        return decoder_for(self.view, self.resource)

    def __attrs_post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name={self.name!r} must be a domain name of three parts or more, such as a.example.com")
        if not 1 <= self.timeout <= LONGEST_TIMEOUT:
            raise ValueError(f"{self.name}: timeout ({self.timeout}) must be 1 to {LONGEST_TIMEOUT} seconds")
        if not self.operations:
            raise ValueError(f"{self.name}: a webhook without operations is never called")

    @property
    def path(self) -> str:
        """The path at which the webhook is served."""
        return f"/{self.name}"


@attrs.frozen(eq=False, kw_only=True)
class DefaultsHook(Hook[T]):
    """A webhook that fills in fields of objects; made by `Defaults`.

    Attributes:
        fill: The function that fills in fields.
    """

    fill: Callable[[T, Admission[T]], T | FieldError]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The structural schema of the objects, empty if unknown. It shows how elements of lists are identified."""
        if issubclass(self.view, CustomResource):
            return declaration_of(self.view).schema
        return official_schema(self.view, self.resource.kind) if is_official(self.view) else {}


@attrs.frozen(eq=False, kw_only=True)
class ChecksHook(Hook[T]):
    """A webhook that refuses writes, or returns warnings; made by `Checks`.

    Attributes:
        refuse: The function that checks a write.
    """

    refuse: Callable[[T, Admission[T]], Findings]


def Defaults(  # noqa: N802  it reads as the declaration that it makes
    kind: Kind[T],
    fill: Callable[[T, Admission[T]], T | FieldError],
    *,
    view: type[Any] | None = None,
    operations: Iterable[Operation] = ("CREATE", "UPDATE"),
    name: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: int = 10,
    match_conditions: Mapping[str, str] | None = None,
    object_selector: Mapping[str, Any] | None = None,
    has_effects: bool = False,
) -> DefaultsHook[T]:
    """Return a webhook that fills in fields of objects before they are validated and stored.

    A constant default belongs in the class: it is part of the definition, and needs no webhook. The API server may call
    the function again with its result, which it must then return unchanged.

    Args:
        kind: A declared class or a resource.
        fill: Gets the object and the request, and returns the object to store (the same, changed or not, or a new one)
            or a `FieldError`. Fields that the class does not have are kept. It must not be an `async def`.
        view: The class of the objects, such as `dict`; None for the default class of the resource.
        operations: `CREATE` and `UPDATE`, or one of them.
        name: The name, needed if there are several for one kind; by default `defaults.` and the resource.
        failure_policy: While the webhook cannot be reached, `Fail` refuses writes, and `Ignore` skips it.
        timeout: Seconds that the API server waits for the answer, 1 to 30.
        match_conditions: CEL expressions by name; the webhook is called only if all are true.
        object_selector: A label selector; the webhook is called only for matching objects.
        has_effects: Whether `fill` has effects beyond its result. It must not have them in a dry run.

    Raises:
        ValueError: A name, a time or the view is invalid.
        TypeError: `kind` is not a kind.
    """
    resource = resource_of(kind)
    if "DELETE" in (operations := tuple(operations)):
        raise ValueError(f"{resource}: nothing is filled in when an object is deleted; use Checks")
    return DefaultsHook(
        name=name or name_of("defaults", resource),
        resource=resource,
        view=resource.default_view() if view is None else view,
        operations=operations,
        failure_policy=failure_policy,
        timeout=timeout,
        match_conditions=match_conditions or {},
        object_selector=object_selector,
        has_effects=has_effects,
        fill=synchronous(f"Defaults of {resource}", fill),
    )


def Checks(  # noqa: N802  it reads as the declaration that it makes
    kind: Kind[T],
    refuse: Callable[[T, Admission[T]], Findings],
    *,
    view: type[Any] | None = None,
    operations: Iterable[Operation] = ("CREATE", "UPDATE"),
    name: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: int = 10,
    match_conditions: Mapping[str, str] | None = None,
    object_selector: Mapping[str, Any] | None = None,
    has_effects: bool = False,
) -> ChecksHook[T]:
    """Return a webhook that refuses writes, or returns warnings, after all defaults are filled in.

    A rule that CEL can express belongs in the class (`Rule`): it is part of the definition, and needs no webhook.

    Args:
        kind: A declared class or a resource.
        refuse: Gets the object (for a deletion, the deleted object) and the request; returns or yields reasons to
            refuse the write, and warnings.
        view: The class of the objects, such as `dict`; None for the default class of the resource.
        operations: Any of `CREATE`, `UPDATE` and `DELETE`.
        name: The name, needed if there are several for one kind; by default `checks.` and the resource.
        failure_policy: `Fail` refuses writes while the webhook cannot be reached, `Ignore` allows them unchecked.
        timeout: Seconds that the API server waits for the answer, 1 to 30.
        match_conditions: CEL expressions by name; the webhook is called only if all are true.
        object_selector: A label selector; the webhook is called only for matching objects.
        has_effects: Whether `refuse` has effects beyond its result. It must not have them in a dry run.

    Raises:
        ValueError: A name, a time or the view is invalid.
        TypeError: `kind` is not a kind.
        UsageError: The function is an `async def`. A function that returns a coroutine fails each review (500).
    """
    resource = resource_of(kind)
    return ChecksHook(
        name=name or name_of("checks", resource),
        resource=resource,
        view=resource.default_view() if view is None else view,
        operations=tuple(operations),
        failure_policy=failure_policy,
        timeout=timeout,
        match_conditions=match_conditions or {},
        object_selector=object_selector,
        has_effects=has_effects,
        refuse=synchronous(f"Checks of {resource}", refuse),
    )


def name_of(what: str, resource: Resource[Any]) -> str:
    """Return the default name of a webhook, such as `checks.cabins.v1.example.com`."""
    return f"{what}.{resource.plural}.{resource.version}.{resource.group or 'core'}"
