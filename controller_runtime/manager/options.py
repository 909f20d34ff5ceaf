# SPDX-License-Identifier: Apache-2.0
"""The options of a manager, for those who make one and hand them on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from controller_runtime.api.resources import Resource
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.election.config import LeaderElectionConfig


class ManagerOptions(TypedDict, total=False):
    """What `Manager` takes beside a host and a transport; it says what each means."""

    grace: float
    cache_sync_timeout: float
    leader_election: LeaderElectionConfig | None
    transforms: Mapping[Resource[Any], Transform]
    patience: Patience | None
