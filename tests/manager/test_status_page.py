# SPDX-License-Identifier: Apache-2.0
"""The status page without a browser: its tables, its HTML and policy, its stream. `tests/browser` has the rest."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from kit.manager.managing import Bench, Calling
from kit.manager.seen_program import HOSTILE, Seen, seen_program

from apimachinery.errors import ControllerRuntimeError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.controller.stories import FAILURES_KEPT, KEPT
from controller_runtime.core.story import MOST_STEPS
from controller_runtime.manager.page.answers import PictureStream, StatusPage
from controller_runtime.manager.page.events import event_of, number_after
from controller_runtime.manager.page.html import page_of, policy, template
from controller_runtime.manager.page.tables import (
    LONGEST_CELL,
    MOST_ROWS,
    Picture,
    StatusRow,
    StatusTable,
    Wish,
    filtered,
    seconds,
    size,
)
from controller_runtime.serving.prompt import MOST_STREAMS

ROWS = [StatusRow((f"cabin-{number}", number), is_bad=number % 10 == 0) for number in range(300)]
PICTURE = Picture("t", "s", (StatusTable("Cabins", ("name", "beds"), ROWS, "All of them."),))


class Parsed(HTMLParser):
    """The tags, attributes and texts of a page; a tag that is not closed is an error."""

    VOID = ("meta", "input", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with seen_program() as running:
        yield running


def table(picture: Picture, title: str) -> list[list[object]]:
    return [[*row.cells] for each in picture.tables if each.title == title for row in each.rows]


def asked(seen: Seen, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", seen.port, timeout=10)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    try:
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


class Streaming:
    """A reader of a stream."""

    def __init__(self, port: int, query: str = "", **headers: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        lines = [f"GET /debug/stream{query} HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in headers.items())]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.head = [*iter(lambda: self.file.readline().strip(), b"")]

    def event(self) -> dict[str, Any]:
        fields = dict(line.decode().rstrip("\n").split(": ", 1) for line in iter(self.file.readline, b"\n"))
        return {"id": fields["id"], **json.loads(fields["data"])}

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def test_the_page_is_well_formed_and_shows_names_as_text_only(seen: Seen) -> None:
    status, headers, text = asked(seen, "/debug")
    parsed = Parsed(text)

    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert HOSTILE in parsed.texts
    assert "img" not in [tag for tag, _ in parsed.tags]
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert not any(name.startswith("on") or name == "style" for _, attrs in parsed.tags for name in attrs)
    assert next(attrs["id"] for tag, attrs in parsed.tags if tag == "section") == "controllers"
    identifiers = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(identifiers) == len({*identifiers})


@pytest.mark.parametrize(
    "query", ["?q=%22%3E%3Cscript%3Ehit()%3C/script%3E", "?controller=%22%3E%3Cimg%3E&request=%3Cb%3E"]
)
def test_what_a_reader_asks_for_stays_text_too(seen: Seen, query: str) -> None:
    parsed = Parsed(asked(seen, f"/debug{query}")[2])

    assert not {"img", "b"} & {tag for tag, _ in parsed.tags}
    assert [tag for tag, _ in parsed.tags].count("script") == 1


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else(seen: Seen) -> None:
    _, headers, text = asked(seen, "/debug")
    rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))

    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    for tag in ("script", "style"):
        inside = text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in policy()
    assert "*" not in policy()
    assert "http" not in policy()
    assert "http" not in template().replace("http-equiv", ""), "no foreign host"


def test_a_stream_is_events_of_the_same_pictures(seen: Seen) -> None:
    reader = Streaming(seen.port, "?q=broken-1")
    first = reader.event()
    second = reader.event()
    reader.close()

    assert reader.status == 200
    assert b"content-type: text/event-stream; charset=utf-8" in reader.head
    assert first["id"].partition("-")[2] == "1"
    assert second["id"].partition("-")[2] == "2"
    assert first["run"] == first["id"].partition("-")[0]
    failing = next(each for each in first["tables"] if each["id"] == "failing")
    assert failing["rows"][0]["link"] == "?controller=guests&request=broken-1"
    assert failing["rows"][0]["bad"] is True


def test_a_reader_that_comes_back_goes_on_with_the_next_number(seen: Seen) -> None:
    reader = Streaming(seen.port)
    last = reader.event()["id"]
    reader.close()

    again = Streaming(seen.port, "", **{"Last-Event-ID": last})
    assert again.event()["id"] == last.partition("-")[0] + "-2"
    again.close()


@pytest.mark.parametrize(("last_id", "number"), [
    ("", 0), ("run-7", 7), ("other-7", 0), ("run-", 0), ("run-x", 0), ("run-" + "9" * 4000, 0), ("run-\u0663", 0),
])  # fmt: skip
def test_the_id_of_a_reader_is_trusted_only_as_far_as_it_makes_sense(last_id: str, number: int) -> None:
    assert number_after(last_id, "run") == number


def test_nothing_in_a_name_can_end_an_event() -> None:
    rows = [StatusRow(("a\n\ndata: x\r\n\u2028\u0000é",))]
    text = event_of(Picture("t\n", "s", (StatusTable("T", ("c",), rows),)), "run", 3)

    assert text.isascii()
    assert text.startswith(b"id: run-3\nretry: ")
    assert text.count(b"\n") == 4
    assert text.endswith(b"}\n\n")
    assert json.loads(text.split(b"data: ", 1)[1])["tables"][0]["rows"][0]["cells"] == [*rows[0].cells]


def test_streams_are_bounded_and_a_closed_one_makes_room(seen: Seen) -> None:
    readers = [Streaming(seen.port) for _ in range(MOST_STREAMS)]
    assert {reader.event()["id"].partition("-")[2] for reader in readers} == {"1"}

    refused = Streaming(seen.port)
    assert refused.status == 503
    assert b"retry-after: 5" in refused.head
    refused.close()
    assert asked(seen, "/debug")[0] == 200, "the page is readable all the same"
    for reader in readers:
        reader.close()

    while (another := Streaming(seen.port)).status == 503:  # until the server has noticed
        another.close()
    another.close()


def test_other_sites_and_other_names_get_neither_page_nor_stream(seen: Seen) -> None:
    assert asked(seen, "/debug", Host="rebound.example.com")[0] == 403
    assert asked(seen, "/debug/stream", Host="rebound.example.com")[0] == 403
    assert asked(seen, "/debug/stream", Sec_Fetch_Site="cross-site")[0] == 403


def test_the_end_of_the_endpoints_ends_the_streams() -> None:
    with seen_program() as mine:
        reader = Streaming(mine.port)
        reader.event()
        mine.endpoints.__exit__(None, None, None)

        assert reader.file.read() is not None, "ends, rather than hangs"
        reader.close()


def test_a_name_that_cannot_be_encoded_does_not_take_the_page_away(bench: Bench) -> None:
    bench.manager.show_status(lambda: [StatusTable("Odd", ("name",), [StatusRow(("a\udc80b\x00",))])])
    page = StatusPage(bench.manager)

    assert b"a?b" in page.html(HTTPRequest("GET", "/debug")).body
    assert b"a\\udc80b" in event_of(page.picture(Wish()), "run", 1)


@pytest.fixture
def told(bench: Bench) -> Bench:
    """A manager of which a page tells, with a controller that reads, writes and fails."""
    nodes = bench.manager.lister(NODES, dict)

    def act(request: Request) -> None:
        nodes.get(request)
        nodes.list()
        if request.name == "broken":
            raise ControllerRuntimeError("cannot be mended")
        if request.name == "busy":
            for _ in range(100):
                nodes.get(request)
        bench.manager.client.patch(NODES, request, {"metadata": {"labels": {"a": "b"}}})

    bench.manager.add(Controller("cabins", Calling(act)).watch(NODES))
    return bench


def test_a_story_tells_what_caused_it_what_it_read_and_wrote_and_how_it_ended(told: Bench) -> None:
    page = StatusPage(told.manager)
    told.create("fine", "broken")
    told.start()

    fine = page.picture(Wish(controller="cabins", request="fine"))
    broken = page.picture(Wish(controller="cabins", request="broken"))

    first = table(fine, "Reconciles of this request")[-1]
    assert first[1:4] == ["cabins", "fine", "success"]
    assert str(first[6]).startswith("nodes listed (fine at ")
    steps = [row[1:] for row in table(fine, "Reads and writes") if row[0] == first[0]]
    assert [(step[0], step[1]) for step in steps] == [
        ("get", "nodes"), ("list", "nodes"), ("PATCH", "/api/v1/nodes/fine"),
    ]  # fmt: skip
    assert steps[1][3] == "2 objects"
    assert steps[2][3] == "200"
    assert table(broken, "Reconciles of this request")[0][7] == "ControllerRuntimeError: cannot be mended"
    assert table(broken, "Now and next")[0][1] == "delayed"


def test_many_reads_leave_room_for_the_write(told: Bench) -> None:
    page = StatusPage(told.manager)
    told.create("busy")
    told.start()

    steps = table(page.picture(Wish(request="busy")), "Reads and writes")

    oldest = [row[1] for row in steps if row[0] == 1]
    assert oldest.count("get") + oldest.count("list") == MOST_STEPS // 2
    assert "PATCH" in oldest
    assert oldest[-1] == "94 more"


def test_the_story_of_a_coroutine_has_the_requests_of_other_threads(bench: Bench) -> None:
    class Cabins(AsyncReconciler):
        async def reconcile(self, request: Request) -> Result:
            await bench.manager.async_client.patch(NODES, request, {"metadata": {"labels": {"a": "b"}}})
            return Result(requeue_after=30.0)

    page = StatusPage(bench.manager)
    bench.manager.add(Controller("cabins", Cabins(), workers=2).watch(NODES))
    bench.create("fine", "other")
    bench.start()

    picture = page.picture(Wish(request="fine"))

    assert {tuple(row[1:]) for row in table(picture, "Reads and writes")} == {
        ("PATCH", "/api/v1/nodes/fine", "server", "200"),
    }  # fmt: skip
    assert table(picture, "Reconciles of this request")[0][3] == "again after 30 s"


def test_without_a_page_no_story_is_kept(told: Bench) -> None:
    told.create("fine")
    told.start()

    assert told.manager.controllers[0].reconciles > 0
    assert told.manager.stories.all() == []


def test_a_thousand_stories_are_kept_and_failures_longer(bench: Bench) -> None:
    page, channel = StatusPage(bench.manager), Channel(bench.host, capacity=KEPT + 11)

    def act(request: Request) -> None:
        if request.name == "broken":
            raise ControllerRuntimeError("no")

    bench.manager.add(Controller("cabins", Calling(act)).receive(channel))
    channel.push(ObjectKey("broken"))
    bench.start()
    for number in range(KEPT + 10):
        channel.push(ObjectKey(f"cabin-{number}"))
    bench.sim.advance(0.1)

    stories = bench.manager.stories.all()
    assert KEPT < len(stories) <= KEPT + FAILURES_KEPT
    assert stories[0].number > stories[-1].number
    failing = table(page.picture(Wish()), "Failing")
    assert [row[:3] for row in failing] == [["cabins", "broken", "error"]]


def test_an_error_of_a_programs_own_tables_is_shown_in_their_place(bench: Bench) -> None:
    def fails() -> list[StatusTable]:
        raise RuntimeError("no guests")

    bench.manager.show_status(fails)
    bench.manager.show_status(lambda: [StatusTable("Uneven", ("a", "b"), [StatusRow((1,))])])
    picture = StatusPage(bench.manager).picture(Wish())

    errors = [row.cells[0] for each in picture.tables for row in each.rows if each.title.startswith("Tables of")]
    assert errors == ["RuntimeError: no guests", "ValueError: a row of 'Uneven' has 1 cells for 2 columns"]


@pytest.mark.parametrize(("wish", "count", "note"), [
    (Wish(), MOST_ROWS, "All of them. The first 100 of 300 rows are shown."),
    (Wish("CABIN-29"), 11, "All of them. 11 of 300 rows match the filter."),
    (Wish("299"), 1, "All of them. 1 of 300 rows match the filter."),
    (Wish(only_bad=True), 30, "All of them. 30 of 300 rows match the filter."),
    (Wish("cabin-29", only_bad=True), 1, "All of them. 1 of 300 rows match the filter."),
])  # fmt: skip
def test_a_filter_finds_rows_beyond_those_that_are_shown(wish: Wish, count: int, note: str) -> None:
    (found,) = filtered(PICTURE, wish).tables

    assert (len(found.rows), found.note) == (count, note)


def test_a_long_text_is_cut() -> None:
    rows = [StatusRow(("x" * 10_000,))]
    (found,) = filtered(Picture("", "", (StatusTable("T", ("c",), rows),)), Wish()).tables

    assert len(str(found.rows[0].cells[0])) == LONGEST_CELL + 1


def test_the_form_keeps_what_was_asked_for() -> None:
    text = page_of(filtered(PICTURE, Wish("cab", True)), Wish("cab", True, "c", "ns/n"), "run")
    fields = {attrs["name"]: attrs for tag, attrs in Parsed(text).tags if tag == "input"}

    assert fields["q"]["value"] == "cab"
    assert "checked" in fields["bad"]
    assert (fields["controller"]["value"], fields["request"]["value"]) == ("c", "ns/n")


def test_a_stream_is_for_the_page_of_this_address(bench: Bench) -> None:
    page = StatusPage(bench.manager)

    foreign = page.stream(HTTPRequest("GET", "/debug/stream", (), {"sec-fetch-site": "same-site"}))

    assert isinstance(foreign, HTTPResponse)
    assert foreign.status == 403
    assert isinstance(page.stream(HTTPRequest("GET", "/debug/stream")), PictureStream)


@pytest.mark.parametrize(("value", "text"), [
    (0.00012, "0.12 ms"), (0.5, "500 ms"), (5.0, "5 s"), (59.94, "59.9 s"), (90.0, "1.5 min"), (7200.0, "2 h"),
    (400_000.0, "4.63 d"), (-3.0, "in 3 s"),
])  # fmt: skip
def test_durations_are_short(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (20_000, "19 KiB"), (200 << 20, "200 MiB"), (20 << 30, "20 GiB")]
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert size(count) == text
