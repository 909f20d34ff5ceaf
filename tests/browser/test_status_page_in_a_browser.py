# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser: `tox -e browser`, which also makes the pictures of the documents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kit.manager.seen_program import HOSTILE, Seen, seen_program
from kit.processes.browser import Browser, Page, browser, found_browser

from apimachinery.objects import labels_of
from controller_runtime.api.resources import NODES
from controller_runtime.testing import a_node

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("PICTURES")
BEDS = "example.com/beds"
LIVE = "document.getElementById('state').textContent.startsWith('live')"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = found_browser()
    if program is None:
        pytest.skip("no browser: install chromium, or name one by BROWSER_BINARY")
    with browser(program) as running:
        yield running


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with seen_program() as running:
        yield running


@pytest.fixture(scope="module")
def calm() -> Iterator[Seen]:
    """The same program without a hostile name, for the pictures."""
    with seen_program(guest="heidi") as running:
        for number in range(2, 7):
            running.cluster.user.create(NODES, a_node(f"cabin-{number}7"))
        user = running.cluster.user
        cabin = user.create(NODES, a_node("cabin-7", annotations={BEDS: "nine"})).key
        assert running.guests.has_refused.wait(10.0)
        user.patch(NODES, cabin, {"metadata": {"annotations": {BEDS: "9"}}})
        user.wait(NODES, cabin, dict, until=lambda node: node is not None and "guests" in labels_of(node))
        yield running


@contextmanager
def opened(chromium: Browser, seen: Seen, query: str = "", *, width: int = 1280, dark: bool = False) -> Iterator[Page]:
    page = chromium.page(f"{seen.address}{query}", width=width, dark=dark)
    try:
        page.until(LIVE)
        yield page
        assert not page.events("Runtime.exceptionThrown")
        sent = [urlsplit(each["request"]["url"]) for each in page.events("Network.requestWillBeSent")]
        assert {each.netloc for each in sent if each.scheme != "data"} == {urlsplit(seen.address).netloc}, (
            "no foreign host"
        )
    finally:
        page.close()


def rows(table: str) -> str:
    return f"[...document.querySelectorAll('#{table} tbody tr')].map(row => row.textContent)"


def test_it_loads_and_follows_the_program(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen) as page:
        assert "guests" in page.value("document.getElementById('controllers').textContent")

        seen.cluster.user.create(NODES, a_node("newcomer"))

        page.until(f"{rows('last-reconciles')}.some(row => row.includes('newcomer'))")


def test_the_filter_is_used_by_keyboard_and_kept_in_the_address(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen) as page:
        page.press("/", "/")
        assert page.value("document.activeElement.name") == "q"

        page.type("broken-1")

        page.until(f"{rows('last-reconciles')}.length > 0")
        page.until(f"{rows('last-reconciles')}.every(row => row.includes('broken-1'))")
        assert page.value("location.search") == "?q=broken-1"
        assert "match the filter" in page.value("document.getElementById('last-reconciles').textContent")


def test_a_request_opens_its_story_by_keyboard(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen) as page:
        page.value("document.querySelector('#failing a').focus()")
        page.press("Enter")

        page.until(f"location.search.includes('request=') && {LIVE}")
        page.until(f"{rows('reads-and-writes')}.some(row => row.includes('nodes'))")
        assert page.value("document.getElementById('title').textContent").startswith("Story of broken-")
        assert "ControllerRuntimeError" in page.value(
            "document.getElementById('reconciles-of-this-request').textContent"
        )


def test_the_focus_survives_an_update(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen) as page:
        page.value("document.querySelector('#failing a').focus()")
        before = page.value("document.getElementById('summary').textContent")
        seen.cluster.user.create(NODES, a_node("another"))

        page.until(f"document.getElementById('summary').textContent !== {json.dumps(before)}")

        assert page.value("document.activeElement.closest('section').id") == "failing"


def test_hostile_names_stay_text_and_no_other_script_runs(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen, "?q=script") as page:
        page.until(f"{rows('last-reconciles')}.some(row => row.includes({json.dumps(HOSTILE)}))")
        assert page.value("typeof window.hit") == "undefined"
        assert page.value("document.querySelectorAll('#tables script, #tables img').length") == 0

        page.value("addEventListener('securitypolicyviolation', event => (window.seen = event.effectiveDirective))")
        page.value("document.body.append(Object.assign(document.createElement('img'), {src: 'data:,x'}))")

        page.until("window.seen === 'img-src'")


def test_it_survives_the_programs_end_and_return(chromium: Browser) -> None:
    with seen_program() as first, opened(chromium, first) as page:
        first.endpoints.__exit__(None, None, None)
        page.until("document.getElementById('state').textContent.startsWith('not connected')")

        with seen_program(port=first.port):
            page.until("document.getElementById('state').textContent.includes('started again')", 30.0)


def test_it_pauses_and_goes_on(chromium: Browser, seen: Seen) -> None:
    with opened(chromium, seen) as page:
        page.value("document.getElementById('pause').click()")
        page.until("document.getElementById('state').textContent === 'paused'")

        page.value("document.getElementById('pause').click()")

        page.until(LIVE)


@pytest.mark.parametrize("query", ["", "?controller=guests&request=broken-1"])
def test_a_telephone_scrolls_in_one_direction_only(chromium: Browser, seen: Seen, query: str) -> None:
    with opened(chromium, seen, query, width=360) as page:
        assert page.value("document.documentElement.scrollWidth") <= 360


def test_it_is_readable_without_scripts(chromium: Browser, seen: Seen) -> None:
    page = chromium.page(seen.address, scripts=False)

    assert "guests" in page.value("document.getElementById('controllers').textContent")
    assert "Without scripts" in page.value("document.body.innerText")
    page.close()


@pytest.mark.parametrize(("name", "query", "width", "dark"), [
    ("status-page", "", 1280, False),
    ("status-page-dark", "", 1280, True),
    ("status-page-story", "?controller=guests&request=cabin-7", 1280, False),
    ("status-page-360", "", 360, False),
])  # fmt: skip
def test_pictures_for_the_documents(
    chromium: Browser, calm: Seen, tmp_path: Path, name: str, query: str, width: int, dark: bool
) -> None:
    with opened(chromium, calm, query, width=width, dark=dark) as page:
        path = (Path(PICTURES) if PICTURES else tmp_path) / f"{name}.png"
        page.picture(path)

        assert path.read_bytes().startswith(b"\x89PNG")
        back = page.value("getComputedStyle(document.body).backgroundColor")
        assert back == ("rgb(22, 22, 26)" if dark else "rgb(255, 255, 255)")
