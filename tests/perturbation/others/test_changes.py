# SPDX-License-Identifier: Apache-2.0
"""The changes of one run with an operator, as they are recorded."""

from __future__ import annotations

import pytest

from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.others.changes import Changes
from controller_runtime.testing.perturbation.others.operator_process import Look
from controller_runtime.testing.perturbation.others.outsides import Outsides
from controller_runtime.testing.perturbation.others.properties import Properties
from controller_runtime.testing.perturbation.others.quiet import Quiet
from controller_runtime.testing.perturbation.others.server import writing
from controller_runtime.testing.perturbation.record import MANAGER, Run
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import PerturbedServer

OBJECT = {"metadata": {"name": "a", "namespace": "default"}}


def recorded(*, goes: bool, restarts: int = 0, rests: int = 0) -> Run:
    """Return a run in which the operator makes an object, and after rests may delete it and make it again."""
    host = SystemHost()
    server, run = APIServer(host), Run()
    client = Client(host, InProcessTransport(host, server))
    quiet = Quiet(host, lambda _: None, lambda: Look(alive=True, status=None, processes=1, busy=False))
    seen = PerturbedServer(server, lambda write, carry_out: carry_out())
    outsides = Outsides(host, (), 1.0, lambda _: None, lambda: None)
    changes = Changes(host, server, seen, run, None, quiet, Properties((), dict), outsides)
    with writing(MANAGER, 1):
        client.create(CONFIG_MAPS, OBJECT)
        changes.restarts += restarts
        run.rests += [changes.rest()] * rests
        if goes:
            client.delete(CONFIG_MAPS, ObjectKey("a", "default"))
            client.create(CONFIG_MAPS, OBJECT)
    run.rests.append(changes.rest())
    server.close()
    return run


@pytest.mark.parametrize(("restarts", "rests"), [(1, 0), (0, 1)])
def test_what_was_there_at_a_rest_must_not_go_and_come_again(restarts: int, rests: int) -> None:
    calm = learn([recorded(goes=False, rests=rests)])

    assert judge(calm, recorded(goes=True)).complaints == []
    assert judge(calm, recorded(goes=True, restarts=restarts, rests=rests)).complaints[0] == (
        "configmaps default/a was deleted, and lives to the end of a calm run"
    )
