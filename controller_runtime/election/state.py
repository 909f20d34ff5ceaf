# SPDX-License-Identifier: Apache-2.0
"""The states of an elector, each with the data that is valid only in it, and the changes between them."""

from __future__ import annotations

import attrs

from controller_runtime.election.term import Term


@attrs.frozen
class Waiting:
    """The state in which this replica does not lead. It reads the lease periodically, and when it expires."""


@attrs.frozen
class Leading:
    """The state in which this replica leads, and renews the lease.

    Attributes:
        term: The leadership; it may have passed its deadline before the elector's thread runs again.
    """

    term: Term


@attrs.frozen
class Yielding:
    """The state in which this replica leads but no longer renews, because another candidate is preferred.

    Its work ends, then the lease is released.

    Attributes:
        term: The leadership, which ends at its deadline at the latest.
    """

    term: Term


@attrs.frozen
class Resigned:
    """The state in which the work has ended, and the lease is being released, or left to expire.

    This replica no longer leads, and requests are not refused.
    """


@attrs.frozen
class Ended:
    """The state of an election after `run` has returned or raised.

    Attributes:
        term: The leadership that was lost, because of which requests are still refused; None if there was none or it
            was released.
    """

    term: Term | None


State = Waiting | Leading | Yielding | Resigned | Ended

TRANSITIONS: frozenset[tuple[type[State], type[State]]] = frozenset(
    {
        (Waiting, Leading),  # our write of the lease was answered in time
        (Waiting, Ended),  # stopped before we led
        (Leading, Yielding),  # the lease names another candidate as preferred
        (Leading, Resigned),  # stopped, and the work has ended in time
        (Leading, Ended),  # lost, or stopped with work that has not ended
        (Yielding, Resigned),  # stopped, and the work has ended in time
        (Yielding, Ended),  # the deadline passed before the work had ended
        (Resigned, Ended),  # the lease was given back, or is left to expire
    }
)
"""Every change of state there is. The diagram in `docs/leader-election.md` shows the same, and a test compares them."""


def term_of(state: State) -> Term | None:
    """Return the leadership in `state` if this replica leads or has lost its lease; otherwise None."""
    return state.term if isinstance(state, Leading | Yielding | Ended) else None
