# SPDX-License-Identifier: Apache-2.0
"""Evaluation of expressions about one write: what they see, a policy's variables, and what they may cost together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from embedded_apiserver.admission.step import Attributes
from embedded_apiserver.admission.webhooks.shown import request_of, shown
from embedded_apiserver.authorization.attributes import Attributes as Asked
from embedded_apiserver.authorization.authorizer import Authorizer
from embedded_apiserver.cel.admission import VARIABLES
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library.authorization import AUTHORIZER, RESOURCE, AccessCheck, Answer, Question
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.program import Budget, CELProgram
from embedded_apiserver.cel.values import Value
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.quoting import quoted
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.users import AUTHENTICATED, User, account_groups, account_name

MOST_OF_POLICY = 10_000_000
"""The most that the expressions of a policy may cost for one write; that of a real API server."""
MOST_OF_CONDITIONS = 2_500_000
"""The most that match conditions may cost for one write; that of a real API server."""

_STEPS_OF_WRITE = 1_000
"""Steps to make the values of the variables once: 0.1 to 0.2 ms."""
_READINGS = 4
"""Readings of an object that take as long as showing it in another version."""

_HIDDEN = ("uid", "object", "oldObject")
_METADATA = frozenset({
    *("name", "generateName", "namespace", "labels", "annotations", "creationTimestamp", "deletionTimestamp"),
    *("deletionGracePeriodSeconds", "generation", "resourceVersion", "finalizers", "uid"),
})  # fmt: skip


class Failed(Exception):
    """A CEL expression could not be evaluated; the message is that of a real API server.

    Attributes:
        ends: True if the cost budget is spent, so that no further expression of the policy is evaluated.
    """

    def __init__(self, message: str, ends: bool = False) -> None:
        super().__init__(message)
        self.ends = ends


class _Lazy(dict[str, Value]):
    """The variables of a policy, each evaluated when it is first read."""

    def __init__(self, programs: Mapping[str, CELProgram], bindings: Mapping[str, Value], budget: Budget) -> None:
        super().__init__()
        self._programs, self._bindings, self._budget = programs, bindings, budget
        self._failed: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def __missing__(self, name: str) -> Value:
        if name in self._failed:
            raise EvaluationError(self._failed[name])
        try:
            self[name] = value = self._programs[name].evaluate(self._bindings, self._budget)
        except EvaluationError as error:
            text = self._failed[name] = f"composited variable {quoted(name)} fails to evaluate: {error}"
            raise EvaluationError(text) from None
        return value


class Evaluation:
    """Evaluates the CEL expressions of a policy, or of a webhook's match conditions, for one write.

    Args:
        bindings: The values of the variables, as returned by `seen_by_expressions`.
        most: The cost budget for all expressions together.
        variables: The expressions of the policy's variables, by name.

    Threads: one.
    """

    def __init__(
        self, bindings: Mapping[str, Value], most: int, variables: Mapping[str, CELProgram] | None = None
    ) -> None:
        self._budget = Budget()
        self._most = most
        self._bindings = dict(bindings)
        if variables:
            self._bindings[VARIABLES] = _Lazy(variables, self._bindings, self._budget)

    def value(self, program: CELProgram) -> Value:
        """Return the value of an expression.

        Raises:
            Failed: The expression fails, or the cost budget is spent.
        """
        failed: EvaluationError | None = None
        value: Value = None
        try:
            value = program.evaluate(self._bindings, self._budget)
        except EvaluationError as error:
            failed = error
        if self._budget.spent > self._most:
            text = "validation failed due to running out of cost budget, no further validation rules will be run"
            raise Failed(text, ends=True)
        if failed is not None:
            raise Failed(f"expression '{program.text}' resulted in error: {failed}")
        return value

    def are_met(self, conditions: Iterable[CELProgram]) -> bool:
        """Return whether all conditions are true. If one is false, the result is False, even if others fail.

        Raises:
            Failed: No condition is false, and at least one fails; or the cost budget is spent before one is found to be
                false.
        """
        failed: list[str] = []
        for condition in conditions:
            try:
                if self.value(condition) is False:
                    return False
            except Failed as error:
                if error.ends:
                    raise
                failed.append(str(error))
        if failed:
            raise Failed(failed[0] if len(failed) == 1 else f"[{', '.join(dict.fromkeys(failed))}]")
        return True


def seen_by_expressions(
    storage: Storage, attributes: Attributes, seen_as: Kind, params: Object | None = None, *, namespace: bool = True
) -> dict[str, Value]:
    """Return the values of the variables of CEL expressions about a write, by name.

    Args:
        storage: The objects, including the namespaces.
        attributes: The write.
        seen_as: The kind and version to which the object is converted.
        params: The parameter object of a policy; None if there is none.
        namespace: False to leave out the namespace object, which match conditions do not get.
    """
    meter = current_meter()
    meter.spend(_STEPS_OF_WRITE)
    if seen_as != attributes.kind:
        meter.walk(attributes.obj, attributes.old, times=_READINGS)
    request = {name: value for name, value in request_of(attributes, seen_as, "").items() if name not in _HIDDEN}
    return {
        "object": shown(attributes, seen_as, attributes.obj) if attributes.obj else None,
        "oldObject": None if attributes.old is None else shown(attributes, seen_as, attributes.old),
        "request": request,
        "namespaceObject": _namespace(storage, attributes) if namespace else None,
        "params": params,
        **_authorizers(storage, attributes),
    }


def _authorizers(storage: Storage, attributes: Attributes) -> dict[str, Value]:
    """Return the variables that answer what the user of a write may do."""
    authorizer, user = Authorizer(storage), attributes.user

    def ask(question: Question) -> Answer:
        asks = user
        if question.account[1]:
            namespace, name = question.account
            asks = User(account_name(namespace, name), groups=(*account_groups(namespace), AUTHENTICATED))
        wanted = (question.group, question.resource, question.subresource, question.namespace, question.name)
        decision = authorizer.decide(Asked(asks, question.verb, *wanted, question.path))
        return Answer(decision.allowed, decision.reason)

    kind = attributes.kind
    question = Question(
        group=kind.group,
        resource=kind.plural,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "authorizer": AccessCheck(AUTHORIZER, ask),
        "authorizer.requestResource": AccessCheck(RESOURCE, ask, question),
    }


def _namespace(storage: Storage, attributes: Attributes) -> dict[str, Any] | None:
    """Return the namespace of a write, as far as expressions see it; its times are texts, as on a real API server."""
    if not attributes.namespace or attributes.kind == NAMESPACE:
        return None
    found = storage.get(NAMESPACE.resource, attributes.namespace)
    if found is None:
        return None
    obj = found.decode()
    metadata = {name: value for name, value in obj["metadata"].items() if name in _METADATA}
    return {"metadata": metadata, "spec": obj.get("spec", {}), "status": obj.get("status", {})}
