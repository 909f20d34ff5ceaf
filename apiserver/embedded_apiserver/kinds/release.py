# SPDX-License-Identifier: Apache-2.0
"""The releases of Kubernetes as which the server can answer, and the differences between them.

A server of an older release lacks kinds and parameters that came later. Fields that came later are not modelled:
they are kept, where an older server drops them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from apimachinery.errors import UsageError

_TEXT = re.compile(r"1\.([0-9]{1,2})")
_OLDEST, _NEWEST = 31, 36
# The patch release of the newest one, whose recordings the server is compared with.
_NEWEST_PATCH = 2
# Releases whose `/version` tells which release is emulated.
_TELLS_EMULATION = 33
# Streamed lists were on in 1.32, off again in 1.33, and are on since 1.34.
_STREAMED_LISTS = (32, *range(34, _NEWEST + 1))
# The first release with `shardSelector`.
_SHARDED_LISTS = 36


class Release(NamedTuple):
    """A minor release of Kubernetes 1.

    Attributes:
        minor: Its number, such as 36.
    """

    minor: int

    @property
    def version(self) -> str:
        """The version in the form of `gitVersion`, such as `v1.36.2`."""
        return f"v{self}.{_NEWEST_PATCH if self.minor == _NEWEST else 0}"

    @property
    def has_streamed_lists(self) -> bool:
        """True if a watch may ask for the existing objects (`sendInitialEvents`), in a default configuration."""
        return self.minor in _STREAMED_LISTS

    @property
    def tells_emulation(self) -> bool:
        """True if `/version` tells the emulated release, and the oldest one that it is compatible with."""
        return self.minor >= _TELLS_EMULATION

    @property
    def has_sharded_lists(self) -> bool:
        """True if there is `shardSelector`, described whether or not its feature gate is on."""
        return self.minor >= _SHARDED_LISTS

    @classmethod
    def parse(cls, text: str) -> Release:
        """Return the release that a text such as `1.33` names.

        Raises:
            UsageError: The server cannot answer as this release.
        """
        match = _TEXT.fullmatch(text)
        minor = int(match[1]) if match else 0
        if _OLDEST <= minor <= _NEWEST:
            return cls(minor)
        newer = ", which this version was not compared with" if minor > _NEWEST else ""
        raise UsageError(f"cannot answer as Kubernetes {text!r}{newer}: give a release from 1.{_OLDEST} to 1.{_NEWEST}")

    def __str__(self) -> str:
        return f"1.{self.minor}"


NEWEST = Release(_NEWEST)
"""The release as which the server answers by default."""
