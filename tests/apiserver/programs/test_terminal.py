# SPDX-License-Identifier: Apache-2.0
"""The line discipline of a terminal, as a table."""

from __future__ import annotations

import pytest

from embedded_apiserver.programs.terminal import Typed, typed


@pytest.mark.parametrize(
    ("rest", "keys", "outcome"),
    [
        (b"", b"ab", Typed(b"ab", b"", b"ab", False, False)),
        (b"ab", b"c\rd", Typed(b"d", b"abc\n", b"c\r\nd", False, False)),
        (b"a", b"\x7f\x7f\n", Typed(b"", b"\n", b"\b \b\r\n", False, False)),
        (b"", b"\x04", Typed(b"", b"", b"", True, False)),
        (b"ab", b"\x04", Typed(b"", b"ab", b"", False, False)),
        (b"ab", b"c\x03d", Typed(b"", b"", b"c^C\r\n", False, True)),
    ],
)
def test_keys_become_lines_and_an_echo(rest: bytes, keys: bytes, outcome: Typed) -> None:
    assert typed(rest, keys) == outcome
