# SPDX-License-Identifier: Apache-2.0
"""Text of others, such as the message of an error, made fit for logs and memory.

A person who may write an object can choose text that ends up in an error: it must not start a line of a log, steer a
terminal, or grow what is kept of it.
"""

from __future__ import annotations

import json
import re

LONGEST = 16 * 1024
"""Characters of one value or traceback that a log shows, before they are escaped. The number is ours."""

KEPT = 2000
"""Characters of an error that are kept in memory, for status pages and reports: it may quote a whole answer."""

INDENT = "    "
"""The begin of each further line of a log's entry, which no entry begins with."""

_NOT_PLAIN = re.compile(r"[^ -~]")


def printable(text: str) -> str:
    r"""Return `text` as one line: unprintable characters, such as U+000A or U+001B, are escaped as in JSON (`\n`)."""
    return text if text.isprintable() else _NOT_PLAIN.sub(_escaped, text)


def indented(text: str) -> str:
    """Return `text` with its lines escaped as by `printable`, and with `INDENT` before each line but the first."""
    return f"\n{INDENT}".join(printable(line) for line in text.split("\n"))


def bounded(text: str, longest: int = LONGEST) -> str:
    """Return `text`; if it has more than `longest` characters, only its two ends, where a traceback has the most
    information.
    """
    if (left_out := len(text) - longest) <= 0:
        return text
    half = longest // 2
    return f"{text[:half]} … {left_out} characters left out … {text[-half:]}"


def kept_text(text: object) -> str:
    """Return `str(text)` in one line, shortened to about `KEPT` characters, for an error that is kept in memory."""
    return printable(bounded(" ".join(bounded(str(text)).split()), KEPT))


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char.isprintable():
        return char
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
