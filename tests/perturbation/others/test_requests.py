# SPDX-License-Identifier: Apache-2.0
"""Requests are found in the bytes of a connection, however they are cut; anything else is no HTTP."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.testing.perturbation.others.requests import Found, NotHTTP, first_request

PLAIN = b"GET /topics?token=secret HTTP/1.1\r\nHost: a\r\n\r\n"
SIZED = b"PUT /topics/a HTTP/1.1\r\ncontent-LENGTH: 5\r\n\r\nhello"
CHUNKED = b"POST /topics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n"
TRAILED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nDigest: abc\r\n\r\n"
ALL = [
    (PLAIN, "GET /topics", True),
    (SIZED, "PUT /topics/a", False),
    (CHUNKED, "POST /topics", False),
    (TRAILED, "POST /", False),
]


@pytest.mark.parametrize(("data", "text", "reads"), ALL)
def test_a_request_is_found_with_its_method_and_path_and_without_its_query(data: bytes, text: str, reads: bool) -> None:
    assert first_request(data) == Found(text, reads, len(data))


@given(st.sampled_from(ALL), st.data())
def test_it_is_found_once_it_is_complete_and_what_follows_is_not_its(
    case: tuple[bytes, str, bool], draw: st.DataObject
) -> None:
    data, text, reads = case
    cut = draw.draw(st.integers(0, len(data) - 1))

    assert first_request(data[:cut]) is None
    assert first_request(data + SIZED[:cut]) == Found(text, reads, len(data))


@pytest.mark.parametrize("data", [b"\x16\x03\x01", b"hello\r\n", b"get / HTTP/1.1\r\n", b"GET / HTTP/2\r\n"])
def test_anything_else_is_no_http(data: bytes) -> None:
    with pytest.raises(NotHTTP):
        first_request(data)
