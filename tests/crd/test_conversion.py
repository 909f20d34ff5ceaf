# SPDX-License-Identifier: Apache-2.0
"""Conversions between versions: what one version cannot express comes back, and the round trip is tried."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from kit.crd.cabins import Cabin, CabinSpec, CabinStatus, CabinV1Alpha1, Door, Lodge, OldSpec
from msgspec import structs

from controller_runtime import ObjectKey, ObjectMeta
from controller_runtime.crd import Conversion, CustomResource, Struct, converts, custom_resource
from controller_runtime.errors import UsageError
from controller_runtime.testing import EmbeddedCluster, strategy_of

KEEP = "example.com/cabin"


def conversion(keep: str = KEEP) -> Conversion[CabinV1Alpha1, Cabin]:
    @converts(CabinV1Alpha1, Cabin, keep=keep)
    def cabins(old: CabinV1Alpha1) -> Cabin:
        return Cabin(CabinSpec(old.spec.bunks), metadata=old.metadata)

    @cabins.back
    def older(new: Cabin) -> CabinV1Alpha1:
        return CabinV1Alpha1(OldSpec(new.spec.beds), metadata=new.metadata)

    return cabins


def a_cabin() -> Cabin:
    spec = CabinSpec(3, heating="gas", doors=[Door("front")], tags={"a": "b"})
    return Cabin(spec, CabinStatus(2), metadata=ObjectMeta(name="hut", namespace="default", labels={"x": "y"}))


def test_what_the_other_version_cannot_express_is_kept_in_the_annotation() -> None:
    old = conversion().downgrade(a_cabin())

    assert (old.spec, old.metadata.labels) == (OldSpec(3), {"x": "y"})
    assert set(old.metadata.annotations or ()) == {KEEP}
    assert conversion().upgrade(old) == a_cabin()


def test_a_change_in_the_other_version_arrives_beside_what_was_kept() -> None:
    old = structs.replace(conversion().downgrade(a_cabin()), spec=OldSpec(5))

    assert conversion().upgrade(old).spec == structs.replace(a_cabin().spec, beds=5)


def test_an_object_that_loses_nothing_has_no_annotation() -> None:
    old = CabinV1Alpha1(OldSpec(2), metadata=ObjectMeta(name="hut"))

    assert conversion().upgrade(old).metadata == old.metadata


class Fuel(Struct):
    name: Literal["wood", "gas", "oil"]
    price: int = 10


class HutSpec(Struct):
    heating: Literal["none", "stove", "boiler"] = "none"
    fuels: list[Fuel] = []
    oven: Fuel | None = None


@custom_resource("example.com/v1", kind="Hut")
class Hut(CustomResource):
    spec: HutSpec


class OldHutSpec(Struct):
    heated: bool = False
    fuels: list[str] = []
    oven: str = ""


@custom_resource("example.com/v1alpha1", kind="Hut")
class OldHut(CustomResource):
    spec: OldHutSpec


@converts(OldHut, Hut, keep=KEEP)
def huts(old: OldHut) -> Hut:
    oven = Fuel(old.spec.oven) if old.spec.oven else None  # type: ignore[arg-type]
    fuels = [Fuel(name) for name in old.spec.fuels]  # type: ignore[arg-type]
    return Hut(HutSpec("stove" if old.spec.heated else "none", fuels, oven), metadata=old.metadata)


@huts.back
def old_huts(new: Hut) -> OldHut:
    oven = new.spec.oven.name if new.spec.oven else ""
    fuels = [fuel.name for fuel in new.spec.fuels]
    return OldHut(OldHutSpec(new.spec.heating != "none", fuels, oven), metadata=new.metadata)


@pytest.mark.parametrize(
    ("changed", "arrived"),
    [
        ({}, {}),
        ({"heated": False}, {"heating": "none"}),
        ({"fuels": ["oil"]}, {"fuels": [Fuel("oil")]}),
        ({"oven": ""}, {"oven": None}),  # the price alone is no fuel
        ({"oven": "oil"}, {"oven": Fuel("oil", 30)}),
        ({"heated": False, "fuels": []}, {"heating": "none", "fuels": []}),
    ],
)
def test_a_field_is_not_put_back_over_a_change(changed: dict[str, Any], arrived: dict[str, Any]) -> None:
    spec = HutSpec("boiler", [Fuel("gas", 20)], Fuel("wood", 30))
    old = huts.downgrade(Hut(spec, metadata=ObjectMeta(name="hut")))
    assert old.spec == OldHutSpec(True, ["gas"], "wood")

    new = huts.upgrade(structs.replace(old, spec=structs.replace(old.spec, **changed)))

    assert new == Hut(structs.replace(spec, **arrived), metadata=ObjectMeta(name="hut"))


def test_a_loss_is_an_error_unless_an_annotation_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"CabinV1Alpha1 to Cabin loses .*\.spec\.heating.*: convert them, or name an annotation"
    ):
        conversion(keep="").downgrade(a_cabin())


def test_a_function_may_not_change_the_name() -> None:
    @converts(CabinV1Alpha1, Cabin)
    def renames(old: CabinV1Alpha1) -> Cabin:
        return Cabin(CabinSpec(1), metadata=ObjectMeta(name="other"))

    old = CabinV1Alpha1(OldSpec(1), metadata=ObjectMeta(name="hut"))
    with pytest.raises(UsageError, match="CabinV1Alpha1 to Cabin has no way back: decorate a function with its `back`"):
        renames.upgrade(old)

    @renames.back
    def older(new: Cabin) -> CabinV1Alpha1:
        return old

    with pytest.raises(ValueError, match="may change only labels and annotations of the metadata"):
        renames.upgrade(old)
    with pytest.raises(UsageError, match="has a way back already"):
        renames.back(older)


def test_only_versions_of_one_kind_are_converted() -> None:
    with pytest.raises(ValueError, match="Lodge and Cabin are not two versions of one kind"):
        converts(Lodge, Cabin)
    with pytest.raises(ValueError, match=r"keep='a b' is not the name of an annotation"):
        converts(CabinV1Alpha1, Cabin, keep="a b")


def _keeps_the_rules(obj: Any) -> bool:
    """Return whether an object keeps the rules of its class, in CEL and of a scale, which the strategy does not see."""
    if isinstance(obj, Cabin):
        return obj.spec.heating != "gas" or obj.spec.beds < 5
    are_replicas = obj.spec.replicas >= 0  # the scale has no others
    return are_replicas and len(obj.spec.doors) < 3 and all(door.width < 200 for door in obj.spec.doors)


@pytest.mark.parametrize("cls", [Cabin, Lodge])
def test_a_server_accepts_what_the_strategy_of_a_class_makes(served: EmbeddedCluster, cls: Any) -> None:
    @settings(max_examples=10, deadline=None, database=None, derandomize=True)
    @given(strategy_of(cls).filter(_keeps_the_rules))
    def check(obj: Any) -> None:
        served.user.create(obj)
        key = ObjectKey(obj.metadata.name, "default" if cls is Cabin else "")
        assert served.user.get(cls, key).spec == obj.spec
        served.user.delete(cls, key)

    check()
