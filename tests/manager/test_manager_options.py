# SPDX-License-Identifier: Apache-2.0
"""The options of a manager, and the types by which they are passed on."""

from __future__ import annotations

import inspect
import typing

from opentelemetry.trace import TracerProvider

from controller_runtime.incidents.options import Incidents
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.options import ManagerOptions


def test_the_options_that_may_be_handed_on_are_all_there_are() -> None:
    parameters = inspect.signature(Manager).parameters.values()
    later = {"TracerProvider": TracerProvider, "Incidents": Incidents}  # imported by programs alone that name them
    types = typing.get_type_hints(Manager.__init__, localns=later)

    options = {one.name: types[one.name] for one in parameters if one.kind is one.KEYWORD_ONLY}

    assert typing.get_type_hints(ManagerOptions, localns=later) == options
