# SPDX-License-Identifier: Apache-2.0
"""instaclustr/cassandra-operator#398: a pod is gone before its deletion was seen, and its claim stays forever.

The claim is deleted when the cache shows its pod as being deleted. That state lasts for a moment only.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Bug, World
from perturbation.bugs.cassandra_407 import Buggy, Mended


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)


BUG = Bug("instaclustr/cassandra-operator#398", "missed", Buggy, Mended, story)
