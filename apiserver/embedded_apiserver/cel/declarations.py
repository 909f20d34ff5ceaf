# SPDX-License-Identifier: Apache-2.0
"""Declared functions and variables: the environment that an expression is compiled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import attrs

from embedded_apiserver.cel.ranges import Range
from embedded_apiserver.cel.types import Type
from embedded_apiserver.cel.values import Value
from embedded_apiserver.cel.work import Work


class Operand(NamedTuple):
    """An argument of a call, as the static estimate sees it.

    Attributes:
        type: Its type.
        size: The elements, entries, characters or bytes that it has; None if nothing is known.
        literal: Its value, if it is a literal.
        path: Where it is in the variables, such as `("self", "spec", "@items")`; empty for a computed value.
    """

    type: Type
    size: Range | None
    literal: Value = None
    path: tuple[str, ...] = ()


class CallEstimate(NamedTuple):
    """The cost of a call without that of its arguments, and the size of its result, if that is known."""

    cost: Range
    size: Range | None = None


@attrs.frozen
class Overload:
    """One signature of a function.

    Attributes:
        id: The name of the signature, unlike any other's.
        arguments: The types of the arguments; of a method, the receiver is the first.
        result: The type of the result.
        call: Computes the result from the arguments; raises `EvaluationError`.
        member: Whether it is a method.
        cost: Returns the runtime cost from arguments and result; None costs 1.
        estimate: Returns the static estimate of a call, next to the cost of its arguments; None costs 1.
        work: Counts the steps of a call before it is made; None counts what texts, lists and maps have, if an argument
            is one of them.
        metered: Whether the call counts further steps itself; its first argument is then the meter.
    """

    id: str
    arguments: tuple[Type, ...]
    result: Type
    call: Callable[..., Value]
    member: bool = False
    cost: Callable[[Sequence[Value], Value], int] | None = None
    estimate: Callable[[Sequence[Operand]], CallEstimate | None] | None = None
    work: Work | None = None
    metered: bool = False


@attrs.frozen
class Function:
    """A function and its overloads; declared again in another library, it has the overloads of both."""

    name: str
    overloads: tuple[Overload, ...]


@attrs.frozen
class Library:
    """Functions, and names of types that expressions may use, such as `net.IP`."""

    functions: tuple[Function, ...] = ()
    types: Mapping[str, Type] = attrs.field(factory=dict)


class Environment:
    """The variables and functions that expressions may use; it never changes.

    Args:
        variables: The types of the variables.
        libraries: The functions, next to those of the language.
        structures: Finds an object type by its name, so that expressions can make its values; None if none can be made.
        homogeneous: Whether the elements of a list, and the keys and values of a map, must be of one type each; a real
            server wants them so.
        binds: Whether expressions may give a part of them a name, with the macro `cel.bind`.

    Threads: any.
    """

    def __init__(
        self,
        variables: Mapping[str, Type],
        libraries: Iterable[Library] = (),
        structures: Callable[[str], Type | None] | None = None,
        homogeneous: bool = True,
        binds: bool = False,
    ) -> None:
        self.variables = dict(variables)
        self.homogeneous, self.binds = homogeneous, binds
        self.structures = structures
        self.types: dict[str, Type] = {}
        self._functions: dict[str, tuple[Overload, ...]] = {}
        for library in libraries:
            self.types.update(library.types)
            for function in library.functions:
                known = self._functions.get(function.name, ())
                self._functions[function.name] = (*known, *function.overloads)

    def overloads(self, name: str) -> tuple[Overload, ...]:
        """Return the overloads of a function; empty if there is no such function."""
        return self._functions.get(name, ())

    def with_variables(self, variables: Mapping[str, Type]) -> Environment:
        """Return an environment with further variables, or other types of the same; it shares the functions."""
        made = Environment.__new__(Environment)
        made.variables = {**self.variables, **variables}
        made.structures, made.homogeneous, made.binds = self.structures, self.homogeneous, self.binds
        made.types, made._functions = self.types, self._functions
        return made
