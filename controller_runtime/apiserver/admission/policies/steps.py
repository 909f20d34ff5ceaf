# SPDX-License-Identifier: Apache-2.0
"""`ValidatingAdmissionPolicy`: policies that refuse writes, or warn of them.

Policies and their bindings are judged by none: one that fails could otherwise not be removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.apiserver.admission.policies.expressions import seen_by_expressions
from controller_runtime.apiserver.admission.policies.judging import Denial, judged
from controller_runtime.apiserver.admission.policies.params import Misconfigured, kind_of_params, params_of
from controller_runtime.apiserver.admission.policies.policies import Binding, Constraints, Policies, Policy
from controller_runtime.apiserver.admission.step import EVERY_OPERATION, Attributes, Step, Surroundings
from controller_runtime.apiserver.admission.webhooks.matching import called_as
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.registry import VALIDATING_POLICY, VALIDATING_POLICY_BINDING
from controller_runtime.apiserver.status import StatusError
from controller_runtime.apiserver.storage.storage import Storage

_EXEMPT = (VALIDATING_POLICY, VALIDATING_POLICY_BINDING)


class ValidatingAdmissionPolicy(Step):
    """All policies judge a write, also after one has refused it; the first refusal counts."""

    name = "ValidatingAdmissionPolicy"
    operations = EVERY_OPERATION
    subresources = True

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        super().__init__(storage, around)
        self._policies = Policies(around.host, storage)

    def is_idle(self) -> bool:
        return self._policies.are_none()

    def validate(self, attributes: Attributes) -> None:
        if attributes.kind in _EXEMPT:
            return
        first: StatusError | None = None
        for policy in self._policies.present():
            for binding, denial in self._denials(policy, attributes):
                actions = ["Deny"] if binding is None or denial.always else binding.spec.get("validationActions") or ()
                if "Warn" in actions and binding is not None:
                    where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                    attributes.warn(f"Validation failed for {where}: {denial.message}")
                if "Deny" in actions:
                    first = first or _refusal(attributes, policy, binding, denial)
        if first is not None:
            raise first

    def _denials(self, policy: Policy, attributes: Attributes) -> Iterator[tuple[Binding | None, Denial]]:
        """Yield what a policy has against a write, by binding; without one if it cannot be used at all."""
        seen_as = self._seen_as(policy.constraints, attributes)
        if seen_as is None:
            return
        try:
            kind = kind_of_params(self._around.kinds(), policy.spec.get("paramKind"))
        except Misconfigured as error:
            if not policy.ignores_failures:
                yield None, Denial(f"failed to configure policy: {error}", always=True)
            return
        for binding in policy.bindings:
            if binding.constraints is not None and self._seen_as(binding.constraints, attributes) is None:
                continue
            try:
                params = params_of(self._storage, kind, binding.spec.get("paramRef"), attributes.namespace)
            except Misconfigured as error:
                if not policy.ignores_failures:
                    yield binding, Denial(f"failed to configure binding: {error}", always=True)
                continue
            for one in params:
                bindings = seen_by_expressions(self._storage, attributes, seen_as, one)
                yield from ((binding, denial) for denial in judged(policy, bindings))

    def _seen_as(self, constraints: Constraints, attributes: Attributes) -> Kind | None:
        kinds = self._around.kinds()
        found = called_as(self._storage, kinds, constraints.matched, attributes)
        if found is None or constraints.excluded is None:
            return found
        is_excluded = called_as(self._storage, kinds, constraints.excluded, attributes) is not None
        return None if is_excluded else found


def _refusal(attributes: Attributes, policy: Policy, binding: Binding | None, denial: Denial) -> StatusError:
    bound = "" if binding is None else f" with binding '{binding.name}'"
    text = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {denial.message}"
    refusal = attributes.refused(text)
    details = {**(refusal.details or {}), "causes": [{"message": text}]}
    return StatusError(denial.code, denial.reason, refusal.message, details=details)
