# SPDX-License-Identifier: Apache-2.0
"""Watches: the events that are sent, and their order."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import LEASES, Asking, brief, events, lease, version

from controller_runtime.testing.simulation import Simulation

STREAMED = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
INITIAL_END = {"k8s.io/initial-events-end": "true"}


def versions(told: list[dict[str, Any]]) -> list[int]:
    return [version(event["object"]) for event in told]


@pytest.mark.scenario("H-54")
def test_watch_from_a_list_tells_what_happens_next(ask: Asking) -> None:
    """A watch sends ADDED, MODIFIED and DELETED with rising versions; a deletion has a version, too."""
    listed = ask.ok("GET", LEASES)
    watch = ask.watch(LEASES, resourceVersion=version(listed))

    ask.ok("POST", LEASES, lease("a"))
    ask.patch(f"{LEASES}/a", {"spec": {"holderIdentity": "b"}})
    ask.ok("DELETE", f"{LEASES}/a")
    told = events(watch)

    assert [event["type"] for event in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert versions(told) == list(range(version(listed) + 1, version(listed) + 4))
    assert told[-1]["object"]["spec"]["holderIdentity"] == "b"
    assert told[-1]["object"]["kind"] == "Lease"


@pytest.mark.scenario("H-55")
def test_objects_enter_and_leave_a_selection(ask: Asking) -> None:
    """A change of labels adds an object to a watch, or deletes it from the watch with its last matching state."""
    ask.ok("POST", LEASES, lease("a"))
    watch = ask.watch(LEASES, labelSelector="x=1")
    assert events(watch) == []

    ask.patch(f"{LEASES}/a", {"metadata": {"labels": {"x": "1"}}})
    ask.patch(f"{LEASES}/a", {"metadata": {"labels": {"x": "2"}}})
    ask.patch(f"{LEASES}/a", {"metadata": {"labels": {"x": "3"}}})
    told = events(watch)

    assert brief(told) == [("ADDED", "a"), ("DELETED", "a")]
    assert told[-1]["object"]["metadata"]["labels"] == {"x": "1"}


@pytest.mark.scenario("H-56")
def test_streamed_list_ends_with_its_bookmark_and_goes_on(ask: Asking) -> None:
    """A streamed list sends the existing objects in the order of their keys, the annotated bookmark, then changes."""
    for name in "bca":
        ask.ok("POST", LEASES, lease(name))
    watch = ask.watch(LEASES, **STREAMED, allowWatchBookmarks="true")

    first = events(watch)
    ask.ok("POST", LEASES, lease("d"))

    assert brief(first) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("BOOKMARK", "")]
    assert first[-1]["object"]["metadata"]["annotations"] == INITIAL_END
    assert version(first[-1]["object"]) == max(versions(first))
    assert brief(events(watch)) == [("ADDED", "d")]


@pytest.mark.scenario("H-57")
def test_streamed_list_without_bookmarks_has_none(sim: Simulation, ask: Asking) -> None:
    """A client that does not ask for bookmarks gets none, not even the one that ends the list."""
    ask.ok("POST", LEASES, lease("a"))
    watch = ask.watch(LEASES, **STREAMED)

    told = events(watch)
    sim.advance(300)

    assert brief(told + events(watch)) == [("ADDED", "a")]


@pytest.mark.scenario("H-58")
@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"sendInitialEvents": "true"}, id="initial events without match"),
        pytest.param({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, id="initial events exactly"),
        pytest.param({"resourceVersionMatch": "NotOlderThan"}, id="match without initial events"),
    ],
)
def test_contradiction_is_refused(query: dict[str, str], ask: Asking) -> None:
    """A streamed list has to ask for NotOlderThan, and any other request must not."""
    status, body = ask("GET", LEASES, watch="1", **query)

    assert (status, body["details"]["kind"]) == (422, "ListOptions")


@pytest.mark.parametrize("start", [{}, {"resourceVersion": 0}])
def test_watch_without_a_version_begins_with_what_is_there(start: dict[str, Any], ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    assert brief(events(ask.watch(LEASES, **start))) == [("ADDED", "a")]


def test_watch_may_refuse_what_is_there(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))
    watch = ask.watch(LEASES, sendInitialEvents="false", resourceVersionMatch="NotOlderThan")
    ask.ok("POST", LEASES, lease("b"))

    assert brief(events(watch)) == [("ADDED", "b")]


def test_watch_of_the_future_waits_in_silence(ask: Asking) -> None:
    watch = ask.watch(LEASES, resourceVersion=ask.server.storage.version + 2)

    for name in "abc":
        ask.ok("POST", LEASES, lease(name))

    assert brief(events(watch)) == [("ADDED", "c")]


def test_streamed_list_of_the_future_ends_with_an_error(ask: Asking) -> None:
    watch = ask.watch(LEASES, resourceVersion="9" * 18, **STREAMED)

    ((kind, refusal),) = [(one["type"], one["object"]) for one in events(watch)]

    assert (kind, refusal["code"], refusal["reason"]) == ("ERROR", 504, "Timeout")


@pytest.mark.parametrize("selector", ["metadata.name=a", "metadata.name=a,metadata.namespace=default"])
def test_watch_of_one_object_tells_of_no_other(selector: str, ask: Asking) -> None:
    watch = ask.watch(LEASES, fieldSelector=selector)

    for name in ("a", "ab", "b"):
        ask.ok("POST", LEASES, lease(name))

    assert brief(events(watch)) == [("ADDED", "a")]


def test_watch_of_a_namespace_tells_of_no_other(ask: Asking) -> None:
    watch = ask.watch(LEASES)

    ask.ok("POST", LEASES.replace("default", "kube-system"), lease("a"))
    ask.ok("POST", LEASES, lease("b"))

    assert brief(events(watch)) == [("ADDED", "b")]
