# SPDX-License-Identifier: Apache-2.0
"""Rules of declared classes hold on the embedded server, without a webhook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import pytest
from kit.crd.cabins import Cabin, CabinSpec

from controller_runtime import Client, ObjectKey, ObjectMeta
from controller_runtime.crd import (
    DEFINITIONS,
    CustomResource,
    Rule,
    Struct,
    custom_resource,
    definition,
    immutable,
    validated,
)
from controller_runtime.errors import Invalid
from controller_runtime.testing import EmbeddedCluster

BARN = ObjectKey("barn", "default")


class Gate(Struct, frozen=True):
    width: int = 3
    height: int = 3


WIDE = Gate(4, 3)


class BarnSpec(Struct):
    owner: Annotated[str, immutable()]
    gate: Annotated[Gate, validated(Rule("self.width >= self.height", "is higher than wide", field_path=".height"))]
    names: Annotated[list[str], validated(Rule("self.all(name, name.startsWith('b'))", message_expression="'b…'"))] = []


@custom_resource("example.com/v1", rules=[Rule("self.spec.owner != self.metadata.name", reason="FieldValueForbidden")])
class Barn(CustomResource):
    """A barn beside a cabin."""

    spec: BarnSpec


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Client:
    cluster.user.create(DEFINITIONS, definition(Barn))
    return cluster.user


def a_barn(owner: str = "ann", gate: Gate = WIDE, names: Sequence[str] = ()) -> Barn:
    made = BarnSpec(owner, gate, list(names))
    return Barn(made, metadata=ObjectMeta(name="barn", namespace="default"))


def test_an_object_that_keeps_the_rules_is_created(client: Client) -> None:
    client.create(a_barn(names=["b1"]))
    assert client.get(Barn, BARN).spec.gate == WIDE


@pytest.mark.parametrize(
    ("barn", "text"),
    [
        (a_barn(gate=Gate(2, 3)), r"spec\.gate\.height: Invalid value: is higher than wide"),
        (a_barn(names=["a"]), r"spec\.names: Invalid value: b…"),
        (a_barn("barn"), r"<nil>: Forbidden: failed rule: self\.spec\.owner != self\.metadata\.name"),
    ],
)
def test_an_object_that_breaks_a_rule_is_refused(client: Client, barn: Barn, text: str) -> None:
    with pytest.raises(Invalid, match=text):
        client.create(barn)


@pytest.mark.scenario("CX-09")
def test_an_immutable_field_cannot_change(client: Client) -> None:
    client.create(a_barn())
    with pytest.raises(Invalid, match=r'spec\.owner: Invalid value: "bob": is immutable'):
        client.patch(Barn, BARN, {"spec": {"owner": "bob"}})
    client.patch(Barn, BARN, {"spec": {"names": ["b"]}})
    assert client.get(Barn, BARN).spec == BarnSpec("ann", WIDE, ["b"])


def test_the_rule_of_a_whole_class_holds(served: EmbeddedCluster) -> None:
    gas = Cabin(CabinSpec(5, heating="gas"), metadata=ObjectMeta(name="hut", namespace="default"))
    with pytest.raises(Invalid, match="gas heats four beds at most"):
        served.user.create(gas)
