# SPDX-License-Identifier: Apache-2.0
"""The classes that custom resources derive from, and the types of fields that Python has no type for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, field

from apimachinery.objects import ObjectMeta

__all__ = ["Meta", "field"]  # msgspec's own, which a module with custom resources needs beside the names below


class Struct(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """The base of classes that are parts of a custom resource: `class CabinSpec(Struct)`.

    It is a `msgspec.Struct` whose fields have the API's names (`ready_beds` is `readyBeds`); a name with an acronym is
    spelt out: `cluster_ip: str = field(name="clusterIP")`. A field without a default is required. Constraints are
    annotations: `Annotated[int, Meta(ge=1, le=9)]`.

    Python's garbage collector does not track instances. So do not make instances refer to each other in a cycle: they
    would never be freed.
    """


class CustomResource(Struct, kw_only=True):
    """The base of a class that is a custom resource; `custom_resource` declares it.

    A class may lack fields that the definition has: reads ignore them, and writes of this package do not remove them.

    Attributes:
        api_version: The `apiVersion` of all objects of this class.
        kind: The `kind` of all objects of this class.
        metadata: The metadata of the object.
    """

    api_version: ClassVar[str]
    kind: ClassVar[str]
    metadata: ObjectMeta


def _in_schema(**keywords: object) -> Meta:
    """Return an annotation that the server checks and that reads do not, which would cost time at each of them."""
    return Meta(extra_json_schema=keywords)


_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


class Condition(Struct):
    """One condition of an object's status, with all fields that the API has for it.

    Attributes:
        type: The type, such as `Ready`; unique in its list.
        status: `True`, `False` or `Unknown`.
        reason: A word in CamelCase for programs.
        message: A text for people.
        last_transition_time: The time of the last change of `status`.
        observed_generation: The generation of the object from which the condition was computed.
    """

    type: Annotated[str, _in_schema(maxLength=316, pattern=_CONDITION_TYPE)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, _in_schema(minLength=1, maxLength=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, _in_schema(maxLength=32768)]
    last_transition_time: datetime
    observed_generation: Annotated[int, _in_schema(minimum=0, format="int64")] | None = None


def _keyword(**keywords: object) -> Meta:
    return Meta(extra_json_schema={f"x-kubernetes-{name.replace('_', '-')}": value for name, value in keywords.items()})


def list_map(*keys: str) -> Meta:
    """Return the annotation of a list whose elements are identified by these fields (JSON names).

    Different field managers can own elements of such a list, and a server refuses two elements with the same keys. Each
    key field must be required or have a default.
    """
    return _keyword(list_type="map", list_map_keys=list(keys))


LIST_SET = _keyword(list_type="set")
"""The annotation of a list of different scalars. A `set` has it without an annotation."""

LIST_ATOMIC = _keyword(list_type="atomic")
"""The annotation of a list that has one owner, and is replaced as a whole by an apply."""

MAP_ATOMIC = _keyword(map_type="atomic")
"""The annotation of an object that has one owner, and is replaced as a whole by an apply."""

EMBEDDED = _keyword(embedded_resource=True)
"""The annotation of a whole object inside another one, whose apiVersion, kind and metadata the server checks."""

PRESERVE_UNKNOWN_FIELDS = _keyword(preserve_unknown_fields=True)
"""The annotation of an object whose unknown fields the server keeps instead of dropping them."""

NULLABLE = Meta(extra_json_schema={"nullable": True})
"""The annotation of an optional field that may also be null; a field without a default is nullable by `X | None`."""

Int32 = Annotated[int, Meta(extra_json_schema={"format": "int32"})]
"""A whole number of 32 bits."""

Int64 = Annotated[int, Meta(extra_json_schema={"format": "int64"})]
"""A whole number of 64 bits; a plain `int` says nothing of bits."""

IntOrString = Annotated[int | str, Meta(extra_json_schema={"x-kubernetes-int-or-string": True})]
"""A number or a text, such as a port's number or name."""

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
Quantity = Annotated[
    int | str, Meta(extra_json_schema={"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN})
]
"""An amount with a unit, such as `500m` or `10Gi`; a whole number may be written without quotes."""

Duration = str
"""A time span as Kubernetes writes it, such as `1h30m`; a plain string to the server, as controller-gen has it."""

JSONObject = dict[str, Any]
"""An object with any fields, all of which the server keeps."""
