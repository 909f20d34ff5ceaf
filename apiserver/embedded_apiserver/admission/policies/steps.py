# SPDX-License-Identifier: Apache-2.0
"""`ValidatingAdmissionPolicy`: policies that refuse writes, or warn of them.

Policies and their bindings are judged by none: one that fails could otherwise not be removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.admission.policies.expressions import seen_by_expressions
from embedded_apiserver.admission.policies.invocations import invocations
from embedded_apiserver.admission.policies.judging import Denial, judged
from embedded_apiserver.admission.policies.mutating import POLICIES
from embedded_apiserver.admission.policies.policies import AdmissionPolicy, Binding, Policies
from embedded_apiserver.admission.step import EVERY_OPERATION, Attributes, Step, Surroundings
from embedded_apiserver.audit_annotations import annotate, as_json
from embedded_apiserver.groups.registration.kinds import VALIDATING_POLICY, VALIDATING_POLICY_BINDING
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.storage import Storage

_FAILURE = "validation.policy.admission.k8s.io/validation_failure"


class ValidatingAdmissionPolicy(Step):
    """Evaluates all bound validating policies for a write. The first denial is reported; audit annotations are
    logged.
    """

    name = "ValidatingAdmissionPolicy"
    operations = EVERY_OPERATION
    subresources = None

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        super().__init__(storage, around)
        self._policies = Policies(around.host, storage, VALIDATING_POLICY, VALIDATING_POLICY_BINDING)

    def is_idle(self) -> bool:
        return self._policies.are_none()

    def validate(self, attributes: Attributes) -> None:
        if attributes.kind in POLICIES:
            return
        first: StatusError | None = None
        for policy in self._policies.present():
            annotations: dict[str, dict[str, None]] = {}  # the values of each key, each once and in their order
            for binding, denial in self._denials(policy, attributes, annotations):
                actions = ["Deny"] if binding is None or denial.always else binding.spec.get("validationActions") or ()
                if "Warn" in actions and binding is not None:
                    where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                    attributes.warn(f"Validation failed for {where}: {denial.message}")
                if "Audit" in actions and binding is not None:
                    annotate(_FAILURE, _noted(policy, binding, denial))
                if "Deny" in actions:
                    first = first or _refusal(attributes, policy, binding, denial)
            for key, values in annotations.items():
                annotate(f"{policy.name}/{key}", ", ".join(values))
        if first is not None:
            raise first

    def _denials(
        self, policy: AdmissionPolicy, attributes: Attributes, annotations: dict[str, dict[str, None]]
    ) -> Iterator[tuple[Binding | None, Denial]]:
        """Yield the denials of a write by a policy, with their binding; None as binding if the policy cannot be used.

        Its annotations of the audit log are added to `annotations`.
        """
        for one in invocations(self._storage, self._around, policy, attributes):
            if one.problem:
                if not policy.ignores_failures:
                    yield one.binding, Denial(one.problem, always=True)
                continue
            bindings = seen_by_expressions(self._storage, attributes, one.seen_as, one.params)
            judgement = judged(policy, bindings)
            yield from ((one.binding, denial) for denial in judgement.denials)
            for key, value in judgement.annotations:
                annotations.setdefault(key, {})[value] = None


def _noted(policy: AdmissionPolicy, binding: Binding, denial: Denial) -> str:
    """Return what the audit log has of a failed validation; as on a real API server, of the first one only."""
    failure = {
        "message": denial.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": denial.expression,
        "validationActions": binding.spec.get("validationActions") or [],
    }
    return as_json([failure])


def _refusal(attributes: Attributes, policy: AdmissionPolicy, binding: Binding | None, denial: Denial) -> StatusError:
    bound = "" if binding is None else f" with binding '{binding.name}'"
    text = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {denial.message}"
    refusal = attributes.refused(text)
    details = {**(refusal.details or {}), "causes": [{"message": text}]}
    return StatusError(denial.code, denial.reason, refusal.message, details=details)
