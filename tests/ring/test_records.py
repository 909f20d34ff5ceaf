# SPDX-License-Identifier: Apache-2.0
"""The records that members exchange: claims and assignments as text, read back as they were, or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.records import Assignment, Claim
from controller_runtime.ring.slots import ALL, SLOTS, set_of

pytestmark = pytest.mark.ends

CLAIMS = st.builds(
    Claim,
    epoch=st.integers(0, 10**9),
    slots=st.integers(0, ALL),
    weight=st.integers(1, 1000),
    is_ready=st.booleans(),
)


@given(CLAIMS)
def test_a_claim_is_read_as_it_was_written(claim: Claim) -> None:
    assert Claim.from_text(claim.to_text()) == claim


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="a list"),
        pytest.param('{"epoch": 1}', id="incomplete"),
        pytest.param('{"epoch": -1, "slots": "0", "weight": 1, "state": "ready"}', id="negative epoch"),
        pytest.param('{"epoch": 1, "slots": "1' + "0" * 64 + '", "weight": 1, "state": "ready"}', id="slot 256"),
        pytest.param('{"epoch": 1, "slots": "-1", "weight": 1, "state": "ready"}', id="negative set"),
        pytest.param('{"epoch": 1, "slots": "0", "weight": 0, "state": "ready"}', id="no weight"),
    ],
)
def test_a_text_that_is_no_claim_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a claim of a ring's member"):
        Claim.from_text(text)


@given(st.lists(st.sampled_from(["a", "b", NOBODY]), min_size=SLOTS, max_size=SLOTS), st.data())
def test_an_assignment_is_read_as_it_was_published(owners: list[str], data: st.DataObject) -> None:
    later = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=SLOTS, max_size=SLOTS))
    first = Assignment(0, (NOBODY,) * SLOTS, (0,) * SLOTS).followed_by(owners)
    second = first.followed_by(later)

    assert Assignment.of(second.data()) == second
    assert second.epoch == 2
    kept = set_of(slot for slot in range(SLOTS) if owners[slot] == later[slot])
    assert {second.since[slot] for slot in range(SLOTS) if kept >> slot & 1} <= {1}
    assert {second.since[slot] for slot in range(SLOTS) if not kept >> slot & 1} <= {2}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="empty"),
        pytest.param({"epoch": "x", "owners": "{}"}, id="epoch"),
        pytest.param({"epoch": "1", "owners": "[]"}, id="no object"),
        pytest.param({"epoch": "1", "owners": json.dumps({"a": {"1": ["250-256"]}})}, id="slot 256"),
        pytest.param({"epoch": "1", "owners": json.dumps({"a": {"1": ["9-3"]}})}, id="range backwards"),
        pytest.param({"epoch": "1", "owners": json.dumps({"a": {"2": ["3"]}})}, id="later than its epoch"),
    ],
)
def test_data_that_are_no_assignment_are_refused(data: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="the published assignment cannot be read"):
        Assignment.of(data)
