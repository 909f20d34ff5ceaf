# SPDX-License-Identifier: Apache-2.0
"""Feature gates: what a server of the release has in it and does not serve by default."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from apimachinery.errors import UsageError
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.list_options import SHARDS
from embedded_apiserver.options import Query

SHARDED_LIST_AND_WATCH = "ShardedListAndWatch"
"""The gate of `shardSelector`: alpha since Kubernetes 1.36, and off by default."""

_SERVED = (SHARDED_LIST_AND_WATCH,)


@attrs.frozen
class FeatureGates:
    """The feature gates of a server.

    Attributes:
        sharded_lists: True if lists and watches support the parameter `shardSelector`.
    """

    sharded_lists: bool = False

    @classmethod
    def of(cls, gates: Mapping[str, bool], release: Release) -> FeatureGates:
        """Return the feature gates with the values in `gates`, by name.

        Raises:
            UsageError: This server knows no gate with that name in this release.
        """
        known = [name for name in _SERVED if release.has(name)]
        for name in gates:
            if name not in known:
                choice = f"there is {', '.join(known)}" if known else f"{release} has none that is known here"
                raise UsageError(f"there is no feature gate {name!r}: {choice}")
        return cls(gates.get(SHARDED_LIST_AND_WATCH, False))

    def read(self, query: Query) -> Query:
        """Return the parameters without those of features that are off, because a real API server ignores them."""
        if self.sharded_lists or SHARDS not in query:
            return query
        return {name: value for name, value in query.items() if name != SHARDS}


def parse_gates(text: str) -> dict[str, bool]:
    """Return the values in a text such as `ShardedListAndWatch=true`, by gate; commas separate several gates.

    Raises:
        UsageError: The text does not have this form.
    """
    found = {}
    for one in filter(None, map(str.strip, text.split(","))):
        name, _, value = one.partition("=")
        if value not in ("true", "false"):
            raise UsageError(f"feature gate {one!r} must be a name and a value, such as {name or 'Name'}=true")
        found[name] = value == "true"
    return found
