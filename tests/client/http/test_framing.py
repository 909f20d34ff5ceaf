# SPDX-License-Identifier: Apache-2.0
"""A body is found whole, and nothing after it, however the network cuts the bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.client.http.framing import Chunked, Framing, Sized, UntilEnd

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
EXTENSIONS = st.sampled_from([b"", b";a=b", b' ;name="x"'])
TRAILERS = st.sampled_from([b"", b"a: b\r\n", b"a: b\r\nc: d\r\n"])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Return `data` in the pieces between `places`, none of them empty."""
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def read(framing: Framing, received: list[bytes]) -> tuple[bytes, bytes]:
    """Return the body, and the bytes after it."""
    body = b""
    for index, data in enumerate(received):
        body += b"".join(framing.cut(data))
        if framing.is_over:
            return body, framing.rest + b"".join(received[index + 1 :])
    framing.end()
    return body, b""


@given(BODIES, EXTENSIONS, TRAILERS, st.binary(max_size=9), st.lists(st.integers(0, 1000), max_size=9))
def test_chunks_are_found_however_they_are_cut(
    bodies: list[bytes], extension: bytes, trailers: bytes, after: bytes, places: list[int]
) -> None:
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(body), extension, body) for body in bodies)
    received = cut(chunks + b"0\r\n" + trailers + b"\r\n" + after, places)

    assert read(Chunked(), received) == (b"".join(bodies), after)


@given(BODIES, st.integers(0, 1000))
def test_chunks_that_end_early_are_cut(bodies: list[bytes], place: int) -> None:
    whole = b"".join(b"%x\r\n%s\r\n" % (len(body), body) for body in bodies) + b"0\r\n\r\n"
    begun = whole[: place % len(whole)]

    with pytest.raises(ConnectionError, match="cut inside the answer"):
        read(Chunked(), [begun] if begun else [])


@given(st.binary(max_size=40), st.binary(max_size=9), st.lists(st.integers(0, 1000), max_size=5))
def test_a_body_of_known_length_ends_there(body: bytes, after: bytes, places: list[int]) -> None:
    framing = Sized(len(body))
    if not body:
        assert framing.is_over
        return

    assert read(framing, cut(body + after, places)) == (body, after)


@given(st.binary(max_size=40), st.lists(st.integers(0, 1000), max_size=5))
def test_a_body_without_a_length_ends_with_the_connection(body: bytes, places: list[int]) -> None:
    assert read(UntilEnd(), cut(body, places)) == (body, b"")


@pytest.mark.parametrize("byte_by_byte", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\r\n2\r\nab", id="a blank line before the first chunk"),
        pytest.param(b"2\r\nab2\r\n", id="no end of line after a chunk"),
        pytest.param(b"2\r\nab\n2\r\n", id="half an end of line after a chunk"),
        pytest.param(b"2\r\nabXY", id="something else than an end of line after a chunk"),
        pytest.param(b"+2\r\nab\r\n", id="a sign"),
        pytest.param(b"0x2\r\nab\r\n", id="a prefix"),
        pytest.param(b"2_0\r\nab\r\n", id="an underscore"),
        pytest.param(b"\xb2\r\nab\r\n", id="a digit of another script"),
        pytest.param(b"11112222333344445\r\n", id="seventeen digits"),
    ],
)
def test_what_is_no_chunk_is_refused(data: bytes, byte_by_byte: bool) -> None:
    split: Callable[[bytes], list[bytes]] = (lambda d: cut(d, [*range(len(d))])) if byte_by_byte else (lambda d: [d])

    with pytest.raises(ConnectionError, match="malformed chunks"):
        read(Chunked(), split(data))


def test_a_second_end_of_line_after_a_chunk_is_refused_if_the_first_came_by_itself() -> None:
    with pytest.raises(ConnectionError, match="malformed chunks"):
        read(Chunked(), [b"2\r\nab\r\n", b"\r\n2\r\nab\r\n"])
