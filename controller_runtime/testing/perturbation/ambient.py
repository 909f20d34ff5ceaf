# SPDX-License-Identifier: Apache-2.0
"""The run that new clusters of this process belong to while `pytest --perturb` runs a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery.host import Host
from controller_runtime.testing.outside.calls import Observer
from controller_runtime.testing.simulation.simulation import SimulatedHost

if TYPE_CHECKING:
    from controller_runtime.testing.perturbation.session import Session

session: Session | None = None
"""The present run; the plugin sets it around each test. It is one value per process, where tests run one by one."""


def join(host: Host, *, is_alone: bool) -> Session | None:
    """Return the run of a test to which a new cluster belongs; None if there is none, or it cannot be perturbed.

    If the run cannot perturb the cluster, it keeps the reason, which is shown as why the test is not perturbed.

    Args:
        host: The host of the cluster's manager.
        is_alone: True if the cluster has its own server and its own transport.
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
    """Return the observer of a run for calls to outside services; one that records nothing if `joined` is None."""
    return Observer() if joined is None else joined.calls
