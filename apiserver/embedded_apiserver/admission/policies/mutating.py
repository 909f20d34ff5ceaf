# SPDX-License-Identifier: Apache-2.0
"""`MutatingAdmissionPolicy`: policies that change the objects of writes.

Policies and their bindings are changed by none: one that fails could otherwise not be removed.
"""

from __future__ import annotations

from typing import NamedTuple

from apimachinery.equality import same_json
from embedded_apiserver.admission.policies.expressions import (
    MOST_OF_CONDITIONS,
    MOST_OF_POLICY,
    Evaluation,
    Failed,
    seen_by_expressions,
)
from embedded_apiserver.admission.policies.invocations import Invocation, invocations
from embedded_apiserver.admission.policies.mutations import configuration, operations
from embedded_apiserver.admission.policies.patches import applied_by_policy, patched_by_policy
from embedded_apiserver.admission.policies.policies import Mutation, Policies
from embedded_apiserver.admission.reinvocation import Reinvocations
from embedded_apiserver.admission.step import Attributes, Step, Surroundings
from embedded_apiserver.admission.webhooks.shown import shown, taken
from embedded_apiserver.groups.registration.kinds import (
    MUTATING_POLICY,
    MUTATING_POLICY_BINDING,
    VALIDATING_POLICY,
    VALIDATING_POLICY_BINDING,
)
from embedded_apiserver.objects import Object
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.storage import Storage

POLICIES = (MUTATING_POLICY, MUTATING_POLICY_BINDING, VALIDATING_POLICY, VALIDATING_POLICY_BINDING)
"""The kinds to whose writes no policy is applied."""


class _Failure(NamedTuple):
    """Why a policy refuses a write: the text, and whether an expression or a patch of it failed."""

    text: str
    is_mutation: bool


class MutatingAdmissionPolicy(Step):
    """Applies the bound policies one after another, each to the result of the previous one.

    A policy with `reinvocationPolicy: IfNeeded` is applied a second time if any policy was applied in the first round,
    even if only itself, or if a webhook changed the object. Errors are collected, except those of policies with
    `failurePolicy: Ignore`, and the first one is reported.
    """

    name = MUTATING_POLICY.kind
    subresources = None

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        super().__init__(storage, around)
        self._policies = Policies(around.host, storage, MUTATING_POLICY, MUTATING_POLICY_BINDING)

    def is_idle(self) -> bool:
        return self._policies.are_none()

    def admit(self, attributes: Attributes) -> Object:
        rounds = attributes.rounds
        if attributes.kind in POLICIES or rounds is None:
            return attributes.obj
        found = [
            one
            for policy in self._policies.present()
            for one in invocations(self._storage, self._around, policy, attributes)
        ]
        failures = [_failure(one, one.problem) for one in found if one.problem and not one.policy.ignores_failures]
        again = Reinvocations.of(rounds, self.name)
        again.begin(attributes.obj)
        is_applied = False
        for one in found:
            if one.problem or not self._is_called(one, attributes, again, failures):
                continue
            for mutation in one.policy.mutations:
                try:
                    obj = self._mutated(one, mutation, attributes)
                except Failed as error:
                    if not one.policy.ignores_failures:
                        failures.append(_failure(one, str(error), is_mutation=True))
                    continue
                is_applied = True
                if obj is not attributes.obj:
                    attributes = attributes._replace(obj=obj)
                    again.note_change()
            if one.policy.spec.get("reinvocationPolicy") == "IfNeeded":
                again.note_call(_key(one))
        if is_applied:  # also if nothing has changed, as on a real server
            again.note_change()
        again.end(attributes.obj)
        if failures:
            raise _refusal(attributes, failures)
        return attributes.obj

    def _is_called(
        self, one: Invocation, attributes: Attributes, again: Reinvocations, failures: list[_Failure]
    ) -> bool:
        """Return whether a policy is applied in this round; add to `failures` if its conditions cannot be evaluated."""
        policy = one.policy
        try:
            if policy.problem:
                raise Failed(policy.problem)
            bindings = seen_by_expressions(self._storage, attributes, one.seen_as, one.params, namespace=False)
            if policy.conditions and not Evaluation(bindings, MOST_OF_CONDITIONS).are_met(policy.conditions):
                return False
        except Failed as error:
            if not policy.ignores_failures:
                failures.append(_failure(one, str(error), is_mutation=True))
            return False
        return again.is_due(_key(one))

    def _mutated(self, one: Invocation, mutation: Mutation, attributes: Attributes) -> Object:
        """Return the object as a mutation leaves it; the same one if it changes nothing.

        Raises:
            Failed: The mutation fails.
            StatusError: 500, its patch leaves what is not an object of this kind.
        """
        bindings = seen_by_expressions(self._storage, attributes, one.seen_as, one.params)
        made = Evaluation(bindings, MOST_OF_POLICY, one.policy.variables).value(mutation.program)
        kind, before = attributes.sent or one.seen_as, shown(attributes, one.seen_as, attributes.obj)
        if mutation.is_patch:
            after = patched_by_policy(kind, before, operations(made))
        else:
            after = applied_by_policy(kind, before, configuration(made))
        if same_json(after, {name: value for name, value in before.items() if name not in ("kind", "apiVersion")}):
            return attributes.obj
        return taken(attributes, one.seen_as, after)


def _key(one: Invocation) -> tuple[str, ...]:
    metadata = (one.params or {}).get("metadata", {})
    binding = "" if one.binding is None else one.binding.name
    return one.policy.name, binding, metadata.get("namespace", ""), metadata.get("name", "")


def _failure(one: Invocation, text: str, *, is_mutation: bool = False) -> _Failure:
    name = one.policy.name
    who = f"policy {quoted(name)}" if one.binding is None else f"policy '{name}' with binding '{one.binding.name}'"
    return _Failure(f"{who} denied request: {text}", is_mutation)


def _refusal(attributes: Attributes, failures: list[_Failure]) -> StatusError:
    refusal, first = attributes.refused(""), failures[0]
    details = {**(refusal.details or {}), "causes": [{"message": one.text} for one in failures]}
    return StatusError(refusal.code, "Invalid" if first.is_mutation else refusal.reason, first.text, details=details)
