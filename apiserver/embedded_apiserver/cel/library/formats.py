# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' named formats: what is wrong with a name, a label, a URI and others."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Sequence
from datetime import date

import attrs

from apimachinery import names
from embedded_apiserver.cel import times, types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs, url_texts
from embedded_apiserver.cel.meter import Meter
from embedded_apiserver.cel.types import STRING, list_of, optional_of
from embedded_apiserver.cel.values import NONE, Opaque, Optional, Value

_FORMAT = types.opaque("kubernetes.NamedFormat")
_LONGEST_PATTERN = 128  # characters: the estimate's, for any format
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_DATE = len("2026-01-01")


@attrs.frozen
class Format(Opaque):
    """A named format, the value of the CEL type `kubernetes.NamedFormat`.

    Attributes:
        name: The name of the format.
        problems: A function that returns the errors of a text; an empty list if it is valid.
        pattern: The length of the format's regular expression, from which the cost of a check is computed.
    """

    type = _FORMAT
    name: str
    problems: Callable[[str], list[str]] = attrs.field(eq=False)
    pattern: int = attrs.field(eq=False)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the check of a text to which a server may add characters."""

    def problems(text: str) -> list[str]:
        return check(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)

    return problems


def _uri(text: str) -> list[str]:
    try:
        url_texts.requested(text)
    except url_texts.NoURL as error:
        return [str(error)]
    return []


def _simple(text: str, check: Callable[[str], bool]) -> Callable[[str], list[str]]:
    return lambda value: [] if check(value) else [text]


def _is_base64(text: str) -> bool:
    if not _BASE64.fullmatch(text):
        return False
    base64.b64decode(text)
    return True


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == _DATE


def _is_time(text: str) -> bool:
    try:
        times.timestamp(text.upper())
    except EvaluationError:
        return False
    return True


_TIME_PATTERN = 131
_FORMATS = {
    "dns1123Label": Format("DNS1123Label", names.label_errors, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.subdomain_errors, 60),
    "dns1035Label": Format("DNS1035Label", names.service_name_errors, 30),
    "qualifiedName": Format("QualifiedName", names.qualified_name_errors, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(names.label_errors), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(names.subdomain_errors), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(names.service_name_errors), 30),
    "labelValue": Format("LabelValue", names.label_value_errors, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _simple("does not match the UUID format", lambda text: bool(_UUID.fullmatch(text))), 68),
    "byte": Format("byte", _simple("invalid base64", _is_base64), 84),
    "date": Format("date", _simple("invalid date", _is_date), _TIME_PATTERN),
    "datetime": Format("datetime", _simple("invalid datetime", _is_time), _TIME_PATTERN),
}


def _validate(one: Format, text: str) -> Optional:
    problems = one.problems(text)
    return Optional(True, problems) if problems else NONE


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else Optional(True, found)


def _cost(arguments: Sequence[Value], _: Value) -> int:
    text = math.ceil((1 + len(arguments[1])) * costs.TRAVERSAL)
    one: Format = arguments[0]
    return text * math.ceil(one.pattern * costs.PATTERN)


def _reading(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the parts of a name, which may be texts of one character each."""
    meter.spend(10 * len(arguments[1]))


def _estimate(operands: Sequence[Operand]) -> CallEstimate:
    size = costs.sized(operands[1])
    return CallEstimate(size.scaled(costs.TRAVERSAL).scaled(_LONGEST_PATTERN * costs.PATTERN))


def _constant(made: Format) -> Callable[[], Format]:
    return lambda: made


FORMATS = Library(
    (
        Function(
            "validate",
            (
                Overload(
                    *("format-validate", (_FORMAT, STRING), optional_of(list_of(STRING)), _validate),
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    work=_reading,
                ),
            ),
        ),
        Function(
            "format.named",
            (
                Overload(
                    *("format-named", (STRING,), optional_of(_FORMAT), _named),
                    cost=costs.nominal,
                    estimate=costs.nominal_estimate,
                ),
            ),
        ),
        *(
            Function(f"format.{name}", (Overload(f"format.{name}", (), _FORMAT, _constant(made)),))
            for name, made in _FORMATS.items()
        ),
    )
)
"""The functions of formats."""
