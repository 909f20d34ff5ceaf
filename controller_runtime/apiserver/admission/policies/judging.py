# SPDX-License-Identifier: Apache-2.0
"""What a policy decides about a write, with one set of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from controller_runtime.apiserver.admission.policies.expressions import (
    MOST_OF_CONDITIONS,
    MOST_OF_POLICY,
    Evaluation,
    Failed,
)
from controller_runtime.apiserver.admission.policies.policies import Policy, Validation
from controller_runtime.apiserver.cel.values import Value

_LONGEST_MESSAGE = 5 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


class Denial(NamedTuple):
    """What a policy has against a write.

    Attributes:
        message: The text.
        reason: The reason of the answer.
        always: Whether the write is refused whatever the actions of the binding are.
    """

    message: str
    reason: str = "Invalid"
    always: bool = False

    @property
    def code(self) -> int:
        """The HTTP status of the answer."""
        return _CODES.get(self.reason, 422)


def judged(policy: Policy, bindings: Mapping[str, Value]) -> list[Denial]:
    """Return what a policy has against a write; empty if nothing, or if its conditions are not met.

    Args:
        policy: The policy.
        bindings: The values of the variables, see `seen_by_expressions`.
    """
    if policy.problem:
        return _of_failure(policy, policy.problem)
    try:
        conditions = Evaluation({**bindings, "namespaceObject": None}, MOST_OF_CONDITIONS, policy.variables)
        if not conditions.are_met(policy.conditions):
            return []
        evaluation = Evaluation(bindings, MOST_OF_POLICY, policy.variables)
        denials = [denial for one in policy.validations for denial in _validated(policy, one, evaluation)]
        return [*denials, *_annotated(policy, Evaluation(bindings, MOST_OF_POLICY, policy.variables))]
    except Failed as error:
        return _of_failure(policy, str(error))


def _of_failure(policy: Policy, text: str) -> list[Denial]:
    return [] if policy.ignores_failures else [Denial(text)]


def _validated(policy: Policy, validation: Validation, evaluation: Evaluation) -> list[Denial]:
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


def _annotated(policy: Policy, evaluation: Evaluation) -> Iterator[Denial]:
    """Return the failures of audit annotations, which refuse a write. The audit log has no annotations."""
    for _, program in policy.annotations:
        try:
            evaluation.value(program)
        except Failed as error:
            if error.ends:
                raise
            if not policy.ignores_failures:
                yield Denial(str(error), always=True)
