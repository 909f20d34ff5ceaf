# SPDX-License-Identifier: Apache-2.0
"""cel-go's functions of strings, in the second version of that library, which is Kubernetes'."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from embedded_apiserver.cel import types, work
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.library.formatting import formatted
from embedded_apiserver.cel.ranges import MOST, UNKNOWN, Range
from embedded_apiserver.cel.types import INT, STRING, Type, list_of
from embedded_apiserver.cel.values import Value

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = str.maketrans(
    {
        "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
        "\\": "\\\\", '"': '\\"',
    }
)  # fmt: skip
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_UPPER = str.maketrans({chr(code): chr(code - 32) for code in range(ord("a"), ord("z") + 1)})


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, wanted: str, start: int = 0) -> int:
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(wanted, start)


def _last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    if not wanted:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(wanted)
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(wanted, 0, start + len(wanted))


def _replaced(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most > len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]] if text else []


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start,) if end is None else (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _joined(words: list[Value], separator: str = "") -> str:
    for word in words:
        if not isinstance(word, str):
            raise EvaluationError(f"join: invalid input: {word}")
    return separator.join(words)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _making(_: Sequence[Value], result: Value) -> int:
    return math.ceil(costs.size_of(result) * 2 * costs.TRAVERSAL)


def _replace_estimate(operands: Sequence[Operand]) -> CallEstimate:
    text, old, new = (costs.sized(operand) for operand in operands[:3])
    most = least = 0
    kept_most = kept_least = 0
    if old.least == 0:  # an empty text is found around each character
        most, kept_most = min(text.most + 1, MOST), text.most
    elif new.most <= old.least:
        kept_most = text.most
    else:
        most = _divided(text.most, old.least)
    if old.most == 0:
        least, kept_least = min(text.least + 1, MOST), text.least
    elif old.most <= new.least:
        kept_least = text.least
    else:
        least = _divided(text.least, old.most)
    size = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallEstimate(text.scaled(2 * costs.TRAVERSAL), size)


def _divided(amount: int, by: int) -> int:
    quotient = float(amount) / float(by)
    return MOST if quotient >= MOST else math.ceil(quotient)


def _split_estimate(operands: Sequence[Operand]) -> CallEstimate:
    size = costs.sized(operands[0])
    most = size.most
    if len(operands) == 3 and type(operands[2].literal) is int:
        most = operands[2].literal % (MOST + 1)
    return CallEstimate(size.scaled(2 * costs.TRAVERSAL), Range(0, most))


def _join_estimate(operands: Sequence[Operand]) -> CallEstimate:
    words = costs.sized(operands[0])
    size = words.times(costs.element_size(operands[0]))
    if len(operands) == 2:
        between = Range(max(words.least - 1, 0), max(words.most - 1, 0))
        size = size.plus(costs.sized(operands[1]).times(between))
    return CallEstimate(size.scaled(costs.TRAVERSAL), size)


def _index_estimate(operands: Sequence[Operand]) -> CallEstimate:
    return CallEstimate((operands[0].size or UNKNOWN).scaled(costs.TRAVERSAL))


def _indexing(arguments: Sequence[Value], _: Value) -> int:
    return costs.traversal(arguments[0])


def _method(
    name: str,
    id_: str,
    arguments: tuple[Type, ...],
    result: Type,
    call: Callable[..., Value],
    cost: costs.Cost | None = None,
    estimate: costs.Estimate | None = None,
    count: work.Work | None = None,
) -> Function:
    return Function(
        name, (Overload(id_, arguments, result, call, member=True, cost=cost, estimate=estimate, work=count),)
    )


_READ = costs.read(), costs.read_estimate(is_result=True)
_CASE = *_READ, work.copying
_INDEX = _indexing, _index_estimate, work.searching
_LAST_INDEX = _indexing, _index_estimate, work.searching_backwards
_REPLACE = costs.read(2), _replace_estimate, work.replacing
_SPLIT = costs.read(2), _split_estimate, work.splitting
_JOIN = _making, _join_estimate, work.joining_words
_WORDS = list_of(STRING)
STRINGS = Library(
    (
        _method("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at, count=work.free),
        _method("indexOf", "string_index_of_string", (STRING, STRING), INT, _index_of, *_INDEX),
        _method("indexOf", "string_index_of_string_int", (STRING, STRING, INT), INT, _index_of, *_INDEX),
        _method("lastIndexOf", "string_last_index_of_string", (STRING, STRING), INT, _last_index_of, *_LAST_INDEX),
        _method(
            "lastIndexOf", "string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_of, *_LAST_INDEX
        ),
        _method("lowerAscii", "string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER), *_READ),
        _method("replace", "string_replace_string_string", (STRING, STRING, STRING), STRING, _replaced, *_REPLACE),
        _method(
            *(
                "replace",
                "string_replace_string_string_int",
                (STRING, STRING, STRING, INT),
                STRING,
                _replaced,
                *_REPLACE,
            )
        ),
        _method("split", "string_split_string", (STRING, STRING), _WORDS, _split, *_SPLIT),
        _method("split", "string_split_string_int", (STRING, STRING, INT), _WORDS, _split, *_SPLIT),
        _method("substring", "string_substring_int", (STRING, INT), STRING, _substring, *_CASE),
        _method("substring", "string_substring_int_int", (STRING, INT, INT), STRING, _substring, *_CASE),
        _method("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(_SPACES), *_CASE),
        _method("upperAscii", "string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER), *_READ),
        _method("format", "string_format", (STRING, list_of(types.DYN)), STRING, formatted, count=work.formatting),
        Function("strings.quote", (Overload("strings_quote", (STRING,), STRING, _quote),)),
        _method("join", "list_join", (_WORDS,), STRING, _joined, *_JOIN),
        _method("join", "list_join_string", (_WORDS, STRING), STRING, _joined, *_JOIN),
    )
)
"""The functions of strings."""
