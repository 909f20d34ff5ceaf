# SPDX-License-Identifier: Apache-2.0
"""Rules of policies of admission and of their bindings, with expressions that compile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apimachinery.names import label_errors, qualified_name_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import (
    NotCompiled,
    admission_environment,
    compiled,
    with_policy_variables,
)
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.types import DYN, Type
from embedded_apiserver.checks.basic import each, one_of
from embedded_apiserver.checks.expressions import expression, match_conditions, not_compiled
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.groups.registration.hooks import rule_causes
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_MOST_ANNOTATIONS = 20
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)


def policy(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ValidatingAdmissionPolicy."""
    spec = part(obj, "spec")
    yield from selection(spec)
    has_params = spec.get("paramKind") is not None
    environment = admission_environment(has_params=has_params)
    told = admission_environment(has_params=has_params, has_authorizer=False)
    known: dict[str, Type] = {}
    for index, one in enumerate(spec.get("variables") or ()):
        yield from variable(one, f"spec.variables[{index}]", environment, known)
    if known:
        environment, told = (with_policy_variables(one, known) for one in (environment, told))
    yield from match_conditions(spec.get("matchConditions") or (), "spec.matchConditions", environment)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        text = "validations or auditAnnotations must contain at least one item"
        yield required("spec.validations", text)
        yield required("spec.auditAnnotations", text)
        return
    for index, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{index}]", environment, told)
    yield from _annotations(obj["metadata"].get("name", ""), annotations, told)


def policy_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ValidatingAdmissionPolicy. An unchanged spec is not checked
    again.
    """
    return iter(()) if part(old, "spec") == part(new, "spec") else policy(new)


def selection(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the fields by which an admission policy selects writes and parameters."""
    if (policy := spec.get("failurePolicy")) is not None:
        yield from one_of(policy, ("Fail", "Ignore"), "spec.failurePolicy")
    if (kind := spec.get("paramKind")) is not None:
        yield from _param_kind(kind)
    if spec.get("matchConstraints") is None:
        yield required("spec.matchConstraints")
    else:
        yield from _matches(spec["matchConstraints"], "spec.matchConstraints", needs_rules=True)


def _param_kind(kind: Object) -> Iterator[Cause]:
    """Return the validation errors of the kind of a policy's parameters."""
    place, version, name = "spec.paramKind", kind.get("apiVersion", ""), kind.get("kind", "")
    if not version:
        yield required(f"{place}.apiVersion")
    elif version.count("/") > 1:
        yield invalid(f"{place}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if not name:
        yield required(f"{place}.kind")
    elif label_errors(name.lower()) or not name[0].isalpha():
        yield invalid(f"{place}.kind", name, f"may have mixed case, but should otherwise match: {_NO_LABEL}")


def _matches(found: Object, place: str, *, needs_rules: bool) -> Iterator[Cause]:
    """Return the validation errors of what says which writes are matched."""
    if (policy := found.get("matchPolicy")) is not None:
        yield from one_of(policy, ("Equivalent", "Exact"), f"{place}.matchPolicy")
    for field in ("namespaceSelector", "objectSelector"):
        yield from label_selector(found.get(field), f"{place}.{field}")
    if needs_rules and not found.get("resourceRules"):
        yield required(f"{place}.resourceRules")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(field) or ()):
            here, names = f"{place}.{field}[{index}]", rule.get("resourceNames") or ()
            for number, name in enumerate(names):
                if name in names[:number]:
                    yield duplicate(f"{here}.resourceNames[{number}]", name)
            yield from rule_causes(rule, here)


def variable(given: Object, place: str, environment: Environment, known: dict[str, Type]) -> Iterator[Cause]:
    """Return the validation errors of an admission policy's variable, and add its type to `known`.

    The expression of the variable may use those in `known`.
    """
    name, text = given.get("name", ""), given.get("expression", "")
    if not name.strip():
        yield required(f"{place}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        yield invalid(f"{place}.name", name, "must be a valid CEL identifier")
    if not text.strip():
        yield required(f"{place}.expression", "expression is not specified")
        return
    try:
        known[name] = compiled(text, with_policy_variables(environment, known)).type
    except NotCompiled as error:
        known[name] = DYN
        yield not_compiled(f"{place}.expression", text, error)


def _validation(validation: Object, place: str, environment: Environment, told: Environment) -> Iterator[Cause]:
    text, message, made = (validation.get(name, "") for name in ("expression", "message", "messageExpression"))
    if not text.strip():
        yield required(f"{place}.expression", "expression is not specified")
    else:
        yield from expression(text, f"{place}.expression", environment, types.BOOL)
    if made and not made.strip():
        yield invalid(f"{place}.messageExpression", made, "must be non-empty if specified")
    elif made:
        yield from expression(made, f"{place}.messageExpression", told, types.STRING)
    if message and not message.strip():
        yield invalid(f"{place}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid(f"{place}.message", message, "must not contain line breaks")
    if (reason := validation.get("reason")) is not None and reason not in _REASONS:
        yield not_supported(f"{place}.reason", reason, _REASONS)


def _annotations(name: str, annotations: Sequence[Object], environment: Environment) -> Iterator[Cause]:
    if len(annotations) > _MOST_ANNOTATIONS:
        yield invalid(
            "spec.auditAnnotations", list(annotations), f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        )
    seen = set()
    for index, annotation in enumerate(annotations):
        place, key = f"spec.auditAnnotations[{index}]", annotation.get("key", "")
        yield from (invalid(f"{place}.key", f"{name}/{key}", text) for text in qualified_name_errors(f"{name}/{key}"))
        text = annotation.get("valueExpression", "")
        if not text.strip():
            yield required(f"{place}.valueExpression", "valueExpression is not specified")
        else:
            yield from expression(text, f"{place}.valueExpression", environment, types.STRING, types.NULL)
        if key in seen:
            yield duplicate(f"{place}.key", key)
        seen.add(key)


def binding(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ValidatingAdmissionPolicyBinding."""
    spec = part(obj, "spec")
    yield from bound(spec)
    yield from _actions(spec.get("validationActions") or ())


def bound(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the fields that bindings of both kinds of admission policies have."""
    if not (name := spec.get("policyName", "")):
        yield required("spec.policyName")
    else:
        yield from each(subdomain_errors, name, "spec.policyName")
    if (ref := spec.get("paramRef")) is not None:
        yield from _param_ref(ref)
    if spec.get("matchResources") is not None:
        yield from _matches(spec["matchResources"], "spec.matchResources", needs_rules=False)


def _param_ref(ref: Object) -> Iterator[Cause]:
    """Return the validation errors of a binding's reference to parameters."""
    place = "spec.paramRef"
    if ref.get("name") and ref.get("selector") is not None:
        yield forbidden(f"{place}.name", "name and selector are mutually exclusive")
        yield forbidden(f"{place}.selector", "name and selector are mutually exclusive")
    elif not ref.get("name") and ref.get("selector") is None:
        yield required(place, "one of name or selector must be specified")
    if not (action := ref.get("parameterNotFoundAction")):
        yield required(f"{place}.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        yield not_supported(f"{place}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _actions(actions: Sequence[str]) -> Iterator[Cause]:
    place = "spec.validationActions"
    if not actions:
        yield required(place, "at least one validation action is required")
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{place}[{index}]", action, _ACTIONS)
        elif action in actions[:index]:
            yield duplicate(f"{place}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        text = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        yield invalid(place, list(actions), f"{text}response and headers serves no purpose)")
