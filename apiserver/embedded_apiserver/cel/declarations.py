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
    """An argument of a call, for the static cost estimate.

    Attributes:
        type: The type of the argument.
        size: The range of the number of its elements, entries, characters or bytes; None if unknown.
        literal: The value of a literal; None for other arguments.
        path: The path of the argument in a variable, such as `("self", "spec", "@items")`; empty for a computed value.
    """

    type: Type
    size: Range | None
    literal: Value = None
    path: tuple[str, ...] = ()


class CallEstimate(NamedTuple):
    """The estimated cost of a call without the cost of its arguments, and the size of its result (None if unknown)."""

    cost: Range
    size: Range | None = None


@attrs.frozen
class Overload:
    """One signature of a CEL function.

    Attributes:
        id: The unique name of the signature.
        arguments: The types of the arguments; for a method, the first one is the receiver.
        result: The type of the result.
        call: The function that returns the result, or raises `EvaluationError`.
        member: True for a method.
        cost: A function that returns the runtime cost for the arguments and the result; None for a cost of 1.
        estimate: A function that returns the static estimate of a call without the cost of its arguments; None for a
            cost of 1.
        work: A function that counts the steps of a call beforehand; None to count the sizes of arguments that are
            texts, byte strings, lists or maps.
        metered: True if `call` counts further steps itself; its first argument is then the meter.
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
    """A CEL function and its overloads. If two libraries declare the same function, it has the overloads of both."""

    name: str
    overloads: tuple[Overload, ...]


@attrs.frozen
class Library:
    """A set of CEL functions, and of type names that expressions may use, such as `net.IP`."""

    functions: tuple[Function, ...] = ()
    types: Mapping[str, Type] = attrs.field(factory=dict)


class Environment:
    """The variables and functions that a CEL expression may use. Immutable.

    Args:
        variables: The types of the variables.
        libraries: Further functions, in addition to those of the language.
        structures: A function that returns the object type with a name, for expressions that construct objects; None if
            they cannot.
        homogeneous: True if the elements of a list literal must have one type, as must the keys of a map literal, and
            its values, as on a real API server.
        binds: True for the macro `cel.bind`, which names the value of a subexpression.

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
        """Return an environment in which these variables are added or replaced. It shares the functions."""
        made = Environment.__new__(Environment)
        made.variables = {**self.variables, **variables}
        made.structures, made.homogeneous, made.binds = self.structures, self.homogeneous, self.binds
        made.types, made._functions = self.types, self._functions
        return made
