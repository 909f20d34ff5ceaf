# SPDX-License-Identifier: Apache-2.0
"""A program installs definitions on a server of its own, and on a cluster only if it is told to."""

from __future__ import annotations

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1

from controller_runtime import Manager, ObjectKey, Setup
from controller_runtime.crd import DEFINITIONS
from controller_runtime.errors import NotFound
from controller_runtime.program.filling import choose_definitions
from controller_runtime.testing import EmbeddedCluster

CABINS = ObjectKey("cabins.example.com")


def asks(manager: Manager) -> None:
    manager.install(Cabin, CabinV1Alpha1)


def asks_nothing(manager: Manager) -> None:
    manager.lister(Cabin)


@pytest.mark.parametrize(
    ("setup", "embedded", "asked", "versions"),
    [
        pytest.param(asks, True, False, 2, id="embedded"),
        pytest.param(asks, False, True, 2, id="asked"),
        pytest.param(asks, False, False, 0, id="a cluster"),
        pytest.param(asks_nothing, False, True, 1, id="asked, and setup installs nothing"),
        pytest.param(asks_nothing, True, False, 0, id="embedded, and setup installs nothing"),
    ],
)
def test_definitions_are_installed_where_that_was_asked_for(
    cluster: EmbeddedCluster, setup: Setup, embedded: bool, asked: bool, versions: int
) -> None:
    setup(cluster.manager)
    choose_definitions(cluster.manager, embedded=embedded, asked=asked)
    cluster.start()

    try:
        found = cluster.user.get(DEFINITIONS, CABINS)["spec"]["versions"]
    except NotFound:
        found = []
    assert len(found) == versions
