# SPDX-License-Identifier: Apache-2.0
"""Rules of policies of admission that change objects, and of their bindings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from embedded_apiserver.causes import invalid, not_supported, required
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import (
    CONFIGURATION,
    JSON_PATCH,
    admission_environment,
    with_policy_variables,
)
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.types import Type
from embedded_apiserver.checks.basic import given_one_of
from embedded_apiserver.checks.expressions import expression, match_conditions
from embedded_apiserver.groups.registration.policies import bound, selection, variable
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")


class _PatchType(NamedTuple):
    """A type of mutation: the field that has its expression, the field that it must not have, and its result."""

    field: str
    other: str
    result: Type


_PATCH_TYPES: Mapping[str, _PatchType] = {
    "ApplyConfiguration": _PatchType("applyConfiguration", "jsonPatch", CONFIGURATION),
    "JSONPatch": _PatchType("jsonPatch", "applyConfiguration", types.list_of(JSON_PATCH)),
}


def policy(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a MutatingAdmissionPolicy."""
    spec = part(obj, "spec")
    yield from selection(spec)
    if (constraints := spec.get("matchConstraints")) is not None:
        yield from _operations(constraints, "spec.matchConstraints")
    has_params = spec.get("paramKind") is not None
    environment = admission_environment(has_params=has_params)
    yield from match_conditions(spec.get("matchConditions") or (), "spec.matchConditions", environment)
    known: dict[str, Type] = {}
    for index, one in enumerate(spec.get("variables") or ()):
        yield from variable(one, f"spec.variables[{index}]", environment, known)
    if not spec.get("mutations"):
        yield required("spec.mutations", "mutations must contain at least one item")
    making = with_policy_variables(admission_environment(has_params=has_params, has_patches=True), known)
    for index, mutation in enumerate(spec.get("mutations") or ()):
        yield from _mutation(mutation, f"spec.mutations[{index}]", making)
    if not (again := spec.get("reinvocationPolicy")):
        yield required("spec.reinvocationPolicy")
    else:
        yield from given_one_of(again, ("IfNeeded", "Never"), "spec.reinvocationPolicy")


def policy_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a MutatingAdmissionPolicy. An unchanged spec is not checked
    again.
    """
    return iter(()) if part(old, "spec") == part(new, "spec") else policy(new)


def _operations(found: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of rules that name writes that cannot be changed, such as deletions."""
    for rule in found.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in _OPERATIONS:
                yield not_supported(f"{place}.resourceRules.operations", operation, _OPERATIONS)


def _mutation(mutation: Object, place: str, environment: Environment) -> Iterator[Cause]:
    name = mutation.get("patchType", "")
    if not name:
        yield required(f"{place}.patchType")
        return
    if (kind := _PATCH_TYPES.get(name)) is None:
        yield not_supported(f"{place}.patchType", name, tuple(_PATCH_TYPES))
        return
    if (made := mutation.get(kind.field)) is None:
        yield required(f"{place}.{kind.field}", f"must be specified when patchType is {name}")
    elif not (text := made.get("expression", "").strip()):
        yield required(f"{place}.{kind.field}.expression")
    else:
        yield from expression(text, f"{place}.{kind.field}.expression", environment, kind.result)
    if mutation.get(kind.other) is not None:
        yield invalid(f"{place}.{kind.other}", f"{{{kind.other}}}", f"must not be specified when patchType is {name}")


def binding(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a MutatingAdmissionPolicyBinding."""
    spec = part(obj, "spec")
    yield from bound(spec)
    if (resources := spec.get("matchResources")) is not None:
        yield from _operations(resources, "spec.matchResources")
