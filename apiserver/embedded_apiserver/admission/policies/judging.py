# SPDX-License-Identifier: Apache-2.0
"""The judgement of a policy on a write, with one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from embedded_apiserver.admission.policies.expressions import (
    MOST_OF_CONDITIONS,
    MOST_OF_POLICY,
    Evaluation,
    Failed,
)
from embedded_apiserver.admission.policies.policies import AdmissionPolicy, Validation
from embedded_apiserver.audit_annotations import LONGEST_VALUE
from embedded_apiserver.cel.values import Value

_LONGEST_MESSAGE = 5 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


class Denial(NamedTuple):
    """A policy's decision to deny a write, or an error of the policy that has the same effect.

    Attributes:
        message: The message for the client.
        reason: The `reason` of the error response.
        always: True if the write is refused independently of the `validationActions` of the binding.
        expression: The index of the validation in the policy, from 0.
    """

    message: str
    reason: str = "Invalid"
    always: bool = False
    expression: int = 0

    @property
    def code(self) -> int:
        """The HTTP status code of the error response."""
        return _CODES.get(self.reason, 422)


class Judgement(NamedTuple):
    """The result of evaluating a policy for a write.

    Attributes:
        denials: The denials of the write.
        annotations: The keys and values of annotations for the audit log.
    """

    denials: Sequence[Denial] = ()
    annotations: Sequence[tuple[str, str]] = ()


def judged(policy: AdmissionPolicy, bindings: Mapping[str, Value]) -> Judgement:
    """Return the result of evaluating a policy for a write; empty if the policy's match conditions are not met.

    Args:
        policy: The policy.
        bindings: The values of the variables, as returned by `seen_by_expressions`.
    """
    if policy.problem:
        return Judgement(_of_failure(policy, policy.problem))
    try:
        conditions = Evaluation({**bindings, "namespaceObject": None}, MOST_OF_CONDITIONS, policy.variables)
        if not conditions.are_met(policy.conditions):
            return Judgement()
        evaluation = Evaluation(bindings, MOST_OF_POLICY, policy.variables)
        denials = [
            denial._replace(expression=index)
            for index, one in enumerate(policy.validations)
            for denial in _validated(policy, one, evaluation)
        ]
        failed, annotations = _annotated(policy, Evaluation(bindings, MOST_OF_POLICY, policy.variables))
        return Judgement([*denials, *failed], annotations)
    except Failed as error:
        return Judgement(_of_failure(policy, str(error)))


def _of_failure(policy: AdmissionPolicy, text: str) -> list[Denial]:
    return [] if policy.ignores_failures else [Denial(text)]


def _validated(policy: AdmissionPolicy, validation: Validation, evaluation: Evaluation) -> list[Denial]:
    try:
        if evaluation.value(validation.program) is True:
            return []
    except Failed as error:
        if error.ends:
            raise
        return _of_failure(policy, str(error))
    content = validation.content
    text = _message(validation, evaluation) or content.get("message", "").strip()
    return [Denial(text or f"failed expression: {content['expression'].strip()}", content.get("reason") or "Invalid")]


def _message(validation: Validation, evaluation: Evaluation) -> str:
    """Return the message that an expression makes; empty if it fails, or makes no line of text."""
    if validation.message is None:
        return ""
    try:
        made: Any = evaluation.value(validation.message)
    except Failed as error:
        if error.ends:
            raise Failed(f"failed messageExpression: {error}", ends=True) from None
        return ""
    text = made.strip() if isinstance(made, str) else ""
    return "" if len(text.encode()) > _LONGEST_MESSAGE or "\n" in text else text


def _annotated(policy: AdmissionPolicy, evaluation: Evaluation) -> tuple[list[Denial], list[tuple[str, str]]]:
    """Return the failures of audit annotations, which refuse a write, and the values of the others."""
    failed, found = [], []
    for key, program in policy.annotations:
        try:
            value: Any = evaluation.value(program)
        except Failed as error:
            if error.ends:
                raise
            if not policy.ignores_failures:
                failed.append(Denial(str(error), always=True))
            continue
        if isinstance(value, str) and (text := value.strip()):
            found.append((key, text[:LONGEST_VALUE]))
    return failed, found
