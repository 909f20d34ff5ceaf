# SPDX-License-Identifier: Apache-2.0
"""`--ring`: divides the work of a program's shareable controllers among its replicas; others run on the leader."""

from __future__ import annotations

from apimachinery.errors import UsageError
from apimachinery.log import get_logger
from controller_runtime.manager.manager import Manager
from controller_runtime.program.plan import RingPlan

log = get_logger(__name__)


def share_work(manager: Manager, plan: RingPlan | None) -> None:
    """Divide the work of a manager's `shareable` controllers by a ring; the others run only on the leader.

    Args:
        manager: The manager, after `setup` and before it runs.
        plan: The ring; None for no ring.

    Raises:
        UsageError: No controller is shareable, another controller would run in each replica because there is no leader
            election, or the name of the ring is invalid.
    """
    if plan is None:
        return
    shared = [controller for controller in manager.controllers if controller.shared_objects is not None]
    others = ", ".join(controller.name for controller in manager.controllers if controller.shared_objects is None)
    if not shared:
        raise UsageError(f"--ring has nothing to share: call `shareable` of {others or 'a controller'} if each of its "
                         "reconciles decides about one object alone")  # fmt: skip
    if others and manager.elector is None:
        raise UsageError(f"--ring would run {others} in each replica: add --leader-elect, so that one of them does")
    try:
        ring = manager.ring(plan.name, plan.by, namespace=plan.namespace)
    except ValueError as error:
        raise UsageError(f"--ring: {error}; give another one by --leader-election-id") from None
    for controller in shared:
        ring.share(controller)
    log.info("shares work", ring=plan.name, by=plan.by.value, controllers=",".join(each.name for each in shared))
