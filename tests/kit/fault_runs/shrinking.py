# SPDX-License-Identifier: Apache-2.0
"""Reduces a script of faults while the run still fails: first to fewer faults, then to shorter ones."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from controller_runtime.testing.simulation.system_faults import Script

SHORTEST = 0.1
"""Seconds below which a duration is not halved further."""


def shrunk(script: Script, still_fails: Callable[[Script], bool]) -> Script:
    """Return a smaller script that still fails, from which no fault can be left out, and no duration halved.

    Args:
        script: A script that fails.
        still_fails: Called with a smaller script; runs it, and returns whether it fails in the same way.
    """
    while True:  # a fault may be spared only once another is shorter
        smaller = _shorter(_fewer(script, still_fails), still_fails)
        if smaller == script:
            return script
        script = smaller


def _fewer(script: Script, still_fails: Callable[[Script], bool]) -> Script:
    """Leave out pieces, and halve their size when no piece can be left out (delta debugging)."""
    piece = max(1, len(script) // 2)
    while script:
        at = 0
        before = len(script)
        while at < len(script):
            rest = script[:at] + script[at + piece :]
            if still_fails(rest):
                script = rest
            else:
                at += piece
        if piece == 1 and len(script) == before:
            break
        piece = max(1, piece // 2)
    return script


def _shorter(script: Script, still_fails: Callable[[Script], bool]) -> Script:
    for at in range(len(script)):
        while abs(script[at].seconds) > SHORTEST:
            half = attrs.evolve(script[at], seconds=round(script[at].seconds / 2, 1))
            shorter = (*script[:at], half, *script[at + 1 :])
            if not still_fails(shorter):
                break
            script = shorter
    return script
