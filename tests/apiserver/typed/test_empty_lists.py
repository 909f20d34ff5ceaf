# SPDX-License-Identifier: Apache-2.0
"""Empty lists: what is stored as null, and what is left as it is."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.typed.body import decode
from embedded_apiserver.typed.empty_lists import without_empty_lists

BY_PLURAL = {kind.plural: kind for kind in KINDS}


@pytest.mark.parametrize(
    ("plural", "obj", "stored"),
    [
        pytest.param("roles", {"rules": []}, {"rules": None}, id="at the top"),
        pytest.param("limitranges", {"spec": {"limits": []}}, {"spec": {"limits": None}}, id="in an object"),
        pytest.param(
            "pods",
            {"spec": {"volumes": [{"name": "v", "projected": {"sources": []}}]}},
            {"spec": {"volumes": [{"name": "v", "projected": {"sources": None}}]}},
            id="in a list",
        ),
        pytest.param("pods", {"spec": {"containers": []}}, {"spec": {}}, id="left out, since it is refused"),
    ],
)
def test_an_empty_list_is_stored_as_null(plural: str, obj: dict[str, Any], stored: dict[str, Any]) -> None:
    assert without_empty_lists(BY_PLURAL[plural], obj) == stored


@pytest.mark.parametrize(
    ("plural", "obj"),
    [
        pytest.param("roles", {"rules": [{"verbs": ["get"]}]}, id="a list with elements"),
        pytest.param("roles", {"rules": None}, id="null already"),
        pytest.param("controllerrevisions", {"data": {}}, id="any value, whose emptiness is its content"),
        pytest.param("deployments", {"spec": {"selector": {}}}, id="a selector that selects all"),
    ],
)
def test_an_object_without_such_lists_is_not_copied(plural: str, obj: dict[str, Any]) -> None:
    assert without_empty_lists(BY_PLURAL[plural], obj) is obj


def test_an_empty_list_is_there_until_the_object_is_stored() -> None:
    obj, _ = decode(BY_PLURAL["roles"], b'{"metadata": {"name": "a"}, "rules": []}', "application/json")

    assert obj["rules"] == [], "its sender owns it, and webhooks see it"
