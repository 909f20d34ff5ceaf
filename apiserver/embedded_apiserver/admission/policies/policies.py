# SPDX-License-Identifier: Apache-2.0
"""The policies that are bound at present, compiled once for each version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from apimachinery.host import Host
from apimachinery.selectors import LabelSelector
from embedded_apiserver.admission.webhooks.hooks import Hook
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import (
    CONFIGURATION,
    JSON_PATCH,
    NotCompiled,
    admission_environment,
    compiled,
    with_policy_variables,
)
from embedded_apiserver.cel.meter import compiled_again
from embedded_apiserver.cel.program import CELProgram
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored

_EVERYTHING = LabelSelector.from_object({})
_ALL_WRITES = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "scope": "*"}


@attrs.frozen
class Constraints:
    """The match constraints of a policy or binding: writes that `matched` selects, except those that `excluded`
    selects.
    """

    matched: Hook
    excluded: Hook | None


@attrs.frozen
class Validation:
    """One validation of a policy: its fields as in the API, its compiled expression, and that of its message, if
    any.
    """

    content: Mapping[str, Any]
    program: CELProgram
    message: CELProgram | None


@attrs.frozen
class Mutation:
    """One mutation of a policy: its compiled expression, which returns a JSON patch or an apply configuration."""

    program: CELProgram
    is_patch: bool


@attrs.frozen
class Binding:
    """A binding of a policy: its name, its spec, and its match constraints; None matches every write."""

    name: str
    spec: Mapping[str, Any]
    constraints: Constraints | None


@attrs.frozen
class AdmissionPolicy:
    """A policy, compiled, and its bindings.

    Attributes:
        name: The name of the policy.
        spec: The spec of the policy, as stored.
        constraints: The match constraints, which select the writes to evaluate.
        bindings: The bindings of the policy, sorted by name.
        variables: The compiled expressions of its variables, by name.
        conditions: The compiled match conditions.
        validations: The validations of a validating policy.
        mutations: The mutations of a mutating policy.
        annotations: The audit annotations: keys and compiled expressions.
        problem: The reason why the policy cannot be evaluated; empty if it can.
    """

    name: str
    spec: Mapping[str, Any]
    constraints: Constraints
    bindings: Sequence[Binding]
    variables: Mapping[str, CELProgram] = attrs.field(factory=dict)
    conditions: Sequence[CELProgram] = ()
    validations: Sequence[Validation] = ()
    mutations: Sequence[Mutation] = ()
    annotations: Sequence[tuple[str, CELProgram]] = ()
    problem: str = ""

    @property
    def ignores_failures(self) -> bool:
        """True if an expression that fails does not refuse the write."""
        return self.spec.get("failurePolicy") == "Ignore"


class Policies:
    """Provides the compiled policies of one kind. They are read again only after a policy or binding was written.

    Args:
        host: Creates the locks.
        storage: The objects, including the policies and bindings.
        kind: The kind of the policies.
        binding_kind: The kind of the policies' bindings.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, kind: Kind, binding_kind: Kind) -> None:
        self._storage = storage
        self._resource, self._binding_resource = kind.resource, binding_kind.resource
        # Guards the field below: the versions of the last writes of policies and bindings, and the policies as of then.
        self._lock = host.lock("apiserver/policies")
        self._known: tuple[tuple[int, ...], Sequence[AdmissionPolicy]] = ((), ())

    def are_none(self) -> bool:
        """Return whether there are no policies, or no bindings, so that no policy applies."""
        return self._storage.is_empty(self._resource) or self._storage.is_empty(self._binding_resource)

    def present(self) -> Sequence[AdmissionPolicy]:
        """Return the current policies that have bindings, sorted by name."""
        changed = self._storage.last_changes((self._resource, self._binding_resource))
        with self._lock:
            if self._known[0] == changed:
                return self._known[1]
        bindings: dict[str, list[Binding]] = {}
        for item in self._storage.read(self._binding_resource).items:
            spec = item.decode()["spec"]
            bindings.setdefault(spec["policyName"], []).append(_binding(item.name, spec))
        items = self._storage.read(self._resource).items
        with compiled_again():
            policies = [policy_of(item, bindings[item.name]) for item in items if item.name in bindings]
        with self._lock:
            self._known = changed, policies
        return policies


def _binding(name: str, spec: Object) -> Binding:
    resources = spec.get("matchResources")
    return Binding(name, spec, None if resources is None else _constraints(name, resources))


def _constraints(name: str, content: Mapping[str, Any]) -> Constraints:
    rules = content.get("resourceRules") or [_ALL_WRITES]
    policy = content.get("matchPolicy", "Equivalent")
    namespaces, objects = (
        LabelSelector.from_object(content.get(field) or {}) for field in ("namespaceSelector", "objectSelector")
    )
    matched = Hook(name, name, {"rules": rules, "matchPolicy": policy}, namespaces, objects, None)
    excluded = content.get("excludeResourceRules")
    if not excluded:
        return Constraints(matched, None)
    without = {"rules": excluded, "matchPolicy": policy}
    return Constraints(matched, Hook(name, name, without, _EVERYTHING, _EVERYTHING, None))


def policy_of(item: Stored, bindings: Sequence[Binding]) -> AdmissionPolicy:
    """Return the compiled form of a stored policy, with its bindings."""
    spec = item.decode()["spec"]
    made = AdmissionPolicy(item.name, spec, _constraints(item.name, spec.get("matchConstraints") or {}), bindings)
    try:
        return _compiled(made)
    except NotCompiled as error:
        return attrs.evolve(made, problem=str(error))


def _compiled(policy: AdmissionPolicy) -> AdmissionPolicy:
    spec = policy.spec
    has_params = spec.get("paramKind") is not None
    environment = base = admission_environment(has_params=has_params)
    told = admission_environment(has_params=has_params, has_authorizer=False)
    variables: dict[str, CELProgram] = {}
    for variable in spec.get("variables") or ():
        environment = with_policy_variables(base, {name: program.type for name, program in variables.items()})
        variables[variable["name"]] = compiled(variable["expression"], environment)
    if variables:
        known = {name: program.type for name, program in variables.items()}
        environment, told = with_policy_variables(base, known), with_policy_variables(told, known)
    validations = []
    for content in spec.get("validations") or ():
        text = content.get("messageExpression")
        message = compiled(text, told, (types.STRING,)) if text else None
        validations.append(Validation(content, compiled(content["expression"], environment, (types.BOOL,)), message))
    return attrs.evolve(
        policy,
        variables=variables,
        conditions=[
            compiled(condition["expression"], environment, (types.BOOL,))
            for condition in spec.get("matchConditions") or ()
        ],
        validations=validations,
        mutations=[_mutation(one, has_params, variables) for one in spec.get("mutations") or ()],
        annotations=[
            (one["key"], compiled(one["valueExpression"], told, (types.STRING, types.NULL)))
            for one in spec.get("auditAnnotations") or ()
        ],
    )


def _mutation(content: Mapping[str, Any], has_params: bool, variables: Mapping[str, CELProgram]) -> Mutation:
    known = {name: program.type for name, program in variables.items()}
    environment = with_policy_variables(admission_environment(has_params=has_params, has_patches=True), known)
    is_patch = content["patchType"] == "JSONPatch"
    text = content["jsonPatch" if is_patch else "applyConfiguration"]["expression"]
    result = types.list_of(JSON_PATCH) if is_patch else CONFIGURATION
    return Mutation(compiled(text, environment, (result,)), is_patch)
