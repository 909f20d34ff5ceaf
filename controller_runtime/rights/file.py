# SPDX-License-Identifier: Apache-2.0
"""Files of rights: YAML documents that are roles, and possibly their bindings and service accounts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from apimachinery.errors import UsageError
from controller_runtime.rights.access import API_VERSION, BINDINGS, ROLES, Access, roles

_HEAD = "# Recorded by `pytest --rbac-record`. A record of an existing file replaces its rules and keeps the rest.\n"
_KINDS = (*ROLES, *BINDINGS, "ServiceAccount")

Object = Mapping[str, Any]


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the Roles and ClusterRoles in a YAML file, in its order.

    Raises:
        UsageError: The file cannot be read, is not YAML, or has objects other than roles, bindings and service
            accounts.
    """
    return [one for one in read_objects(path) if one["kind"] in ROLES]


def read_objects(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return all objects in a file of roles, bindings and service accounts.

    Raises:
        UsageError: The file cannot be read, or has other objects; see `read`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the rights of {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return _parsed(text, path)


def _parsed(text: str, path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    try:
        documents = [one for one in yaml.safe_load_all(text) if one is not None]
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"{path} is not YAML: {problem}") from error
    for document in documents:
        if problem := _problem(document):
            raise UsageError(f"{path} is not a file of rights: {problem}")
    return documents


def _problem(document: object) -> str:
    """Return why a document does not belong into a file of rights; empty if it does."""
    if not isinstance(document, dict):
        return f"it holds {document!r:.60}, which is not an object: give each document a kind, metadata and rules"
    kind = document.get("kind")
    if kind not in _KINDS:
        return f"it holds an object of the kind {kind}: only {', '.join(_KINDS)} belong there"
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return f"a {kind} has no metadata.name"
    name = metadata["name"]
    if kind in ("Role", "RoleBinding") and not metadata.get("namespace"):
        return f"the {kind} {name} has no metadata.namespace"
    if kind in BINDINGS and not {"kind", "name"} <= {*(document.get("roleRef") or ())}:
        return f"the {kind} {name} has no roleRef with a kind and a name"
    rules = document.get("rules") or []
    if kind in ROLES and not (isinstance(rules, list) and all(_is_rule(rule) for rule in rules)):
        return f"a rule of the {kind} {name} lacks verbs, or one of its fields is not a list of strings"
    return ""


def _is_rule(rule: object) -> bool:
    return (
        isinstance(rule, dict)
        and bool(rule.get("verbs"))
        and all(isinstance(values, list) and all(isinstance(each, str) for each in values) for values in rule.values())
    )


def write(path: str | os.PathLike[str], accesses: Iterable[Access], *, name: str = "") -> bool:
    """Write roles that grant exactly these accesses to a file; return True if the file has changed.

    The roles of a new file are called `name`, by default the name of the file without its suffix. In an existing file
    these parts are kept: the comment at the beginning, service accounts, and the names, labels, annotations and
    bindings of roles. A role without rules is removed with its bindings; a new one is bound to the accounts of the
    others, if those are bound.

    Raises:
        UsageError: The file exists and is not a file of rights, or cannot be written.
    """
    file = Path(path)
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        after = text_of(accesses, before, name=name or file.stem, path=path)
        if after != before:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(after, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        text = getattr(error, "strerror", None) or error
        raise UsageError(f"the rights cannot be written to {path}: {text}") from error
    return after != before


def text_of(
    accesses: Iterable[Access], before: str = "", *, name: str, path: str | os.PathLike[str] = "the file"
) -> str:
    """Return the text of a file of rights.

    Args:
        accesses: The accesses that its roles grant.
        before: The current text; empty for a new file.
        name: The name of the roles, unless `before` has roles.
        path: The name of the file, for error messages.

    Raises:
        UsageError: `before` is not a file of rights.
    """
    present = _parsed(before, path)
    name = next((one["metadata"]["name"] for one in present if one["kind"] in ROLES), name)
    merged = _merged(present, roles(accesses, name))
    documents = [yaml.dump(one, Dumper=_Dumper, sort_keys=False, width=1000) for one in merged]
    return (_head_of(before) or _HEAD) + "---\n".join(documents)


def _head_of(text: str) -> str:
    head = ""
    for line in text.splitlines(keepends=True):
        if not line.startswith("#"):
            break
        head += line
    return head


def _merged(present: list[dict[str, Any]], recorded: list[dict[str, Any]]) -> list[Object]:
    """Return the objects of a file with the recorded rules in its roles, as `write` says."""
    rest = {_place(role): role for role in recorded}
    subjects = next((one["subjects"] for one in present if one["kind"] in BINDINGS and one.get("subjects")), None)
    kept: list[Object] = []
    gone = set()
    for one in present:
        if one["kind"] not in ROLES:
            kept.append(one)
        elif (role := rest.pop(_place(one), None)) is not None:
            kept.append({**one, "rules": role["rules"]})
        else:
            gone.add((one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")))
    kept = [one for one in kept if one["kind"] not in BINDINGS or _reference(one) not in gone]
    for role in rest.values():
        kept += [role, _binding(role, subjects)] if subjects else [role]
    return kept


def _place(role: Object) -> tuple[str, str]:
    return role["kind"], role["metadata"].get("namespace", "")


def _reference(binding: Object) -> tuple[str, str, str]:
    kind = binding["roleRef"]["kind"]
    return kind, binding["roleRef"]["name"], binding["metadata"]["namespace"] if kind == "Role" else ""


def _binding(role: Object, subjects: object) -> Object:
    reference = {"apiGroup": API_VERSION.partition("/")[0], "kind": role["kind"], "name": role["metadata"]["name"]}
    return {
        "apiVersion": API_VERSION,
        "kind": f"{role['kind']}Binding",
        "metadata": dict(role["metadata"]),
        "roleRef": reference,
        "subjects": subjects,
    }


class _Dumper(yaml.SafeDumper):
    """Writes lists of strings in one line and others below their key, with two spaces before each item."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    is_flat = all(isinstance(value, str) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_flat)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = None if value and not value.startswith("*") else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(list, _list)
_Dumper.add_representer(str, _text)
