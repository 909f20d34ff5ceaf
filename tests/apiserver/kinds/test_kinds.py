# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds: their paths, schemas, selectable fields and names."""

from __future__ import annotations

import pytest

from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.kinds.kind import Kind


def test_kinds_are_found_by_their_path() -> None:
    assert KINDS.find("coordination.k8s.io", "v1", "leases") is LEASE
    assert KINDS.find("", "v1", "nodes") is NODE
    assert KINDS.find("", "v1", "leases") is None
    assert len(list(KINDS)) == len(KINDS)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.resource) for kind in KINDS if kind.is_stored])
def test_every_kind_has_a_schema_with_the_parts_it_claims(kind: Kind) -> None:
    properties = kind.schema.properties

    assert {"kind", "apiVersion", "metadata"} <= properties.keys()
    assert kind.has_status is ("status" in properties)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.resource) for kind in KINDS])
def test_every_field_that_can_be_selected_stands_in_the_schema(kind: Kind) -> None:
    for field in kind.fields:
        schema = kind.stored.schema
        for step in kind.field_paths.get(field, field).split("."):
            assert step in schema.properties, field
            schema = schema.properties[step]


def test_a_kind_is_named_with_its_group_where_it_has_one() -> None:
    assert (LEASE.resource, LEASE.api_version, LEASE.singular) == (
        "leases.coordination.k8s.io",
        "coordination.k8s.io/v1",
        "lease",
    )
    assert (NODE.resource, NODE.api_version) == ("nodes", "v1")


def test_a_kind_without_a_recorded_schema_cannot_be_served() -> None:
    nothing = Kind(group="", version="v1", kind="Nothing", plural="nothings")

    with pytest.raises(KeyError, match="no schema was recorded for Nothing of v1"):
        _ = nothing.schema
