# SPDX-License-Identifier: Apache-2.0
"""A cluster that serves cabins and lodges."""

from __future__ import annotations

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1, Lodge

from controller_runtime.crd import DEFINITIONS, definition
from controller_runtime.testing import EmbeddedCluster


@pytest.fixture
def served(cluster: EmbeddedCluster) -> EmbeddedCluster:
    cluster.user.create(DEFINITIONS, definition(Cabin, CabinV1Alpha1))
    cluster.user.create(DEFINITIONS, definition(Lodge))
    return cluster
