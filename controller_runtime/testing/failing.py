# SPDX-License-Identifier: Apache-2.0
"""The failures of a controller that remain when nothing else happens."""

from __future__ import annotations

from controller_runtime.controller.controller import Controller

_SHOWN = 16
"""The most failing objects of one source that are named."""


def failing_of(controller: Controller) -> list[str]:
    """Return texts about the objects that wait for a retry after an error, and the changes that cannot be mapped to
    requests.
    """
    trouble = controller.trouble()
    changes = [each for source in trouble.sources for each in source.failing(_SHOWN)[1]] if trouble else []
    waiting = [turn for turn in controller.turns(_SHOWN) if any(text == "retry" for text, *_ in turn.causes)]
    return [*map(str, changes), *(str(turn.item) for turn in waiting)]
