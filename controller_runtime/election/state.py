# SPDX-License-Identifier: Apache-2.0
"""The states of an elector, each with the data that is valid only in it, and the changes between them."""

from __future__ import annotations

import attrs

from controller_runtime.election.term import Term


@attrs.frozen
class Waiting:
    """Another replica leads, or none does; we read the lease periodically, and when it expires."""


@attrs.frozen
class Leading:
    """We lead and renew the lease.

    Attributes:
        term: Our leadership; it may have passed its deadline before the elector's thread gets to run.
    """

    term: Term


@attrs.frozen
class Yielding:
    """We lead but renew no more, because another candidate is preferred. The work ends, then the lease is given back.

    Attributes:
        term: Our leadership, until its deadline at the latest.
    """

    term: Term


@attrs.frozen
class Resigned:
    """The work has ended; the lease is being given back. We do not lead, and nothing is fenced any more."""


@attrs.frozen
class Ended:
    """`run` has returned or raised.

    Attributes:
        term: The leadership that was lost, which keeps the fence closed, or None, or it was given back.
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
    """Return the leadership that `state` carries, if any: of an elector that leads, or that lost its lease."""
    return state.term if isinstance(state, Leading | Yielding | Ended) else None
