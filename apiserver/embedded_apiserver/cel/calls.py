# SPDX-License-Identifier: Apache-2.0
"""Calls: by the one overload that the checker found, or by the values if types are known only then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embedded_apiserver.cel import types
from embedded_apiserver.cel.code import Code, Frame, constant
from embedded_apiserver.cel.declarations import Overload
from embedded_apiserver.cel.errors import EvaluationError, InstantiationError, no_such_overload
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.special_calls import SPECIAL, TRUSTING
from embedded_apiserver.cel.standard import STANDARD
from embedded_apiserver.cel.syntax import Call
from embedded_apiserver.cel.types import Kind, Type
from embedded_apiserver.cel.unification import is_dynamic
from embedded_apiserver.cel.values import (
    Duration,
    Opaque,
    Optional,
    Timestamp,
    Uint,
    Value,
    type_of,
)
from embedded_apiserver.cel.work import Work, free, work_of
from embedded_apiserver.patterns import NoPattern

_CLASSES: dict[Kind, type] = {
    Kind.BOOL: bool, Kind.BYTES: bytes, Kind.DOUBLE: float, Kind.INT: int, Kind.UINT: Uint, Kind.STRING: str,
    Kind.DURATION: Duration, Kind.TIMESTAMP: Timestamp, Kind.NULL: type(None), Kind.TYPE: Type,
}  # fmt: skip
_EXACT = frozenset(_CLASSES.values())
_FOLDED = frozenset({"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "uint"})
_ORDERED = (int, float, str, bytes, Duration, Timestamp)
_TAKES: dict[str, tuple[type, ...]] = {
    "_<_": _ORDERED, "_<=_": _ORDERED, "_>_": _ORDERED, "_>=_": _ORDERED,
    "_+_": (int, float, str, bytes, list, Duration, Timestamp), "_-_": (int, float, Duration, Timestamp),
    "_*_": (int, float), "_/_": (int, float), "_%_": (int,), "size": (str, bytes, list, dict),
}  # fmt: skip
"""The types that the first arguments of operators can have at all; the error of others names the operator."""
_SILENT = frozenset({"contains", "endsWith", "startsWith", "matches"})


def call(node: Call, operands: list[Code], *, is_unsure: bool = False) -> Code:
    """Return the compiled form of a call, given that of its operands.

    `is_unsure` is True if operands may have other types than the type checker found; see `makes_unsure`.
    """
    special = SPECIAL.get(node.function)
    if special is not None and not (is_unsure and special in TRUSTING):
        found = special(node, operands)
        if found is not None:
            return found
    is_known = len(node.overloads) == 1 and not is_unsure
    if is_known and not any(map(_needs_check, node.operands, node.overloads[0].arguments)):
        code = _direct(node.overloads[0], operands)
    else:
        # These are implemented by the types of their values: the checker's overload is not the only one.
        by_value = STANDARD[node.function] if is_unsure and node.function in _TAKES else node.overloads
        code = _dispatched(node, by_value, operands)
    return _folded(node, operands, code)


def makes_unsure(node: Call) -> bool:
    """Return whether the result of a call may have another type than the type checker found.

    A dynamic operand is assignable to every type, so the checker derives the type of the result from the other
    operands: in `dyn('a').orValue(1)` from 1, although the value is 'a'.
    """
    if is_dynamic(node.type) or not any(is_dynamic(operand.type) for operand in node.operands):
        return False
    return any(_has_parameter(overload.result) for overload in node.overloads)


def _has_parameter(of: Type) -> bool:
    return of.kind is Kind.PARAMETER or any(map(_has_parameter, of.parameters))


def _needs_check(operand: object, wanted: Type) -> bool:
    of = getattr(operand, "type", types.DYN)
    return (is_dynamic(of) or of.kind is Kind.NULL) and wanted.kind not in (Kind.DYN, Kind.PARAMETER)


def _folded(node: Call, operands: list[Code], code: Code) -> Code:
    """Return the value of a conversion of a literal, which a real API server computes once, too."""
    if node.function in _FOLDED and len(operands) == 1 and operands[0].literal:
        try:
            return constant(code.run(Frame({}, 0, 2**63, current_meter())))
        except EvaluationError as error:
            raise InstantiationError(str(error)) from None
    if node.function in ("find", "findAll") and len(operands) > 1 and operands[1].literal:
        try:
            current_meter().pattern(operands[1].value)
        except NoPattern as error:
            raise InstantiationError(str(error)) from None
    return code


def _direct(overload: Overload, operands: list[Code]) -> Code:
    function, cost = overload.call, sum(operand.cost for operand in operands)
    work = work_of(overload.work, overload.arguments)
    if overload.cost is not None or work not in (None, free):
        return Code(_counted(overload, operands, work or free), cost + (overload.cost is None))
    match operands:
        case [one]:
            read = one.run
            return Code(lambda frame: function(read(frame)), cost + 1)
        case [one, other] if other.literal:
            first, fixed = one.run, other.value
            return Code(lambda frame: function(first(frame), fixed), cost + 1)
        case [one, other]:
            first, second = one.run, other.run
            return Code(lambda frame: function(first(frame), second(frame)), cost + 1)
    reads = [operand.run for operand in operands]
    return Code(lambda frame: function(*[read(frame) for read in reads]), cost + 1)


def _counted(overload: Overload, operands: list[Code], work: Work) -> Callable[[Frame], Value]:
    """Return a call whose cost or steps depend on its values."""
    function, cost, reads = overload.call, overload.cost, [operand.run for operand in operands]
    is_metered = overload.metered

    def run(frame: Frame) -> Value:
        arguments = [read(frame) for read in reads]
        work(frame.meter, arguments)
        result = function(frame.meter, *arguments) if is_metered else function(*arguments)
        if cost is not None:
            frame.charge(cost(arguments, result))
        return result

    return run


def _dispatched(node: Call, overloads: Sequence[Overload], operands: list[Code]) -> Code:
    """Return a call that looks at its values for the overload to take; for scalars it is found once for their types."""
    reads = [operand.run for operand in operands]
    choices = [([_accepts(of) for of in overload.arguments], overload) for overload in overloads]
    found: dict[tuple[type, ...], Overload] = {}
    works = {overload.id: work_of(overload.work, overload.arguments) for overload in overloads}
    name = node.function

    def chosen(arguments: list[Value], kinds: tuple[type, ...]) -> Overload:
        for accepts, overload in choices:
            if all(accept(argument) for accept, argument in zip(accepts, arguments, strict=True)):
                if _EXACT.issuperset(kinds):
                    found[kinds] = overload
                return overload
        raise _unfit(name, arguments)

    def run(frame: Frame) -> Value:
        arguments = [read(frame) for read in reads]
        kinds = tuple(map(type, arguments))
        overload = found.get(kinds) or chosen(arguments, kinds)
        if (work := works[overload.id]) is not None:
            work(frame.meter, arguments)
        result = overload.call(frame.meter, *arguments) if overload.metered else overload.call(*arguments)
        frame.charge(1 if overload.cost is None else overload.cost(arguments, result))
        return result

    return Code(run, sum(operand.cost for operand in operands))


def _unfit(name: str, arguments: Sequence[Value]) -> EvaluationError:
    """Return the error of arguments that no overload takes; cel-go words it in three ways."""
    takes = _TAKES.get(name)
    if takes is not None:
        return no_such_overload("" if isinstance(arguments[0], takes) else name)
    if not name[:1].isalpha() or name in _SILENT:
        return no_such_overload()
    return no_such_overload(f"{name}({', '.join(runtime_name(type_of(argument)) for argument in arguments)})")


def runtime_name(of: Type) -> str:
    """Return the name of a type at run time, without its parameters."""
    return {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type"}.get(
        of.name, of.name
    )


def _accepts(of: Type) -> Callable[[Value], bool]:
    """Return whether a value can be an argument of a type."""
    wanted = _CLASSES.get(of.kind)
    if wanted is not None:
        exact = wanted
        return lambda value: type(value) is exact
    if of.kind is Kind.LIST:
        return lambda value: isinstance(value, list)
    if of.kind in (Kind.MAP, Kind.OBJECT):
        return lambda value: isinstance(value, dict)
    if of.kind is Kind.OPAQUE:
        if of.name != types.OPTIONAL_NAME:
            return lambda value: isinstance(value, Opaque) and value.type.name == of.name
        inner = _accepts(of.parameters[0])
        return lambda value: isinstance(value, Optional) and (not value.present or inner(value.value))
    return lambda value: True
