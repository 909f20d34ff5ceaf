# SPDX-License-Identifier: Apache-2.0
"""The parts that a controller has from its start on."""

from __future__ import annotations

import attrs

from controller_runtime.controller.sources import Intake
from controller_runtime.controller.unreadable import UnreadableObjects
from controller_runtime.controller.workers import AnyWorkers


@attrs.frozen
class Running:
    """The parts of a controller that has been started.

    Attributes:
        intake: The queue, with all that sources need to add requests.
        workers: Take requests from the queue.
        unreadable: The requests that wait until an unreadable object changes.
    """

    intake: Intake
    workers: AnyWorkers
    unreadable: UnreadableObjects
