# SPDX-License-Identifier: Apache-2.0
"""Finds out which objects of two runs are the same although the program gave them names with a random part or a
hash.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from embedded_apiserver.perturbation import Name

Kin = frozenset[tuple[str, str]]
"""The owners (kind and name) and the labels (key and value) of an object."""

Born = Mapping[Name, Kin]
"""The objects that were created in a run, each with its owners and labels."""

ANY = "*"
_DIVIDED = re.compile(r"([-.:])")
_Group = tuple[str, str, Kin]
_Parts = tuple[str, ...]


@attrs.frozen
class Pattern:
    """The name of an object that is the same in every run except for some parts, which are random or a hash.

    Attributes:
        group: The collection, the namespace, and the owners and labels, without values that differ between runs.
        parts: The parts of the name; `*` for each part that differs.
        lengths: The shortest and the longest length of each part that differs, in order.
    """

    group: _Group
    parts: _Parts
    lengths: Sequence[tuple[int, int]]

    @property
    def name(self) -> Name:
        """The name with `*` for each part that differs, used for the object of every run."""
        resource, namespace, _ = self.group
        text = "".join(self.parts)
        return Name(resource, f"{namespace}/{text}" if namespace else text)

    def has(self, group: _Group, parts: _Parts) -> bool:
        """Return whether an object matches: equal parts are equal, and each other part has half to double the known
        length.

        Args:
            group: The collection, the namespace, and the owners and labels of the object.
            parts: The parts of its name.
        """
        if group != self.group or len(parts) != len(self.parts):
            return False
        open_parts = [part for kept, part in zip(self.parts, parts, strict=True) if kept == ANY]
        return all(kept in (ANY, part) for kept, part in zip(self.parts, parts, strict=True)) and all(
            shortest <= 2 * len(part) and len(part) <= 2 * longest
            for part, (shortest, longest) in zip(open_parts, self.lengths, strict=True)
        )


@attrs.frozen
class Naming:
    """Translates the names of one run to names that are the same in every run of a test.

    Attributes:
        steady: The names that occurred in all unperturbed runs.
        kin: The owners and labels that occurred in all unperturbed runs.
        patterns: The patterns of names that differ.
        chance: The names without a pattern that occurred in some unperturbed runs only.
        loose: The collections and namespaces in which a name occurred in one such run only, without a pattern.
    """

    steady: frozenset[Name] = frozenset()
    kin: Kin = frozenset()
    patterns: Sequence[Pattern] = ()
    chance: frozenset[Name] = frozenset()
    loose: frozenset[tuple[str, str]] = frozenset()

    @property
    def has_unpaired(self) -> bool:
        """True if some objects cannot be compared."""
        return bool(self.chance or self.loose)

    def names(self, born: Born) -> dict[Name, Name]:
        """Return the common names of the objects of one run, by their names in the run; equal names are left out."""
        if not self.patterns:
            return {}
        namespaces = {each.key: found.key for each in born if (found := self._found(each, born, {})) != each}
        named = {each: self._found(each, born, namespaces) for each in born}
        return {each: found for each, found in named.items() if found != each}

    def judges(self, name: Name) -> bool:
        """Return whether an object can be compared with the same object of another run."""
        if name in self.steady or any(name == pattern.name for pattern in self.patterns):
            return True
        return name not in self.chance and _place(name) not in self.loose

    def _found(self, name: Name, born: Born, namespaces: Mapping[str, str]) -> Name:
        name = _moved(name, namespaces)
        if name in self.steady:
            return name
        group, parts = _group(name, born.get(name, frozenset()), self.kin), _parts(name)
        return next((each.name for each in self.patterns if each.has(group, parts)), name)


def learn(runs: Sequence[Born]) -> Naming:
    """Find the names that are the same in all unperturbed runs of one test, and the patterns of the others.

    Objects that are not in all runs are grouped by collection, namespace, owner and labels. Their names are split at
    `-`, `.` and `:`, and the parts that have the same text at the same position in each run are kept. A name of these
    parts, with `*` for the others, is a pattern if each run has an object for it.
    """
    namespaces = _learn([{name: kin for name, kin in each.items() if name.resource == "namespaces"} for each in runs])
    moved = []
    for born in runs:
        names = {name.key: found.key for name, found in namespaces.names(born).items()}
        moved.append({_moved(name, names): kin for name, kin in born.items() if name.resource != "namespaces"})
    others = _learn(moved)
    return Naming(
        namespaces.steady | others.steady,
        namespaces.kin | others.kin,
        [*namespaces.patterns, *others.patterns],
        namespaces.chance | others.chance,
        namespaces.loose | others.loose,
    )


def _learn(runs: Sequence[Born]) -> Naming:
    steady = frozenset.intersection(*(frozenset(born) for born in runs))
    kin = frozenset.intersection(*(frozenset(each for of in born.values() for each in of) for born in runs))
    groups: defaultdict[_Group, list[list[_Parts]]] = defaultdict(lambda: [[] for _ in runs])
    for number, born in enumerate(runs):
        for name, of in born.items():
            if name not in steady:
                groups[_group(name, of, kin)][number].append(_parts(name))
    patterns = [each for group, found in groups.items() for each in _patterns(group, found)]
    unpaired = [
        (name, sum(name in born for born in runs))
        for name, of in {name: of for born in runs for name, of in born.items()}.items()
        if name not in steady and not any(each.has(_group(name, of, kin), _parts(name)) for each in patterns)
    ]
    loose = frozenset(_place(name) for name, count in unpaired if count == 1)
    return Naming(steady, kin, patterns, frozenset(name for name, _ in unpaired), loose)


def _patterns(group: _Group, runs: Sequence[Sequence[_Parts]]) -> Iterable[Pattern]:
    """Return the patterns that each run has a name of, those with the most parts kept first."""
    places = [{(len(parts), at, part) for parts in names for at, part in enumerate(parts)} for names in runs]
    shared = set.intersection(*places)
    found: list[dict[_Parts, list[_Parts]]] = []
    for names in runs:
        of_run: dict[_Parts, list[_Parts]] = {}
        for parts in names:
            kept = tuple(part if (len(parts), at, part) in shared else ANY for at, part in enumerate(parts))
            of_run.setdefault(kept, []).append(parts)
        found.append(of_run)
    common = [kept for kept in found[0] if all(kept in of_run for of_run in found) and ANY in kept]
    for kept in sorted(common, key=lambda each: each.count(ANY)):
        alike = [parts for of_run in found for parts in of_run[kept]]
        sizes = [[len(parts[at]) for parts in alike] for at, part in enumerate(kept) if part == ANY]
        yield Pattern(group, kept, tuple((min(each), max(each)) for each in sizes))


def _group(name: Name, of: Kin, steady: Kin) -> _Group:
    return (*_place(name), frozenset((what, value if (what, value) in steady else ANY) for what, value in of))


def _place(name: Name) -> tuple[str, str]:
    return name.resource, name.key.rpartition("/")[0]


def _parts(name: Name) -> _Parts:
    return tuple(_DIVIDED.split(name.key.rpartition("/")[2]))


def _moved(name: Name, namespaces: Mapping[str, str]) -> Name:
    namespace, slash, text = name.key.rpartition("/")
    return Name(name.resource, f"{namespaces.get(namespace, namespace)}{slash}{text}") if namespaces else name
