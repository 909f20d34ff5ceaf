# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions that ask whether a user may do something.

Rules of definitions know them and have no authorizer to call them on; policies have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import attrs

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.ranges import exactly
from embedded_apiserver.cel.types import BOOL, STRING, Type
from embedded_apiserver.cel.values import Opaque, Value
from embedded_apiserver.cel.work import of_each_check

_PREFIX = "kubernetes.authorization."
AUTHORIZER = types.opaque(f"{_PREFIX}Authorizer")
"""The type of the variable `authorizer`."""

_PATH, _GROUP = types.opaque(f"{_PREFIX}PathCheck"), types.opaque(f"{_PREFIX}GroupCheck")
RESOURCE = types.opaque(f"{_PREFIX}ResourceCheck")
"""The type of the variable `authorizer.requestResource`."""

_DECISION = types.opaque(f"{_PREFIX}Decision")
_COST_OF_A_CHECK = 350_000  # so that one evaluation can make two


class Question(NamedTuple):
    """An action whose permission an expression checks.

    Attributes:
        account: The namespace and name of the service account to check; empty for the user of the request.
        verb: The verb.
        path: The URL path, for an action that is not about a resource; otherwise empty.
        group: The API group.
        resource: The resource.
        subresource: The subresource.
        namespace: The namespace.
        name: The name of the object.
        field_selector: The text of the field selector.
        label_selector: The text of the label selector.
    """

    account: tuple[str, str] = ("", "")
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class Answer(NamedTuple):
    """The result of a permission check.

    Attributes:
        allowed: True if the action is allowed.
        reason: The reason for the result.
        error: The error of the check; empty if there was none.
    """

    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[Question], Answer]


@attrs.frozen
class AccessCheck(Opaque):
    """A permission check under construction; also the value of the CEL variable `authorizer`.

    Attributes:
        type: The CEL type, which shows how much of the check is complete.
        ask: The function that answers the check.
        question: The action, as far as it is known.
    """

    type: Type
    ask: Ask = attrs.field(eq=False)
    question: Question = attrs.field(factory=Question)

    def with_(self, of: Type, part: str, value: str) -> AccessCheck:
        """Return the check as the CEL type `of`, with the field `part` of its question set to `value`."""
        return AccessCheck(of, self.ask, Question(**{**self.question._asdict(), part: value}))


@attrs.frozen
class DecisionValue(Opaque):
    """The result of a permission check, as a CEL value."""

    type = _DECISION
    answer: Answer


def authorizer(ask: Ask) -> AccessCheck:
    """Return the value of the CEL variable `authorizer`."""
    return AccessCheck(AUTHORIZER, ask)


def _path(check: AccessCheck, path: str) -> AccessCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return check.with_(_PATH, "path", path)


def _resource(check: AccessCheck, resource: str) -> AccessCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return check.with_(RESOURCE, "resource", resource)


def _account(check: AccessCheck, namespace: str, name: str) -> AccessCheck:
    if subdomain_errors(name):
        raise EvaluationError("Invalid service account name")
    if label_errors(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AccessCheck(AUTHORIZER, check.ask, check.question._replace(account=(namespace, name)))


def _check(check: AccessCheck, verb: str) -> DecisionValue:
    return DecisionValue(check.ask(check.question._replace(verb=verb)))


def _part(name: str) -> Callable[[AccessCheck, str], AccessCheck]:
    return lambda check, value: check.with_(RESOURCE, name, value)


def _method(
    name: str, id_: str, arguments: tuple[Type, ...], result: Type, call: Callable[..., Value], spent: int = 1
) -> Function:
    count = of_each_check if call is _check else None

    def cost(_: Any, __: Any) -> int:
        return spent

    def estimate(_: Any) -> CallEstimate:
        return CallEstimate(exactly(spent))

    return Function(
        name, (Overload(id_, arguments, result, call, member=True, cost=cost, estimate=estimate, work=count),)
    )


def _selector(name: str, id_: str, part: str) -> Function:
    made = Overload(
        *(id_, (RESOURCE, STRING), RESOURCE, _part(part)),
        member=True,
        cost=lambda arguments, _: _selector_cost(len(arguments[1])),
        estimate=lambda operands: CallEstimate(
            costs.sized(operands[1])
            .scaled(costs.TRAVERSAL)
            .plus(costs.sized(operands[1]).scaled(0.5).scaled(50.0))
            .plus(exactly(costs.NEW_LIST))
        ),
    )
    return Function(name, (made,))


def _selector_cost(length: int) -> int:
    """Return the cost of parsing a selector: a requirement for each second character, at most."""
    return costs.NEW_LIST + -(-length // 10) + -(-length // 2) * 50


AUTHORIZATION = Library(
    (
        _method("path", "authorizer_path", (AUTHORIZER, STRING), _PATH, _path),
        _method(
            *("group", "authorizer_group", (AUTHORIZER, STRING), _GROUP),
            lambda check, group: check.with_(_GROUP, "group", group),
        ),
        _method("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _account),
        _method("resource", "groupcheck_resource", (_GROUP, STRING), RESOURCE, _resource),
        _method("subresource", "resourcecheck_subresource", (RESOURCE, STRING), RESOURCE, _part("subresource")),
        _method("namespace", "resourcecheck_namespace", (RESOURCE, STRING), RESOURCE, _part("namespace")),
        _method("name", "resourcecheck_name", (RESOURCE, STRING), RESOURCE, _part("name")),
        _selector("fieldSelector", "authorizer_fieldselector", "field_selector"),
        _selector("labelSelector", "authorizer_labelselector", "label_selector"),
        _method("check", "pathcheck_check", (_PATH, STRING), _DECISION, _check, _COST_OF_A_CHECK),
        _method("check", "resourcecheck_check", (RESOURCE, STRING), _DECISION, _check, _COST_OF_A_CHECK),
        _method("errored", "decision_errored", (_DECISION,), BOOL, lambda one: bool(one.answer.error)),
        _method("error", "decision_error", (_DECISION,), STRING, lambda one: one.answer.error),
        _method("allowed", "decision_allowed", (_DECISION,), BOOL, lambda one: one.answer.allowed),
        _method("reason", "decision_reason", (_DECISION,), STRING, lambda one: one.answer.reason),
    )
)
"""The functions of authorization."""
