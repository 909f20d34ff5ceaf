# SPDX-License-Identifier: Apache-2.0
"""Objects of declared classes, written to a server: nothing that the class does not know is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinStatus, CabinV1Alpha1, Door, Heater, Lodge, LodgeSpec, OldSpec, Roof
from kubernetes.client import V1ObjectMeta, V1PodTemplateSpec

from controller_runtime import Client, ObjectKey, ObjectMeta, PatchType, create_or_patch
from controller_runtime.crd import Condition, CustomResource, changes, custom_resource, resource_of
from controller_runtime.crd.writing import written
from controller_runtime.errors import Conflict, Invalid
from controller_runtime.testing import EmbeddedCluster

HUT = ObjectKey("hut", "default")
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def a_cabin(**spec: Any) -> Cabin:
    return Cabin(CabinSpec(**{"beds": 3, **spec}), metadata=ObjectMeta(name="hut", namespace="default"))


@pytest.fixture
def client(served: EmbeddedCluster) -> Client:
    return served.user


def raw(client: Client) -> dict[str, Any]:
    return client.get(Cabin, HUT, dict)


def test_an_object_alone_is_enough_to_create_it(client: Client) -> None:
    made = client.create(a_cabin(doors=[Door("front")]))

    assert json.loads(made.raw)["spec"] == {"beds": 3, "heating": "wood", "doors": [{"name": "front", "width": 80}]}
    assert client.get(Cabin, HUT).spec == CabinSpec(3, doors=[Door("front")])


def test_the_namespace_may_be_given_beside_the_object(client: Client) -> None:
    client.create(Cabin(CabinSpec(1), metadata=ObjectMeta(name="hut")), namespace="default")

    assert [cabin.metadata.name for cabin in client.list(Cabin, "default")] == ["hut"]


def test_the_server_holds_objects_to_the_constraints_of_the_class(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec\.beds: Invalid value: 12: .* should be less than or equal to 9"):
        client.create(a_cabin(beds=12))


def test_defaults_are_not_sent_even_if_they_were_set() -> None:
    heating = "".join(["wo", "od"])  # an equal text that is another object

    assert written(a_cabin(heating=heating, doors=[], tags={})) == {
        "metadata": {"name": "hut", "namespace": "default"},
        "spec": {"beds": 3},
    }


def test_an_apply_owns_what_was_set_and_no_default(client: Client) -> None:
    client.apply(a_cabin(tags={"a": "b"}), field_manager="me")

    [entry] = raw(client)["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:beds": {}, "f:tags": {"f:a": {}}}}


def test_an_update_by_a_declared_class_is_refused(client: Client) -> None:
    client.create(a_cabin())
    read = client.get(Cabin, HUT)

    with pytest.raises(TypeError, match=r"Cabin: an update would remove the fields .* use patch\(kind, key, changes\("):
        client.update(Cabin, read)
    with pytest.raises(TypeError, match="Cabin: an update would remove"):
        client.update(Cabin, read, subresource="status")
    client.update(Cabin, {**raw(client), "spec": {"beds": 5}})
    assert client.get(Cabin, HUT).spec.beds == 5


def test_an_object_of_another_kind_is_refused(client: Client) -> None:
    with pytest.raises(ValueError, match=r"lodgings\.example\.com: the object is a Cabin"):
        client.create(Lodge, a_cabin())
    with pytest.raises(TypeError, match=r"cabins\.example\.com: give the object to write"):
        client.create(Cabin)  # type: ignore[call-overload]


@custom_resource("example.com/v1", kind="Cabin")
class Beds(CustomResource):
    """A cabin, of which only the beds and the doors' widths are known."""

    class Spec(msgspec.Struct):
        class Door(msgspec.Struct):
            name: str
            width: int = 80

        beds: int
        doors: list[Door] = []

    spec: Spec


def test_a_patch_has_the_fields_that_differ_and_the_version_that_was_read(client: Client) -> None:
    client.create(a_cabin(tags={"a": "b", "c": "d"}, heating="gas"))
    before = client.get(Cabin, HUT)
    after = msgspec.structs.replace(before, spec=CabinSpec(4, tags={"a": "x"}))

    patch = changes(before, after)

    version = before.metadata.resource_version
    assert patch == {
        "spec": {"beds": 4, "heating": "wood", "tags": {"a": "x", "c": None}},
        "metadata": {"resourceVersion": version},
    }
    client.patch(Cabin, HUT, patch)
    assert client.get(Cabin, HUT).spec == after.spec
    with pytest.raises(Conflict):
        client.patch(Cabin, HUT, patch)


def test_no_difference_is_an_empty_patch(client: Client) -> None:
    client.create(a_cabin())
    read = client.get(Cabin, HUT)

    assert changes(read, client.get(Cabin, HUT)) == {}


def test_a_partial_class_changes_what_it_knows_and_keeps_the_rest(client: Client) -> None:
    client.create(a_cabin(heating="gas", tags={"a": "b"}))
    before = client.get(Beds, HUT)
    after = msgspec.structs.replace(before, spec=Beds.Spec(4))

    client.patch(Beds, HUT, changes(before, after))

    assert raw(client)["spec"] == {"beds": 4, "heating": "gas", "tags": {"a": "b"}}


def with_doors(read: Cabin, *doors: Door) -> Cabin:
    return msgspec.structs.replace(read, spec=msgspec.structs.replace(read.spec, doors=[*doors]))


def a_cabin_with_unknown_fields() -> dict[str, Any]:
    doors = [{"name": name, "width": 80, "color": f"color of {name}"} for name in ("front", "back", "side")]
    metadata = {"name": "hut", "namespace": "default", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"beds": 3, "doors": doors, "floor": "oak"}}


@pytest.mark.parametrize(
    ("doors", "colors"),
    [
        pytest.param([Door("back", 90), Door("front")], ["color of back", "color of front"], id="edited and moved"),
        pytest.param([Door("side"), Door("new", 70)], ["color of side", None], id="removed and added"),
        pytest.param([Door("other")], [None], id="replaced"),
    ],
)
def test_elements_of_a_list_keep_the_fields_that_their_class_does_not_know(
    doors: list[Door], colors: list[str | None]
) -> None:
    before = a_cabin_with_unknown_fields()
    known = msgspec.convert(before, Cabin)

    patch = changes(before, with_doors(known, *doors))

    made = patch["spec"]["doors"]
    assert [door["width"] for door in made] == [door.width for door in doors]
    assert [door.get("color") for door in made] == colors
    assert patch["metadata"] == {"resourceVersion": "7"}


def test_a_list_of_objects_is_not_replaced_unless_all_its_fields_are_known() -> None:
    known = msgspec.convert(a_cabin_with_unknown_fields(), Cabin)
    wanted = with_doors(known, Door("front", 90))

    with pytest.raises(ValueError, match=r"Cabin\.spec\.doors: a patch replaces this list as a whole"):
        changes(known, wanted)
    patch = changes(known, wanted, replace_lists=True)
    assert patch["spec"] == {"doors": [{"name": "front", "width": 90}]}


def test_elements_without_keys_are_matched_by_what_did_not_change() -> None:
    before = a_cabin_with_unknown_fields()
    known = msgspec.convert(before, Beds)
    front, back, side = known.spec.doors

    def patched(*doors: Beds.Spec.Door) -> list[str | None]:
        wanted = msgspec.structs.replace(known, spec=Beds.Spec(3, [*doors]))
        return [door.get("color") for door in changes(before, wanted)["spec"]["doors"]]

    new = Beds.Spec.Door("new")
    wide = Beds.Spec.Door("back", 99)
    assert patched(front, new, back, side) == ["color of front", None, "color of back", "color of side"]
    assert patched(front, side) == ["color of front", "color of side"]
    assert patched(front, wide, side) == ["color of front", "color of back", "color of side"]
    with pytest.raises(ValueError, match="the elements cannot be matched, because the list has no keys"):
        patched(new, wide, wide, wide)


def test_conditions_are_written_by_the_status_subresource(client: Client) -> None:
    client.create(a_cabin())
    before = client.get(Cabin, HUT)
    ready = Condition("Ready", "True", "Built", "all beds are made", NOON, observed_generation=1)
    after = msgspec.structs.replace(before, status=CabinStatus(3, [ready]))
    client.patch(Cabin, HUT, changes(before, after), subresource="status")

    read = client.get(Cabin, HUT)
    later = msgspec.structs.replace(read, status=CabinStatus(2, [msgspec.structs.replace(ready, status="False")]))
    client.patch(Cabin, HUT, changes(read, later), subresource="status")

    assert client.get(Cabin, HUT).status == later.status
    assert (read.status, client.get(Cabin, HUT).spec) == (after.status, before.spec)


def test_metadata_changes_without_what_the_server_sets() -> None:
    own = ObjectMeta(name="hut", namespace="default", generation=4, creation_timestamp=NOON, labels={"a": "b"})
    before = Cabin(CabinSpec(1), metadata=own)
    after = Cabin(CabinSpec(1), metadata=msgspec.structs.replace(own, labels=None, finalizers=["x/y"]))

    assert changes(before, after) == {"metadata": {"labels": None, "finalizers": ["x/y"]}}
    assert written(before)["metadata"] == {"name": "hut", "namespace": "default", "labels": {"a": "b"}}


def test_every_kind_of_nested_class_makes_the_way_there_and_back(client: Client) -> None:
    spec = LodgeSpec(
        cluster_ip="10.0.0.1",
        owner=None,
        roof=Roof("slate"),
        heater=Heater(power=7, vents=["north"]),
        opened=NOON,
        guests={"b", "a"},
        picture=b"\x00\x01",
        template=V1PodTemplateSpec(metadata=V1ObjectMeta(labels={"a": "b"})),
    )
    client.create(Lodge(spec, metadata=ObjectMeta(name="l")))

    assert client.get(Lodge, ObjectKey("l"), dict)["spec"] == {
        "clusterIP": "10.0.0.1",
        "owner": None,
        "roof": {"material": "slate", "slopeDegrees": 30},
        "heater": {"power": 7, "vents": ["north"], "fuelType": "wood"},
        "opened": "2030-01-01T12:00:00.000000Z",
        "guests": ["a", "b"],
        "picture": "AAE=",
        "template": {"metadata": {"labels": {"a": "b"}}},
        "color": "red",
        "poll": "1m",
        "replicas": 1,
    }
    assert client.get(Lodge, ObjectKey("l")).spec == spec


def test_other_verbs_take_the_class_too(client: Client) -> None:
    client.create(a_cabin())
    client.patch(Cabin, HUT, [{"op": "replace", "path": "/spec/beds", "value": 4}], type=PatchType.JSON)
    made = create_or_patch(client, Cabin, HUT, lambda obj: obj["spec"].update({"heating": "gas"}))

    assert made.object["spec"] == {"beds": 4, "heating": "gas"}
    client.delete(Cabin, HUT)
    client.create(a_cabin())
    client.delete_collection(Cabin, "default")
    assert client.list(Cabin) == []


def test_both_versions_are_served_and_keep_what_the_stored_one_has(client: Client) -> None:
    client.create(CabinV1Alpha1(OldSpec(2), metadata=ObjectMeta(name="old", namespace="default")))

    assert resource_of(CabinV1Alpha1).path("default").startswith("/apis/example.com/v1alpha1/")
    assert client.get(CabinV1Alpha1, ObjectKey("old", "default"), dict)["spec"] == {}  # there is no conversion
