# SPDX-License-Identifier: Apache-2.0
"""The types of a manager's options, for code that passes them on to `Manager`, whose docstring describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from controller_runtime.api.resources import Kind
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.controller.panics import OnPanic
from controller_runtime.election.config import LeaderElectionConfig

if TYPE_CHECKING:  # a program without tracing or a recorder need not have them
    from opentelemetry.trace import TracerProvider

    from controller_runtime.incidents.options import Incidents


class ManagerOptions(TypedDict, total=False):
    """The keyword arguments of `Manager`, repeated here for type checkers; a test compares them with its signature."""

    grace: float
    cache_sync_timeout: float
    leader_election: LeaderElectionConfig | None
    transforms: Mapping[Kind[Any], Transform]
    patience: Patience | None
    namespace: str
    on_panic: OnPanic
    tracer_provider: TracerProvider | None
    incidents: Incidents | None


class Selected(TypedDict, total=False):
    """The keyword arguments of `Manager.lister` and `Manager.informer` that select objects; see `Manager.lister`."""

    namespace: str
    label_selector: str
    field_selector: str
    any_version: bool
