# SPDX-License-Identifier: Apache-2.0
"""The status page as HTML: one file with its style and its script, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from controller_runtime.manager.page.links import PAGE, story_link
from controller_runtime.manager.page.tables import Cell, Picture, StatusRow, StatusTable, Wish


@functools.cache
def template() -> str:
    """Return the text of the HTML file, which has marks such as `<!--title-->` for the content."""
    return files(__package__).joinpath("data/page.html").read_text(encoding="utf-8")


@functools.cache
def policy() -> str:
    """Return the content security policy: only the style and the script of the file, by their hashes, and requests to
    the address of the page.
    """
    style, script = (_hash(tag) for tag in ("style", "script"))
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def headers() -> dict[str, str]:
    """Return the HTTP headers of the page."""
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy(),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
    }


def page_of(picture: Picture, wish: Wish, run: str) -> str:
    """Return the HTML of a page with the given content, whose texts are escaped."""
    hidden = {"controller": wish.controller, "request": wish.request}
    marks = {
        "title": escape(picture.title),
        "summary": escape(picture.summary),
        "run": escape(run),
        "text": escape(wish.text),
        "checked": " checked" if wish.only_bad else "",
        "hidden": "".join(
            f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in hidden.items() if value
        ),
        "back": f'<a href="{PAGE}">All controllers</a>' if wish.request else "",
        "tables": "\n".join(_table(table) for table in picture.tables),
    }
    return re.sub(r"<!--(\w+)-->", lambda found: marks[found[1]], template())


def _hash(tag: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag}>", template(), re.DOTALL)
    assert found is not None, f"the page has a {tag}"
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()}'"


def _table(table: StatusTable) -> str:
    name = escape(table.id)
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    body = "".join(_row(table, row) for row in table.rows)
    return (
        f'<section id="{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{escape(table.title)}</h2>'
        f'<p class="note">{escape(table.note)}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="h-{name}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _row(table: StatusTable, row: StatusRow) -> str:
    mark = ' class="bad"' if row.is_bad else ""
    return f"<tr{mark}>{''.join(_cells(table, row))}</tr>"


def _cells(table: StatusTable, row: StatusRow) -> Iterator[str]:
    link = story_link(row)
    place = table.columns.index("request") if link and "request" in table.columns else 0
    for number, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True)):
        text = escape(str(cell))
        if link and number == place:
            text = f'<a href="{escape(link)}">{text}</a>'
        yield f'<td data-label="{escape(column)}"{_class(cell)}>{text}</td>'


def _class(cell: Cell) -> str:
    return "" if isinstance(cell, str) else ' class="n"'
