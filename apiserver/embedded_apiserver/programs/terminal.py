# SPDX-License-Identifier: Apache-2.0
"""The input of a terminal: lines that are edited, echoed, and handed on when they are complete."""

from __future__ import annotations

from typing import NamedTuple

_ERASE, _END, _INTERRUPT = (8, 127), 4, 3
_LINE_FEEDS = b"\r\n"


class Typed(NamedTuple):
    """The outcome of some keys.

    Attributes:
        rest: The line so far, which is not complete.
        lines: The bytes that the program gets.
        echo: The bytes that the terminal shows.
        ends: Whether the input is to end.
        interrupts: Whether the program is to be interrupted.
    """

    rest: bytes
    lines: bytes
    echo: bytes
    ends: bool
    interrupts: bool


def typed(rest: bytes, keys: bytes) -> Typed:
    """Return the outcome of keys that are typed after `rest`.

    Backspace, Ctrl-C and Ctrl-D have their usual meaning.
    """
    line, lines, echo = bytearray(rest), bytearray(), bytearray()
    for key in keys:
        if key in _LINE_FEEDS:
            lines += line + b"\n"
            line.clear()
            echo += b"\r\n"
        elif key in _ERASE:
            if line:
                del line[-1]
                echo += b"\b \b"
        elif key == _INTERRUPT:
            return Typed(b"", bytes(lines), bytes(echo + b"^C\r\n"), False, True)
        elif key == _END and not line:
            return Typed(b"", bytes(lines), bytes(echo), True, False)
        elif key == _END:
            lines += line
            line.clear()
        else:
            line.append(key)
            echo.append(key)
    return Typed(bytes(line), bytes(lines), bytes(echo), False, False)
