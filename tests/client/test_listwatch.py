# SPDX-License-Identifier: Apache-2.0
"""Lists and watches send the right requests to the server, and their answers are decoded."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from apimachinery.errors import DecodeError, Expired, Invalid
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.decoding import EventType, WatchEvent
from controller_runtime.client.listwatch import ANY_VERSION, ListWatch

EMPTY = HTTPResponse(200, {}, b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}')
REFUSED = HTTPResponse(422, {}, b'{"kind":"Status","reason":"Invalid","message":"no such thing"}')


class Lines:
    """A stream that gives its lines at once, then ends."""

    def __init__(self, response: HTTPResponse, lines: list[bytes]) -> None:
        self.response = response
        self.linger = 0.0
        self.is_bulk = False
        self.closed = False
        self._lines = lines

    def read(self, deadline: float) -> list[bytes] | None:
        lines, self._lines = self._lines, []
        return lines or None

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class Recorder:
    """A transport that keeps what it was asked and gives one answer."""

    def __init__(self, answer: HTTPResponse = EMPTY, *lines: bytes) -> None:
        self.asked: list[HTTPRequest] = []
        self.answered: Lines | None = None
        self._answer = answer
        self._lines = list(lines)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.asked.append(request)
        return self._answer

    def stream(self, request: HTTPRequest, deadline: float) -> Lines:
        self.asked.append(request)
        self.answered = Lines(self._answer, self._lines)
        return self.answered

    def close(self) -> None:
        pass


def nodes(transport: Recorder, **options: str) -> ListWatch:
    return ListWatch(SystemHost("test"), transport, Collection(NODES), **options)


PAGED = {"limit": "500"}
WATCH = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "300"}


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        pytest.param({}, PAGED, id="most recent"),
        pytest.param({"version": ANY_VERSION}, {**PAGED, "resourceVersion": "0"}, id="any"),
        pytest.param(
            {"version": "10"},
            {**PAGED, "resourceVersion": "10", "resourceVersionMatch": "NotOlderThan"},
            id="at least this new",
        ),
        pytest.param({"version": "10", "continue_token": "t"}, {**PAGED, "continue": "t"}, id="next page"),
    ],
)
def test_list_asks_for_a_page_by_the_rules_of_versions(asked: dict[str, Any], query: dict[str, str]) -> None:
    transport = Recorder()

    page = nodes(transport).list(**asked)

    assert (page.items, page.version) == ([], "9")
    assert transport.asked == [
        HTTPRequest("GET", "/api/v1/nodes", tuple(query.items()), {"accept": "application/json"})
    ]


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        pytest.param({"version": "10"}, {"resourceVersion": "10"}, id="changes after a version"),
        pytest.param(
            {"version": "0", "initial_events": True},
            {"resourceVersion": "0", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
            id="streamed list of any state",
        ),
        pytest.param(
            {"version": "", "initial_events": True},
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
            id="streamed list of the most recent state",
        ),
    ],
)
def test_watch_asks_for_bookmarks_and_an_end(asked: dict[str, Any], query: dict[str, str]) -> None:
    transport = Recorder()

    nodes(transport).watch(timeout=300.9, **asked)

    assert dict(transport.asked[0].query) == {**WATCH, **query}


def test_selectors_go_along_and_show_in_the_name() -> None:
    transport = Recorder()
    leases = ListWatch(SystemHost("test"), transport, Collection(LEASES, namespace="kube-system", label_selector="a=b"))

    leases.watch("5", timeout=300.0)

    assert transport.asked[0].path == "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    assert ("labelSelector", "a=b") in transport.asked[0].query
    assert str(leases) == "leases.coordination.k8s.io in kube-system with a=b"


@pytest.mark.scenario("RF-01")
def test_error_event_is_raised_after_the_events_before_it_and_the_stream_is_closed() -> None:
    """An ERROR event ends the watch: its stream is closed when the reader leaves it."""
    node = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"3"}}'
    error = b'{"kind":"Status","code":410,"reason":"Expired"}'
    lines = [b'{"type":"ADDED","object":' + node + b"}", b'{"type":"ERROR","object":' + error + b"}"]
    transport = Recorder(EMPTY, *lines)
    seen = []

    with pytest.raises(Expired), nodes(transport).watch("1", timeout=300.0) as stream:
        seen += stream.read(0.0) or ()

    assert transport.answered is not None
    assert transport.answered.closed


def test_events_before_an_error_are_seen() -> None:
    bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}'
    error = b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}'
    stream = nodes(Recorder(EMPTY, bookmark, error)).watch("1", timeout=300.0)

    events = stream.read(0.0)

    assert events is not None
    assert next(events) == WatchEvent(EventType.BOOKMARK, None, "8")
    with pytest.raises(Expired):
        next(events)


def test_stream_lingers_as_its_collection_does() -> None:
    transport = Recorder()

    ListWatch(SystemHost(), transport, Collection(LEASES), linger=0.5).watch("1", timeout=300.0)

    assert transport.answered is not None
    assert transport.answered.linger == 0.5


def test_a_streamed_list_is_bulk_until_its_end() -> None:
    end = b'{"k8s.io/initial-events-end":"true"}'
    bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":%b}}}' % end
    recorder = Recorder(EMPTY, bookmark)
    stream = nodes(recorder).watch("", timeout=300.0, initial_events=True)
    assert recorder.answered is not None
    bulk = [recorder.answered.is_bulk]

    events = stream.read(60.0)

    assert events is not None
    assert [event.version for event in events] == ["7"]
    bulk.append(recorder.answered.is_bulk)
    nodes(recorder).watch("7", timeout=300.0)
    assert [*bulk, recorder.answered.is_bulk] == [True, False, False]


def test_stream_that_is_over_reads_as_none() -> None:
    assert nodes(Recorder()).watch("1", timeout=300.0).read(0.0) is None


def test_refused_watch_raises_the_translated_error_and_is_closed() -> None:
    transport = Recorder(REFUSED)

    with pytest.raises(Invalid, match="no such thing"):
        nodes(transport).watch("1", timeout=300.0)

    assert transport.answered is not None
    assert transport.answered.closed


def test_refused_list_raises_the_translated_error() -> None:
    with pytest.raises(Invalid, match="no such thing"):
        nodes(Recorder(REFUSED)).list()


def test_a_page_that_is_followed_by_itself_ends_the_list() -> None:
    page = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"A"},"items":[]}'
    transport = Recorder(HTTPResponse(200, {}, page))
    pages = nodes(transport).pages()

    with pytest.raises(DecodeError, match="nodes: the list was given up: a page continues with its own continue token"):
        list(islice(pages, 9))

    assert len(transport.asked) == 2
