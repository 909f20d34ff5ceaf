# SPDX-License-Identifier: Apache-2.0
"""Releases as differences from the newest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.releases.differences import difference

from embedded_apiserver.groups.all import KINDS, kinds_of
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.recorded import adapted
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.reads.columns import table_of
from embedded_apiserver.typed.body import configuration, empty

OLDER = [Release(minor) for minor in range(31, 36)]
# Few names, so that two values share some; none is the mark of keys that are gone.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_a_difference_makes_the_older_value_of_the_newest(newest: Any, older: Any) -> None:
    assert adapted(newest, difference(newest, older)) == older


def test_the_newest_release_has_the_kinds_themselves() -> None:
    assert kinds_of(NEWEST) is KINDS


@pytest.mark.parametrize("release", OLDER, ids=str)
def test_each_kind_of_a_release_is_that_kind_with_a_schema_and_a_table_of_its_own(release: Release) -> None:
    for kind in kinds_of(release):
        assert kind == kind.newest
        assert kind.release == kind.stored.release == release
        if kind.is_stored:
            configuration(kind, {"metadata": {"name": "a"}})
            assert "metadata" in empty(kind)
            assert table_of(kind).columns


def test_what_is_made_of_a_kind_is_made_for_each_release() -> None:
    older = next(kind for kind in kinds_of(OLDER[0]) if kind == POD)

    assert {POD: "newest"}[older] == "newest"
    assert table_of(older) is not table_of(POD)
    assert table_of(older) is table_of(older)
