# SPDX-License-Identifier: Apache-2.0
"""Which programs compare their caches with the server: those on a cluster, unless they were told otherwise."""

from __future__ import annotations

import pytest

from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.program.auditing import choose_audit
from controller_runtime.testing import Simulation
from embedded_apiserver.server import APIServer


@pytest.mark.parametrize(
    ("embedded", "asked", "audited"), [(False, True, True), (False, False, False), (True, True, False)]
)
def test_a_program_on_a_cluster_audits_its_caches_unless_told_not_to(
    sim: Simulation, embedded: bool, asked: bool, audited: bool
) -> None:
    host = sim.host("program")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))

    choose_audit(manager, embedded=embedded, asked=asked)

    assert manager.caches.is_audited is audited


def test_an_audit_that_was_refused_is_none(sim: Simulation) -> None:
    host = sim.host("program")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))

    with pytest.raises(ValueError, match="must be positive"):
        manager.audit_caches(every=0.0)

    assert manager.caches.is_audited is False


def test_what_a_setup_says_about_the_audit_stays(sim: Simulation) -> None:
    host = sim.host("program")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    manager.audit_caches(every=5.0)

    choose_audit(manager, embedded=False, asked=True)  # a second audit would be refused
