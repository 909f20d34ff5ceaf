# SPDX-License-Identifier: Apache-2.0
"""Relations of values that differ from run to run: two values that are equal in every unperturbed run, or in none."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import attrs

from controller_runtime.testing.perturbation.world import State, Values, values
from embedded_apiserver.perturbation import Name

RUNS = 8
"""The number of unperturbed runs that show relations and chance well enough; three are too few for values from a small
range, such as ports. A value with two equally likely states is the same in all of them with probability 1/128.
"""

_CHANCE = 0.02
"""The highest probability that independent values show a relation in all unperturbed runs for it to be believed."""

_MOST = 100
"""The most values among which relations are searched, because of the number of pairs."""

Place = tuple[Name, str]


@attrs.frozen
class Relation:
    """A relation of two values that differ from run to run.

    Attributes:
        one: The object and the path of one value.
        other: The object and the path of the other value.
        are_equal: True if the two are equal in each unperturbed run, False if they are equal in none.
    """

    one: Place
    other: Place
    are_equal: bool

    def __str__(self) -> str:
        one, other = (f"{name} {path}" for name, path in (self.one, self.other))
        if self.are_equal:
            return f"{one} and {other} differ here, and are equal in each calm run"
        return f"{one} and {other} are equal here, and in no calm run"


def related(calm: Sequence[State], varying: Values) -> list[Relation]:
    """Return the pairs of varying values that are equal in every unperturbed run, or in none.

    The latter are pairs of the same field in two objects of one kind. Pairs that may be so by chance are left out, and
    all pairs if there are more than `_MOST` values.

    Args:
        calm: The states of the unperturbed runs, each when nothing changed any more after the same steps.
        varying: The values in which these states differ.
    """
    runs = [_values(state, varying) for state in calm]
    places = sorted(set.intersection(*(set(each) for each in runs))) if runs else []
    return [*_relations(runs, places)] if len(places) <= _MOST else []


def broken(state: State, relations: Sequence[Relation]) -> list[Relation]:
    """Return the relations that do not hold in `state`; relations of values that are missing there are ignored."""
    if not relations:
        return []
    values = _values(state, frozenset(place for each in relations for place in (each.one, each.other)))
    return [
        each
        for each in relations
        if each.one in values and each.other in values
        if (values[each.one] == values[each.other]) is not each.are_equal
    ]


def _relations(runs: Sequence[Mapping[Place, Any]], places: Sequence[Place]) -> Iterator[Relation]:
    for one, other in combinations(places, 2):
        equal = sum(values[one] == values[other] for values in runs)
        chance = _chance_of_equal([values[one] for values in runs], [values[other] for values in runs])
        if equal == len(runs) and chance ** len(runs) <= _CHANCE:
            yield Relation(one, other, are_equal=True)
        are_alike = one[0].resource == other[0].resource and one[1] == other[1]
        if not equal and are_alike and (1 - chance) ** len(runs) <= _CHANCE:
            yield Relation(one, other, are_equal=False)


def _chance_of_equal(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return how often two values would be equal if neither depended on the other."""
    of_one, of_other = Counter(map(repr, one)), Counter(map(repr, other))
    return sum(count * of_other[value] for value, count in of_one.items()) / (len(one) * len(other))


def _values(state: State, varying: Values) -> dict[Place, Any]:
    return {
        (name, path): _decoded(name, path, value)
        for name, several in state.items()
        if len(several) == 1
        for path, value in values(several[0])
        if (name, path) in varying and isinstance(value, str | int)
    }


def _decoded(name: Name, path: str, value: Any) -> Any:
    """Return the content of a secret's value, which other objects have as it is."""
    if name.resource != "secrets" or not path.startswith("data."):
        return value
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError, TypeError):
        return value
