# SPDX-License-Identifier: Apache-2.0
"""The input of a terminal: lines that are edited, echoed, and passed to the program when they are complete."""

from __future__ import annotations

from typing import NamedTuple

_ERASE, _END, _INTERRUPT = (8, 127), 4, 3
_LINE_FEEDS = b"\r\n"


class Typed(NamedTuple):
    """The result of pressing some keys in a terminal.

    Attributes:
        rest: The incomplete line.
        lines: The bytes for the program's input.
        echo: The bytes to show on the terminal.
        ends: True if the input ends (Ctrl-D).
        interrupts: True if the program is interrupted (Ctrl-C).
    """

    rest: bytes
    lines: bytes
    echo: bytes
    ends: bool
    interrupts: bool


def typed(rest: bytes, keys: bytes) -> Typed:
    """Return the result of pressing `keys` when `rest` is the incomplete line so far.

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
