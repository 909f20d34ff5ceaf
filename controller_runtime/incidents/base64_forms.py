# SPDX-License-Identifier: Apache-2.0
"""A value in base64, found and replaced wherever it begins within a longer text, such as `user:password`."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import attrs

_STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = _STANDARD.replace(b"+/", b"-_")


@attrs.frozen
class Digits:
    """The base64 digits of a value at one of three alignments, and those of its stand-in (replacement).

    A base64 digit has six bits. The first and last digit may share bits with the surrounding text, so only the value's
    own bits are replaced in them.

    Attributes:
        alphabet: The base64 digits, in order.
        old: The digits that depend only on the value.
        new: The digits that depend only on the stand-in.
        before: The stand-in's digit before these, as a number, and how many of its low bits belong to the stand-in.
        after: The stand-in's digit after these, as a number, and how many of its high bits belong to the stand-in.
    """

    alphabet: bytes
    old: bytes
    new: bytes
    before: tuple[int, int]
    after: tuple[int, int]

    def replaced(self, raw: bytes) -> bytes:
        """Return `raw` with each occurrence of the value replaced by the stand-in."""
        at = raw.find(self.old)
        if at < 0:
            return raw
        changed = bytearray(raw)
        while at >= 0:
            end = at + len(self.old)
            changed[at:end] = self.new
            if at and self.before[1]:
                self._mix(changed, at - 1, self.before[0], (1 << self.before[1]) - 1)
            if end < len(changed) and self.after[1]:
                self._mix(changed, end, self.after[0], 0x3F & ~((1 << (6 - self.after[1])) - 1))
            at = raw.find(self.old, end)
        return bytes(changed)

    def _mix(self, changed: bytearray, at: int, digit: int, mask: int) -> None:
        # Digits that both alphabets share may have a neighbor that only the other one has.
        for alphabet in (self.alphabet, _STANDARD, _URL_SAFE):
            if (present := alphabet.find(changed[at])) >= 0:
                changed[at] = alphabet[(present & ~mask) | (digit & mask)]
                return


def base64_forms(value: bytes, stand_in: bytes) -> Iterator[Digits]:
    """Yield the base64 forms of a value and a stand-in of the same length, for 3 alignments and both alphabets."""
    for alphabet in (_STANDARD, _URL_SAFE):
        for before in range(3):
            old, new = (_digits(bytes(before) + each, alphabet) for each in (value, stand_in))
            bits = (before + len(value)) * 8
            first, last = (before * 8 + 5) // 6, bits // 6
            lead = first * 6 - before * 8
            yield Digits(
                alphabet,
                old[first:last],
                new[first:last],
                (alphabet.index(new[first - 1]) if lead else 0, lead),
                (alphabet.index(new[last]) if bits % 6 else 0, bits % 6),
            )


def _digits(value: bytes, alphabet: bytes) -> bytes:
    return base64.b64encode(value).translate(bytes.maketrans(_STANDARD, alphabet))
