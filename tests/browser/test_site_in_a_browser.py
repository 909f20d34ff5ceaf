# SPDX-License-Identifier: Apache-2.0
"""Each page of the site that `tox -e docs` has built, in a real browser: nothing is wider than the window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.processes.browser import Browser, browser, found_browser
from kit.source_package import ROOT

pytestmark = pytest.mark.browser

SITE = ROOT / "docs/site/html"
PAGES = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts and page != SITE / "index.html")
"""All but the first one, which only sends the reader on."""
WIDER = """[...document.querySelectorAll('article *')]
    .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .filter(each => !each.closest('.highlight, .table-wrapper, pre'))
    .map(each => each.outerHTML.slice(0, 120)).slice(0, 5)"""
"""Parts that reach beyond the window; code and tables may, since they scroll by themselves."""
MISSING = "[...document.images].filter(each => !each.complete || each.naturalWidth === 0).map(each => each.src)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = found_browser()
    if program is None:
        pytest.skip("no browser: install chromium, or name one by BROWSER_BINARY")
    with browser(program) as running:
        yield running


@pytest.mark.skipif(not PAGES, reason="no site: tox -e docs builds it")
@pytest.mark.parametrize("width", [1280, 420])
def test_no_page_scrolls_sideways_and_each_picture_is_there(chromium: Browser, width: int) -> None:
    found = {}
    for path in PAGES:
        page = chromium.page(path.as_uri(), width=width)
        page.until("location.protocol === 'file:' && document.readyState === 'complete'")
        scrolls = page.value("document.scrollingElement.scrollWidth > document.documentElement.clientWidth")
        page.value("document.querySelectorAll('img').forEach(each => each.loading = 'eager')")
        page.value("Promise.all([...document.images].map(each => each.decode().catch(() => null)))")
        faults = [*(page.value(WIDER) if scrolls else []), *page.value(MISSING)]
        if page.value("document.querySelector('.mermaid, .language-mermaid') !== null"):
            faults.append("the source of a diagram in place of the diagram")
        if scrolls or faults:
            found[path.relative_to(SITE).as_posix()] = faults
        page.close()

    assert not found
