# SPDX-License-Identifier: Apache-2.0
"""Names that the server generates."""

from __future__ import annotations

from apimachinery.host import Host

# The characters of a real server: no vowels, so that no words arise, and no 0, 1 and 3.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_STEM_LENGTH = 58  # characters of generateName that are used: with a suffix of five, a DNS label of 63 at most


def name_suffix(host: Host) -> str:
    """Return a random suffix for a generated name."""
    return "".join(host.random.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))


def generated_name(stem: str, suffix: str) -> str:
    """Return the name for an object with the `generateName` `stem`: the stem, truncated if it is too long, and
    `suffix`.
    """
    return f"{stem[:_STEM_LENGTH]}{suffix}"
