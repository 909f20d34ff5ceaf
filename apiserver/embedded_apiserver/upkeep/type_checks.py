# SPDX-License-Identifier: Apache-2.0
"""Checks of the expressions of policies against the types of the kinds that their rules name.

A fault is a warning in the status of a policy. The policy works in any case, because its rules may name other kinds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.schema import Library, Schema, definitions, schema_for
from embedded_apiserver.cel.admission import admission_environment, with_policy_variables
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import CompileError, InstantiationError
from embedded_apiserver.cel.program import compile_expression
from embedded_apiserver.cel.types import DYN, Type
from embedded_apiserver.custom.validations.declared import declared
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.kinds.kind import Kind, Kinds

_MOST_KINDS = 10
"""The kinds that one rule may add; a real API server checks no more."""

_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_METADATA = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_serial = itertools.count(100_000_000)

Warnings = list[dict[str, str]]


def expression_warnings(policy: Mapping[str, Any], kinds: Kinds) -> Warnings:
    """Return the type checking warnings of a policy for its status, in the order of its expressions.

    Args:
        policy: A ValidatingAdmissionPolicy.
        kinds: The currently served kinds.
    """
    spec: Mapping[str, Any] = policy.get("spec") or {}
    checked = kinds_to_check(spec, kinds)
    params = spec.get("paramKind")
    known = {"params": _params(params, kinds)} if params is not None else {}
    types = [(kind, _type_of(kind)) for kind in checked]
    environments = [(kind, _environment({"object": type_, "oldObject": type_, **known}, spec)) for kind, type_ in types]
    warnings: Warnings = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            text = validation.get(field)
            if text and (found := [*_faults(text, environments)]):
                warnings.append({"fieldRef": f"spec.validations[{index}].{field}", "warning": "\n".join(found)})
    return warnings


def kinds_to_check(spec: Mapping[str, Any], kinds: Kinds) -> Sequence[Kind]:
    """Return the kinds that a policy's rules name without a wildcard, sorted by group, version and name.

    The search ends at the tenth kind of a rule, and further rules are then ignored.
    """
    found: dict[Kind, None] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = (sorted(rule.get(field) or ()) for field in ("apiGroups", "apiVersions"))
        if any("*" in word for word in (*groups, *versions)):
            continue
        plurals = sorted(word for word in rule.get("resources") or () if "*" not in word and "/" not in word)
        added = 0
        for group, version, plural in itertools.product(groups, versions, plurals):
            for kind in _named(kinds, group, version, plural):
                found[kind] = None
                added += 1
                if added == _MOST_KINDS:
                    return _sorted(found)
    return _sorted(found)


def _named(kinds: Kinds, group: str, version: str, plural: str) -> Iterator[Kind]:
    """Yield the kinds of a resource; an empty group is that of none, as for a client that maps resources to kinds."""
    for kind in kinds:
        is_group = group in ("", kind.group)
        if is_group and kind.version == version and plural.lower() in (kind.plural, kind.kind.lower()):
            yield kind


def _sorted(kinds: Mapping[Kind, None]) -> list[Kind]:
    return sorted(kinds, key=lambda kind: (kind.group, kind.version, kind.kind))


def _environment(variables: Mapping[str, Type], spec: Mapping[str, Any]) -> Environment:
    """Return the environment of the expressions of a policy, with its own variables by their types."""
    environment = admission_environment(has_params="params" in variables, has_resource=False).with_variables(variables)
    known: dict[str, Type] = {}
    for variable in spec.get("variables") or ():
        try:
            program = compile_expression(variable["expression"], with_policy_variables(environment, known))
        except (CompileError, InstantiationError):
            known[variable["name"]] = DYN
        else:
            known[variable["name"]] = program.type
    return with_policy_variables(environment, known)


def _faults(text: str, environments: Sequence[tuple[Kind, Environment]]) -> Iterator[str]:
    for kind, environment in environments:
        try:
            compile_expression(text, environment)
        except CompileError as error:
            yield f"{kind.group}/{kind.version}, Kind={kind.kind}: {error}\n"
        except InstantiationError:  # types are checked, and no program is made
            pass


def _params(params: Mapping[str, Any], kinds: Kinds) -> Type:
    version, name = params.get("apiVersion", ""), params.get("kind", "")
    for kind in kinds:
        if (kind.api_version, kind.kind) == (version, name):
            return _type_of(kind)
    return DYN


def _type_of(kind: Kind) -> Type:
    """Return the type of the objects of a kind; any, if no schema is known."""
    if kind.definition is not None:
        raw = _whole(kind.definition.structure)
    else:
        schema = schema_for(kind.group, kind.version, kind.kind)
        if schema is None:
            return DYN
        raw = _expanded(schema, ())
    found = declared(raw, f"{kind.kind}{next(_serial)}")
    return DYN if found is None else found.type


def _whole(raw: Raw) -> Raw:
    """Return the schema of whole custom objects, as the server publishes it: with all metadata."""
    text: Raw = {"type": "string"}
    metadata = _expanded(Schema({"$ref": _METADATA}, Library(definitions())), ())
    fields = {name: _published(child) for name, child in raw.get("properties", {}).items()}
    return {"type": "object", "properties": {**fields, "apiVersion": text, "kind": text, "metadata": metadata}}


def _published(raw: Raw) -> Raw:
    if raw.get(_EMBEDDED):
        return _whole(raw)
    made = dict(raw)
    if fields := raw.get("properties"):
        made["properties"] = {name: _published(child) for name, child in fields.items()}
    for name in ("items", "additionalProperties"):
        if isinstance(raw.get(name), Mapping):
            made[name] = _published(raw[name])
    return made


def _expanded(schema: Schema, inside: tuple[str, ...]) -> Raw:
    """Return a schema without references; one that refers to itself has an object without fields there."""
    if schema.name:
        if schema.name in inside:
            return {"type": "object"}
        inside = (*inside, schema.name)
    if schema.format == "int-or-string":
        return {_INT_OR_STRING: True}
    made: dict[str, Any] = {"type": schema.type, "format": schema.format}
    if schema.properties:
        made["properties"] = {name: _expanded(child, inside) for name, child in schema.properties.items()}
    if schema.additional is not None:
        made["additionalProperties"] = _expanded(schema.additional, inside)
    if schema.items is not None:
        made["items"] = _expanded(schema.items, inside)
    return made
