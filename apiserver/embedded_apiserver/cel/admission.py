# SPDX-License-Identifier: Apache-2.0
"""Expressions about writes, as policies and webhooks have them: their variables, and how they are compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import CompileError, InstantiationError
from embedded_apiserver.cel.program import CELProgram, compile_expression
from embedded_apiserver.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Field, Kind, Type

VARIABLES = "variables"
"""The name under which a policy's own variables are found."""


class NotCompiled(ValueError):
    """An expression does not compile, or its result has a wrong type; the message is that of a real API server.

    Attributes:
        is_internal: True if a real API server reports it as an internal error.
    """

    def __init__(self, message: str, is_internal: bool = False) -> None:
        super().__init__(message)
        self.is_internal = is_internal


def _object(name: str, /, **fields: Type) -> Type:
    return types.object_of(f"kubernetes.{name}", {name: Field(of, name) for name, of in fields.items()})


_TEXTS = types.list_of(STRING)
_LABELS = types.map_of(STRING, STRING)
_KIND = _object("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER = _object("UserInfo", username=STRING, uid=STRING, groups=_TEXTS, extra=types.map_of(STRING, _TEXTS))
REQUEST = _object(
    "AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
"""The type of `request`."""
_METADATA = _object(
    "NamespaceMetadata",
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    labels=_LABELS,
    annotations=_LABELS,
    UID=STRING,
    creationTimestamp=TIMESTAMP,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=TIMESTAMP,
    generation=INT,
    resourceVersion=STRING,
    finalizers=_TEXTS,
)
_CONDITION = _object(
    "NamespaceCondition", status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING, reason=STRING
)
NAMESPACE = _object(
    "Namespace",
    metadata=_METADATA,
    spec=_object("NamespaceSpec", finalizers=_TEXTS),
    status=_object("NamespaceStatus", conditions=types.list_of(_CONDITION), phase=STRING),
)
"""The type of `namespaceObject`."""


class _OpenFields(Mapping[str, Field]):
    """The fields of an object that has one of each name.

    Args:
        known: The types of the fields that have one.
        other: The type of all others.
    """

    def __init__(self, known: Mapping[str, Type], other: Type) -> None:
        self._known, self._other = known, other

    def __getitem__(self, name: str) -> Field:
        return Field(self._known.get(name, self._other), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


_ANY_FIELDS = _OpenFields({}, DYN)
_PATCH_FIELDS = _OpenFields({"op": STRING, "path": STRING, "from": STRING, "value": DYN}, types.opaque(""))
CONFIGURATION = types.object_of("Object", _ANY_FIELDS)
"""The type of the configuration that a policy applies."""
JSON_PATCH = types.object_of("JSONPatch", _PATCH_FIELDS)
"""The type of one operation of a policy's JSON patch."""


def _made_by_patches(name: str) -> Type | None:
    """Return a type whose values the expressions of mutations can make; see `Environment.structures`."""
    if name == CONFIGURATION.name:
        return CONFIGURATION
    if name == JSON_PATCH.name:
        return JSON_PATCH
    return types.object_of(name, _ANY_FIELDS) if name.startswith("Object.") else None


@cache
def admission_environment(
    *, has_params: bool = False, has_authorizer: bool = True, has_patches: bool = False, has_resource: bool = True
) -> Environment:
    """Return the environment of CEL expressions about writes, for policies and webhooks.

    Args:
        has_params: True for the variable `params`.
        has_authorizer: True for the variable `authorizer`; message expressions do not have it.
        has_patches: True for the types of apply configurations and JSON patches, which mutations need.
        has_resource: True for `authorizer.requestResource`, if there is `authorizer`; type checks do not have it.
    """
    from embedded_apiserver.cel.library.authorization import AUTHORIZER, RESOURCE
    from embedded_apiserver.cel.library.jsonpatch import JSON_PATCH as PATCHES
    from embedded_apiserver.cel.library.libraries import LIBRARIES

    variables = {"object": DYN, "oldObject": DYN, "namespaceObject": NAMESPACE, "request": REQUEST}
    if has_params:
        variables["params"] = DYN
    if has_authorizer:
        variables["authorizer"] = AUTHORIZER
        if has_resource:
            variables["authorizer.requestResource"] = RESOURCE
    if has_patches:
        return Environment(variables, (*LIBRARIES, PATCHES), _made_by_patches)
    return Environment(variables, LIBRARIES)


def with_policy_variables(environment: Environment, variables: Mapping[str, Type]) -> Environment:
    """Return an environment that also has the variables of a policy that have been compiled so far.

    As on a real API server, the type of a variable is known only if it is a simple type, or a list or map of simple
    types.
    """
    known = {name: _carried(of) for name, of in variables.items()}
    return environment.with_variables({VARIABLES: _object("variables", **known)})


_SIMPLE = frozenset(
    (Kind.BOOL, Kind.BYTES, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.NULL, Kind.STRING, Kind.TIMESTAMP, Kind.UINT)
)


def _carried(of: Type) -> Type:
    if of.kind is Kind.LIST:
        return types.list_of(_carried(of.parameters[0]))
    if of.kind is Kind.MAP:
        key, value = of.parameters
        return types.map_of(_carried(key), _carried(value))
    return of if of.kind in _SIMPLE else DYN


def compiled(text: str, environment: Environment, wanted: Sequence[Type] = ()) -> CELProgram:
    """Return a compiled expression.

    Args:
        text: The expression.
        environment: The variables and functions that it may use.
        wanted: The allowed types of the result; empty allows any type.

    Raises:
        NotCompiled: The expression does not compile, or its result has another type.
    """
    try:
        program = compile_expression(text, environment)
    except InstantiationError as error:
        raise NotCompiled(f"program instantiation failed: {error}", is_internal=True) from None
    except CompileError as error:
        raise NotCompiled(f"compilation failed: {error}") from None
    if wanted and program.type not in wanted:
        names = [_name(of) for of in wanted]
        expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise NotCompiled(f"must evaluate to {expected} but got {_name(program.type)}")
    return program


def _name(of: Type) -> str:
    names = {
        Kind.NULL: "null_type",
        Kind.TIMESTAMP: "google.protobuf.Timestamp",
        Kind.DURATION: "google.protobuf.Duration",
    }
    return names.get(of.kind, str(of))
