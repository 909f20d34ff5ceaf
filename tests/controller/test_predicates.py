# SPDX-License-Identifier: Apache-2.0
"""Predicates decide which changes count."""

from __future__ import annotations

import json

import pytest

from apimachinery.objects import Cached, annotations_of, cached_from_bytes, labels_of
from controller_runtime.cache.store import Delta
from controller_runtime.controller.predicates import Predicate, all_of, any_of, changed, matches, not_


def obj(version: int = 1, generation: int = 1, **labels: str) -> Cached:
    metadata = {"name": "a", "resourceVersion": str(version), "generation": generation, "labels": labels}
    return cached_from_bytes(json.dumps({"metadata": {**metadata, "annotations": labels}}).encode())


def always(delta: Delta) -> bool:
    return True


NEVER = not_(always)


@pytest.mark.scenario("PR-01")
@pytest.mark.parametrize(
    "predicate",
    [
        pytest.param(changed(labels_of), id="labels"),
        pytest.param(changed(annotations_of), id="annotations"),
        pytest.param(changed(lambda cached: cached.resource_version), id="resource version"),
        pytest.param(changed(lambda cached: cached.meta.generation), id="generation"),
    ],
)
def test_an_update_passes_only_if_the_value_changed(predicate: Predicate) -> None:
    """An update passes only if the value differs; creations and deletions pass; an empty delta does not."""
    before, after = obj(1, 1, zone="a"), obj(2, 2, zone="b")

    assert predicate(Delta(before, after))
    assert predicate(Delta(before, obj(2, 2)))
    assert not predicate(Delta(before, obj(1, 1, zone="a")))
    assert predicate(Delta(None, after))
    assert predicate(Delta(before, None))
    assert not predicate(Delta(None, None))


@pytest.mark.scenario("PR-02")
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        pytest.param(all_of(always, always), True, id="both"),
        pytest.param(all_of(always, NEVER), False, id="one of both"),
        pytest.param(all_of(), True, id="all of none"),
        pytest.param(any_of(NEVER, always), True, id="either"),
        pytest.param(any_of(NEVER, NEVER), False, id="neither"),
        pytest.param(any_of(), False, id="any of none"),
        pytest.param(not_(NEVER), True, id="not never"),
    ],
)
@pytest.mark.parametrize(
    "sides",
    [
        pytest.param((None, obj()), id="created"),
        pytest.param((obj(1), obj(2)), id="changed"),
        pytest.param((obj(), None), id="deleted"),
    ],
)
def test_predicates_combine(predicate: Predicate, expected: bool, sides: tuple[Cached | None, Cached | None]) -> None:
    """`all_of`, `any_of` and `not_` combine predicates for every kind of change."""
    assert predicate(Delta(*sides)) is expected


@pytest.mark.scenario("PR-02")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, obj(tier="db"), True, id="created inside"),
        pytest.param(None, obj(tier="web"), False, id="created outside"),
        pytest.param(obj(tier="db"), obj(tier="web"), True, id="left"),
        pytest.param(obj(tier="web"), obj(tier="db"), True, id="joined"),
        pytest.param(obj(tier="web"), obj(tier="web"), False, id="stayed outside"),
        pytest.param(obj(tier="db"), None, True, id="deleted inside"),
    ],
)
def test_a_selector_lets_pass_what_it_matches_before_or_after(
    old: Cached | None, new: Cached | None, expected: bool
) -> None:
    """A change passes if the object leaves the selection, as it does if the object joins it."""
    assert matches("tier in (db, cache)")(Delta(old, new)) is expected


def test_a_malformed_selector_is_refused_when_the_predicate_is_made() -> None:
    with pytest.raises(ValueError, match="unable to parse"):
        matches("tier in")
