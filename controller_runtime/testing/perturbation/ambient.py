# SPDX-License-Identifier: Apache-2.0
"""The run that the clusters of this process belong to, if `pytest --perturb` runs a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery.host import Host
from controller_runtime.testing.outside.calls import Observer
from controller_runtime.testing.simulation.simulation import SimulatedHost

if TYPE_CHECKING:
    from controller_runtime.testing.perturbation.session import Session

session: Session | None = None
"""The present run; the plugin sets it around each test. Tests of one process run one after the other."""


def join(host: Host, *, is_alone: bool) -> Session | None:
    """Return the run that a new cluster belongs to, if there is one that can perturb it.

    Args:
        host: The host of the cluster's manager.
        is_alone: Whether the cluster has a server and a transport of its own.
    """
    if session is None:
        return None
    if not isinstance(host, SimulatedHost):
        session.refuse("it runs in real time, where two runs are never the same")
    elif not is_alone or session.is_attached:
        session.refuse("it has several clusters or a transport of its own")
    else:
        return session
    return None


def observer_of(joined: Session | None) -> Observer:
    """Return the observer of calls to the outsides of a cluster that has joined a run, or none."""
    return Observer() if joined is None else joined.calls
