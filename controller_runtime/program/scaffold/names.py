# SPDX-License-Identifier: Apache-2.0
"""The names of a new operator, and the refusal of those that Kubernetes or Python would not take."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Iterable
from importlib import metadata

import attrs

from apimachinery.errors import UsageError
from apimachinery.names import label_errors, subdomain_errors
from controller_runtime.core.extras import EXTRAS

_OF_KUBERNETES = ("k8s.io", "kubernetes.io")
_OF_TOOLS = {
    "conftest": "which pytest imports by itself",
    "setup": "which setuptools runs",
    "test": "which hides a package of Python",
}


@attrs.frozen
class Names:
    """The names of a new operator and of its kind.

    Attributes:
        name: The operator's name, a DNS label: of its controller, its distribution and its image.
        kind: The kind of custom resources that the operator serves.
        group: The API group of the kind.
    """

    name: str
    kind: str
    group: str

    @property
    def module(self) -> str:
        """The name of the Python module: the operator's name with underscores instead of dashes."""
        return self.name.replace("-", "_")


def names_of(name: str, kind: str | None, group: str, taken: Iterable[str] = ()) -> Names:
    """Return the names of a new operator.

    Args:
        name: The operator's name.
        kind: The kind; None for the name in CamelCase.
        group: The API group.
        taken: Names that the module of the operator imports, which its classes must not have.

    Raises:
        UsageError: A name is invalid. The message has the remedy.
    """
    names = Names(name, kind or "".join(part.capitalize() for part in name.split("-")), group)
    problem = _name_problem(names) or _kind_problem(names.kind, taken) or _group_problem(group)
    if problem:
        raise UsageError(problem)
    return names


def _name_problem(names: Names) -> str:
    name, module = names.name, names.module
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:50].strip("-")
    if label_errors(name) or not name[0].isalpha():
        better = f", such as {slug}" if slug and slug != name else ""
        return f"name {name!r}: use at most 63 lower-case letters, digits and dashes, a letter first{better}"
    instead = f"choose another name, such as {slug}-operator"
    if keyword.iskeyword(module):
        return f"name {name!r} is a keyword of Python; {instead}"
    if module in _OF_TOOLS:
        return f"name {name!r} would make a file {module}.py, {_OF_TOOLS[module]}; {instead}"
    if module.startswith("test_"):
        return f"name {name!r} would make a file {module}.py, which pytest takes for tests; {instead}"
    if module in sys.stdlib_module_names:
        return f"name {name!r} would hide the module {module} of Python's library; {instead}"
    if module in {"controller_runtime", *EXTRAS, *metadata.packages_distributions()}:
        return f"name {name!r} would hide the installed package {module}; {instead}"
    return ""


def _kind_problem(kind: str, taken: Iterable[str]) -> str:
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]{0,57}", kind):  # its plural is a label of 63 letters at most
        return f"kind {kind!r}: use at most 58 letters and digits, an upper-case letter first; --kind names another"
    if keyword.iskeyword(kind) or hasattr(builtins, kind) or kind in taken:
        return f"kind {kind!r} is a name that the program needs itself; --kind names another, such as My{kind}"
    return ""


def _group_problem(group: str) -> str:
    if subdomain_errors(group) or "." not in group:
        return f"group {group!r}: use a domain in lower case with a dot, such as example.com"
    if any(group == reserved or group.endswith(f".{reserved}") for reserved in _OF_KUBERNETES):
        return f"group {group!r} is reserved for Kubernetes; use a domain of your own, such as example.com"
    return ""
