# SPDX-License-Identifier: Apache-2.0
"""A custom resource with two versions, and classes of every kind that a custom resource can be made of."""

from __future__ import annotations

import dataclasses
import enum
from datetime import date, datetime
from typing import Annotated, Any, Literal

import attrs
from kubernetes.client import V1PodTemplateSpec
from pydantic import BaseModel, ConfigDict
from pydantic import Field as PydanticField
from pydantic.alias_generators import to_camel

from controller_runtime.crd import (
    EMBEDDED,
    LIST_ATOMIC,
    NULLABLE,
    PRESERVE_UNKNOWN_FIELDS,
    Column,
    Condition,
    CustomResource,
    Duration,
    Int32,
    IntOrString,
    JSONObject,
    Meta,
    Quantity,
    Rule,
    Scale,
    Struct,
    custom_resource,
    field,
    immutable,
    list_map,
    validated,
)


class Door(Struct):
    name: str
    width: Annotated[int, Meta(gt=0)] = 80


class CabinSpec(Struct):
    """The cabin that is wanted.

    Attributes:
        beds: The number of beds,
            without cots.
        heating: The fuel.
    """

    beds: Annotated[int, Meta(ge=1, le=9)]
    heating: Literal["wood", "gas"] = "wood"
    doors: Annotated[list[Door], list_map("name")] = []
    tags: dict[str, str] = {}


class CabinStatus(Struct):
    ready_beds: int = 0
    conditions: Annotated[list[Condition], list_map("type")] = []


@custom_resource(
    "example.com/v1",
    columns={"Beds": ".spec.beds"},
    short_names=["cb"],
    rules=[Rule("self.spec.heating != 'gas' || self.spec.beds < 5", "gas heats four beds at most")],
)
class Cabin(CustomResource):
    """A cabin in the woods."""

    spec: CabinSpec
    status: CabinStatus | None = None


class OldSpec(Struct):
    bunks: Annotated[int, Meta(ge=1, le=9)]
    heated: bool = True


@custom_resource("example.com/v1alpha1", kind="Cabin", deprecated="use example.com/v1")
class CabinV1Alpha1(CustomResource):
    spec: OldSpec


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.define
class Roof:
    material: str
    slopeDegrees: int = 30  # noqa: N815  the API's name


@dataclasses.dataclass
class Garden:
    trees: int = 0


class Heater(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    fuel_type: Literal["wood", "gas"] = "wood"
    power: Annotated[int, PydanticField(gt=0, lt=50)]
    vents: list[str] | None = None


class LodgeSpec(Struct, kw_only=True):
    cluster_ip: str = field(default="", name="clusterIP")
    color: Color = Color.RED
    roof: Roof | None = None
    garden: Garden | None = None
    heater: Heater | None = None
    port: IntOrString | None = None
    memory: Quantity | None = None
    replicas: Int32 = 1
    opened: datetime | None = None
    built: date | None = None
    poll: Duration = "1m"
    code: Annotated[str, immutable(), Meta(pattern="^[a-z]+$", max_length=8)] = ""
    nickname: Annotated[str | None, NULLABLE] = None
    owner: str | None = field(name="owner")
    guests: set[str] = set()
    rooms: Annotated[list[int], LIST_ATOMIC, Meta(max_length=3)] = []
    weights: dict[str, Annotated[float, Meta(ge=0, lt=1)]] = {}
    extra: JSONObject = {}
    anything: Any = None
    open: Annotated[Garden, PRESERVE_UNKNOWN_FIELDS] | None = None
    embedded: Annotated[dict[str, Any], EMBEDDED] | None = None
    picture: bytes = b""
    template: V1PodTemplateSpec | None = None
    doors: Annotated[list[Door], validated(Rule("self.size() < 3"), Rule("self.all(d, d.width < 200)"))] = []


class LodgeStatus(Struct):
    replicas: Int32 = 0
    selector: str = ""


@custom_resource(
    "example.com/v1",
    plural="lodgings",
    scope="Cluster",
    categories=["all"],
    scale=Scale(selector=".status.selector"),
    selectable=[".spec.color"],
    columns=[Column(name="Color", path=".spec.color", priority=1), Column(name="Since", path=".spec.opened")],
)
class Lodge(CustomResource):
    spec: LodgeSpec
    status: LodgeStatus | None = None
