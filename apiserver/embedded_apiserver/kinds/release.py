# SPDX-License-Identifier: Apache-2.0
"""The releases of Kubernetes as which the server can answer; their facts are data, see `recorded`."""

from __future__ import annotations

import re
from typing import NamedTuple

from apimachinery.errors import UsageError
from embedded_apiserver.kinds.recorded import facts_of

_TEXT = re.compile(r"1\.([0-9]{1,2})")
_OLDEST, _NEWEST = 31, 36
_BUILD = ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")


class Release(NamedTuple):
    """A minor release of Kubernetes 1, such as 1.36.

    Attributes:
        minor: The minor version, such as 36.
    """

    minor: int

    @property
    def version(self) -> str:
        """The full version of the recorded server, such as `v1.36.2`."""
        found: str = facts_of(str(self))["version"]["gitVersion"]
        return found

    @property
    def numbers(self) -> dict[str, str]:
        """The version numbers in the document at `/version`, including emulated versions if the release has them."""
        return {name: text for name, text in facts_of(str(self))["version"].items() if name not in _BUILD}

    def is_on(self, gate: str) -> bool:
        """Return whether a feature gate is on by default in this release."""
        return gate in facts_of(str(self))["gates"]["on"]

    def has(self, gate: str) -> bool:
        """Return whether this release has a feature gate of this name, on or off."""
        return self.is_on(gate) or gate in facts_of(str(self))["gates"]["off"]

    @classmethod
    def parse(cls, text: str) -> Release:
        """Return the release for a text such as `1.33`.

        Raises:
            UsageError: The server does not support this release.
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
