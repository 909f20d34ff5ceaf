# SPDX-License-Identifier: Apache-2.0
"""The rights of a program, read from files of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from apimachinery.errors import UsageError
from controller_runtime.manifests.facts import WatchedCollection
from controller_runtime.rights import read

Rule = Mapping[str, Any]


@attrs.frozen
class Rights:
    """The RBAC rules of a program.

    Attributes:
        cluster: The rules that apply everywhere.
        namespaced: The rules by namespace; an empty name stands for the namespace in which the program runs.
    """

    cluster: Sequence[Rule] = ()
    namespaced: Mapping[str, Sequence[Rule]] = attrs.field(factory=dict)

    def allow(self, verb: str, watched: WatchedCollection, home: str) -> bool:
        """Return whether the rights allow a verb on a whole collection, for a program that runs in the namespace
        `home`.
        """
        rules = [*self.cluster]
        for namespace, more in self.namespaced.items():
            if watched.namespace and watched.namespace == (namespace or home):
                rules += more
        return any(
            _has(rule, "apiGroups", watched.group)
            and _has(rule, "resources", watched.plural)
            and _has(rule, "verbs", verb)
            and not rule.get("resourceNames")
            for rule in rules
        )


def _has(rule: Rule, field: str, value: str) -> bool:
    values = rule.get(field) or ()
    return value in values or "*" in values


def read_rights(files: Iterable[Path]) -> Rights:
    """Return the rules of all roles in YAML files, without duplicates.

    Raises:
        UsageError: A file cannot be read, has a role that aggregates others, or has objects other than roles, bindings,
            service accounts and namespaces; or no file has a role.
    """
    cluster: list[Rule] = []
    namespaced: dict[str, list[Rule]] = {}
    names = []
    for file in files:
        names.append(str(file))
        for role in read(file):
            if role.get("aggregationRule"):
                raise UsageError(f"{file}: {role['metadata']['name']} aggregates other roles: write its rules out")
            if role["kind"] == "ClusterRole":
                _add(cluster, role.get("rules") or ())
            else:
                _add(namespaced.setdefault(role["metadata"].get("namespace", ""), []), role.get("rules") or ())
    if not cluster and not namespaced:
        raise UsageError(f"{', '.join(names)} has no Role or ClusterRole: record one with `pytest --rbac-record FILE`")
    return Rights(cluster, dict(sorted(namespaced.items())))


def _add(rules: list[Rule], more: Iterable[Rule]) -> None:
    rules += [rule for rule in more if rule not in rules]


def require_watches(rights: Rights, watched: Iterable[WatchedCollection], home: str) -> None:
    """Check that the rights include `list` and `watch` of all collections that the program caches.

    Raises:
        UsageError: A right is missing, because the recorded rights are out of date; the message names each.
    """
    missing = [f"{verb} {each}" for each in watched for verb in ("list", "watch") if not rights.allow(verb, each, home)]
    if missing:
        raise UsageError(
            f"the rights lack {', '.join(missing)}, with which the program fills its caches: record them again with "
            "`pytest --rbac-record FILE`"
        )
