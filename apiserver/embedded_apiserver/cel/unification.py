# SPDX-License-Identifier: Apache-2.0
"""The types that are assignable to others, and the types for which the type parameters of overloads stand.

`dyn` fits everything, in both directions; null fits what an object of protobuf could be. As in cel-go, a parameter that
stood for `int` stands for `dyn` once it met `dyn`, and the result of the call is then `dyn`, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from embedded_apiserver.cel.types import DYN, Kind, Type

_NULLABLE = frozenset({Kind.OPAQUE, Kind.OBJECT, Kind.DURATION, Kind.TIMESTAMP})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Substitutions:
    """The types that replace the type parameters of overloads.

    Threads: one at a time.
    """

    def __init__(self) -> None:
        self._found: dict[str, Type] = {}

    def assigns(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        """Return whether each source type is assignable to its target type.

        Type parameters are bound only if all types are assignable.
        """
        before = dict(self._found)
        if len(targets) == len(sources) and all(map(self._fits, targets, sources)):
            return True
        self._found = before
        return False

    def applied(self, of: Type, free: Type | None = None) -> Type:
        """Return a type with its parameters replaced by their types. Unbound ones are replaced by `free`, or stay if it
        is None.
        """
        if of.kind is Kind.PARAMETER:
            found = self._found.get(of.name)
            if found is not None:
                return self.applied(found, free)
            return of if free is None else free
        if not of.parameters:
            return of
        parameters = tuple([self.applied(parameter, free) for parameter in of.parameters])
        return of if parameters == of.parameters else attrs.evolve(of, parameters=parameters)

    def _fits(self, one: Type, other: Type) -> bool:
        if other.kind is Kind.PARAMETER:
            fits, bound = self._stands(one, other)
            if fits or bound:
                return fits
        if one.kind is Kind.PARAMETER:
            return self._stands(other, one)[0]
        if is_dynamic(one) or is_dynamic(other):
            return True
        if one.kind is Kind.NULL or other.kind is Kind.NULL:
            against = other if one.kind is Kind.NULL else one
            return against.kind in _NULLABLE or against.kind is Kind.NULL
        if one.kind in _COMPOSED:
            same = one.kind is other.kind and one.name == other.name and len(one.parameters) == len(other.parameters)
            return same and all(map(self._fits, one.parameters, other.parameters))
        return one.kind is other.kind and (one.kind is Kind.TYPE or one == other)

    def _stands(self, of: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a parameter can stand for a type, and whether it stood for one before."""
        if of == parameter:
            return True, True
        bound = self._found.get(parameter.name)
        if bound is not None:
            if of == bound:
                return True, True
            if not self._fits(of, bound):
                return False, True
            general = most_general(of, bound)
            if not self._contains(general, parameter):
                self._found[parameter.name] = general
            return True, True
        if self._contains(of, parameter):
            return False, False
        self._found[parameter.name] = of
        return True, False

    def _contains(self, within: Type, parameter: Type) -> bool:
        if within == parameter:
            return True
        if within.kind is Kind.PARAMETER:
            bound = self._found.get(within.name)
            return bound is not None and self._contains(bound, parameter)
        return any(self._contains(part, parameter) for part in within.parameters)


def is_dynamic(of: Type) -> bool:
    """Return whether a type is known only at evaluation, or is the type of a subexpression with an error."""
    return of.kind in (Kind.DYN, Kind.ERROR)


def most_general(one: Type, other: Type) -> Type:
    """Return the less specific one of two types that are assignable to each other."""
    return one if _is_less_specific(one, other) else other


def _is_less_specific(one: Type, other: Type) -> bool:
    if one.kind is Kind.DYN or one.kind is Kind.PARAMETER:
        return True
    if other.kind is Kind.DYN or other.kind is Kind.PARAMETER or one.kind is not other.kind:
        return False
    if one.kind in _COMPOSED:
        same = one.name == other.name and len(one.parameters) == len(other.parameters)
        return same and all(map(_is_less_specific, one.parameters, other.parameters))
    return one.kind is Kind.TYPE or one == other


def with_fresh_parameters(overload: Sequence[Type], number: int) -> list[Type]:
    """Return the types of an overload with type parameters renamed by `number`, so that they are unique to a call."""
    return [_renamed(of, number) for of in overload]


def _renamed(of: Type, number: int) -> Type:
    if of.kind is Kind.PARAMETER:
        return Type(Kind.PARAMETER, f"{of.name}#{number}")
    if not of.parameters:
        return of
    return attrs.evolve(of, parameters=tuple([_renamed(parameter, number) for parameter in of.parameters]))


FREE = DYN
"""The type of a parameter that nothing has bound."""
