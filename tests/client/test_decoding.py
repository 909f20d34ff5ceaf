# SPDX-License-Identifier: Apache-2.0
"""Lists and watch lines are decoded object by object, and anything that is no object is handled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.errors import DecodeError, Expired, TooManyRequests
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.decoding import Decoding, EventType, Undecodable, WatchEvent

META = {"name": "n1", "uid": "u", "resourceVersion": "5"}
FULL = {"kind": "Node", "apiVersion": "v1", "metadata": META}
TABLE = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "5"}, "rows": []}

nodes = Decoding(NODES)


def packed(obj: Any) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def line(kind: str, obj: Any) -> bytes:
    return packed({"type": kind, "object": obj})


def page(*items: Any, **meta: str) -> bytes:
    return packed(
        {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "9", **meta}, "items": [*items]}
    )


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(FULL, id="with kind first"),
        pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": META}, id="with kind in another order"),
        pytest.param({"metadata": META}, id="without kind, as in lists"),
    ],
)
def test_object_becomes_bytes_of_its_own_with_kind_and_api_version(item: dict[str, Any]) -> None:
    (cached,) = nodes.page(page(item)).items

    assert json.loads(cached.raw) == FULL
    assert (cached.name, cached.uid, cached.resource_version) == ("n1", "u", "5")
    assert type(cached.raw) is bytes


def test_kind_is_added_in_a_group_too() -> None:
    body = packed(
        {"apiVersion": "coordination.k8s.io/v1", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": META}]}
    )

    (cached,) = Decoding(LEASES).page(body).items

    assert json.loads(cached.raw) == {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": META}


def test_page_knows_its_version_and_what_asks_for_the_next() -> None:
    found = nodes.page(page(FULL, **{"continue": "token"}))

    assert (found.version, found.continue_token) == ("9", "token")
    assert nodes.page(page()).continue_token == ""


def test_list_without_items_is_empty() -> None:
    assert nodes.page(b'{"apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}').items == []


def test_unreadable_item_is_reported_and_the_others_are_kept() -> None:
    found = nodes.page(
        page({"metadata": {"uid": "nameless"}}, FULL, {"kind": "Pod", "apiVersion": "v1", "metadata": META})
    )

    assert [cached.name for cached in found.items] == ["n1"]
    assert "nameless" in found.undecodable[0].text
    assert "a v1 Pod, not a v1 Node" in found.undecodable[1].text


@pytest.mark.scenario("RF-26")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(packed(TABLE), "Table", id="a table"),
        pytest.param(packed({**TABLE, "kind": "PartialObjectMetadataList"}), "PartialObject", id="metadata alone"),
        pytest.param(b"<html>", "not a list", id="no JSON"),
        pytest.param(b'{"apiVersion":"v1","metadata":{},"items":[]}', "no resourceVersion", id="no version"),
    ],
)
def test_answer_that_is_no_list_of_the_kind_is_an_error(body: bytes, words: str) -> None:
    """A Table in answer to a list is an error."""
    with pytest.raises(DecodeError, match=words):
        nodes.page(body)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_event_carries_the_object_and_its_version(kind: str) -> None:
    event = nodes.event(line(kind, FULL))

    assert isinstance(event, WatchEvent)
    assert (event.type, event.version) == (EventType[kind], "5")
    assert event.cached is not None
    assert event.cached.raw == packed(FULL)


@pytest.mark.scenario("WL-11")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"type": "ADDED", "object": FULL}), id="with spaces"),
        pytest.param(json.dumps({"object": FULL, "type": "ADDED"}), id="in another order"),
        pytest.param(line("ADDED", FULL).decode() + "  ", id="with spaces at its end"),
        pytest.param(line("ADDED", FULL).decode()[:-1] + ',"more":{}}', id="with more behind the object"),
        pytest.param(line("ADDED", {"metadata": META}).decode(), id="without the object's kind"),
    ],
)
def test_event_that_is_written_unlike_others_is_read_all_the_same(text: str) -> None:
    event = nodes.event(text.encode())

    assert isinstance(event, WatchEvent), event
    assert (event.type, event.version) == (EventType.ADDED, "5")
    assert event.cached is not None
    assert json.loads(event.cached.raw) == FULL


@pytest.mark.parametrize(
    ("annotations", "ends"),
    [
        pytest.param(None, False, id="none"),
        pytest.param({"k8s.io/initial-events-end": "true"}, True, id="true"),
        pytest.param({"k8s.io/initial-events-end": "false"}, False, id="false"),
    ],
)
def test_bookmark_ends_the_initial_events_only_if_it_says_true(annotations: dict[str, str] | None, ends: bool) -> None:
    """An annotation with another value than "true" is not the end of the initial list."""
    event = nodes.event(line("BOOKMARK", {"metadata": {"resourceVersion": "12", "annotations": annotations}}))

    assert event == WatchEvent(EventType.BOOKMARK, None, "12", ends)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param({"code": 410, "reason": "Expired", "message": "too old"}, Expired, id="expired"),
        pytest.param({"code": 410}, Expired, id="gone without a reason"),
        pytest.param({"code": 429, "reason": "TooManyRequests"}, TooManyRequests, id="too many requests"),
    ],
)
def test_error_event_is_raised_as_what_it_says(status: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        nodes.event(line("ERROR", {"kind": "Status", "apiVersion": "v1", **status}))


@pytest.mark.scenario("RF-26")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(line("ADDED", TABLE), "Table", id="a table"),
        pytest.param(line("ADDED", {**FULL, "kind": "Pod"}), "a v1 Pod, not a v1 Node", id="a foreign kind"),
        pytest.param(line("ADDED", {"kind": "Node", "apiVersion": "v1"}), "metadata", id="no metadata"),
        pytest.param(line("SOMETHING", FULL), "unknown type", id="an unknown type"),
        pytest.param(b'{"type":"ADDED"', "", id="half a line"),
        pytest.param(b"", "", id="an empty line"),
    ],
)
def test_line_that_says_nothing_usable_is_reported_in_its_place(text: bytes, words: str) -> None:
    """A Table, a foreign kind or garbage on a watch is skipped and does not end it."""
    event = nodes.event(text)

    assert isinstance(event, Undecodable)
    assert words in event.text
