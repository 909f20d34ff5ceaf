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
    """The digits of a value at one of its three places in the groups of base64, and those of its stand-in.

    A digit has six bits. The first and the last digit may share them with the text around the value, so of these two
    only the bits of the value are replaced.

    Attributes:
        alphabet: The digits by their number.
        old: The digits that hold nothing but the value.
        new: The same of the stand-in.
        before: The number of the stand-in's digit before these, and how many of its low bits are the stand-in's.
        after: The number of the stand-in's digit after these, and how many of its high bits are the stand-in's.
    """

    alphabet: bytes
    old: bytes
    new: bytes
    before: tuple[int, int]
    after: tuple[int, int]

    def replaced(self, raw: bytes) -> bytes:
        """Return `raw` with the stand-in in place of the value."""
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
    """Yield the forms of a value and its stand-in, which are of the same length, in both alphabets of base64."""
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
