# SPDX-License-Identifier: Apache-2.0
"""The chain of admission: the steps in the order of a real API server, without those that are switched off.

New steps have their place before `ResourceQuota`: a quota counts what the others have let through.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Self

from apimachinery.errors import UsageError
from embedded_apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from embedded_apiserver.admission.classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
)
from embedded_apiserver.admission.limit_ranger import LimitRanger
from embedded_apiserver.admission.names import NAMES, OFF_BY_DEFAULT
from embedded_apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from embedded_apiserver.admission.pod_security.step import PodSecurity
from embedded_apiserver.admission.pods import DefaultTolerationSeconds, Priority
from embedded_apiserver.admission.policies.mutating import MutatingAdmissionPolicy
from embedded_apiserver.admission.policies.steps import ValidatingAdmissionPolicy
from embedded_apiserver.admission.resource_quota import ResourceQuota
from embedded_apiserver.admission.service_account import ServiceAccount
from embedded_apiserver.admission.small_steps import (
    RuntimeClass,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
)
from embedded_apiserver.admission.step import Operation, Step, Surroundings
from embedded_apiserver.admission.webhooks.steps import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.storage.storage import Storage

STEPS: tuple[type[Step], ...] = (
    NamespaceLifecycle,
    LimitRanger,
    ServiceAccount,
    TaintNodesByCondition,
    PodSecurity,
    Priority,
    DefaultTolerationSeconds,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    MutatingAdmissionPolicy,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
)
"""All steps in their order; the first sentence of the docstring of each is its row in `docs/kinds.md`."""
WEBHOOKS = (MutatingAdmissionWebhook.name, ValidatingAdmissionWebhook.name)
"""The names of the steps that call webhooks."""
"""The names of all steps, in their order."""


class Awake(NamedTuple):
    """The admission steps that have something to do for a write, in their order; see `Chain.steps`.

    Attributes:
        changing: The steps with `admit`: they may change the object, or refuse it before its validation.
        checking: The steps with `validate`: they check the object in the form to be stored.
        counting: The steps with `validate` whose result is valid only until the next write, such as quotas.
    """

    changing: tuple[Step, ...]
    checking: tuple[Step, ...]
    counting: tuple[Step, ...]

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Self | None:
        """Return the steps of `steps` in the three groups; None if all groups are empty."""
        checking = [step for step in steps if type(step).validate is not Step.validate]
        found = cls(
            tuple([step for step in steps if type(step).admit is not Step.admit]),
            tuple([step for step in checking if not step.counts]),
            tuple([step for step in checking if step.counts]),
        )
        return found if any(found) else None


class Chain:
    """The admission steps of a server, in their order.

    Args:
        storage: The objects.
        around: The other parts of the server that steps use.
        enabled: The names of steps to switch on that are off by default.
        disabled: The names of steps to switch off.

    Raises:
        UsageError: A name is unknown, or is in both `enabled` and `disabled`.

    Threads: any.
    """

    def __init__(
        self,
        storage: Storage,
        around: Surroundings,
        enabled: Collection[str] = (),
        disabled: Collection[str] = (),
    ) -> None:
        _check(enabled, disabled)
        off = {*OFF_BY_DEFAULT, *disabled} - {*enabled}
        self._storage = storage
        self._steps = [step(storage, around) for step in STEPS if step.name not in off]
        # The steps that are not idle, by kind, operation and subresource. Replaced when a
        # collection becomes empty or is empty no more, on which idleness depends: its number of turns stands before.
        # Kinds come and go with their definitions; all custom ones are seen by the same steps, and share one entry.
        self._awake: tuple[int, dict[tuple[Kind | None, Operation, str], Awake | None]] = (0, {})

    def has(self, name: str) -> bool:
        """Return whether the admission step with this name is switched on."""
        return any(step.name == name for step in self._steps)

    def steps(self, kind: Kind, operation: Operation, subresource: str) -> Awake | None:
        """Return the steps that have something to do for such a write; None if there are none, as for most writes.

        Idle steps are left out, such as those for webhooks while none is configured; see `Step.is_idle`.
        """
        seen_as = kind if kind.definition is None else None
        place = seen_as, operation, subresource
        if (awake := self._awake)[0] != (turns := self._storage.turns):
            awake = self._awake = (turns, {})
        if place in awake[1]:
            return awake[1][place]
        seeing = (step for step in self._steps if _sees(step, seen_as, operation, subresource))
        found = awake[1][place] = Awake.of([step for step in seeing if not step.is_idle()])
        return found


def _sees(step: Step, kind: Kind | None, operation: Operation, subresource: str) -> bool:
    return (
        (step.kinds is None or kind in step.kinds)
        and operation in step.operations
        and (not subresource or step.subresources is None or subresource in step.subresources)
    )


def _check(enabled: Collection[str], disabled: Collection[str]) -> None:
    for name in (*enabled, *disabled):
        if name not in NAMES:
            raise UsageError(f"{name!r} is no admission plugin of this server; it has {', '.join(NAMES)}")
        if name in enabled and name in disabled:
            raise UsageError(f"the admission plugin {name} is switched on and off; give it once")
