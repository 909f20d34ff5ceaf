# SPDX-License-Identifier: Apache-2.0
"""Rules of expressions that webhooks and policies of admission have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import qualified_name_errors
from embedded_apiserver.causes import duplicate, invalid, required, too_many
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import NotCompiled, compiled
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.types import Type
from embedded_apiserver.checks.basic import each
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_MOST_CONDITIONS = 64


def expression(text: str, place: str, environment: Environment, *wanted: Type) -> Iterator[Cause]:
    """Return a validation error if a CEL expression does not compile, or its result has none of the types `wanted`."""
    try:
        compiled(text, environment, wanted)
    except NotCompiled as error:
        yield not_compiled(place, text, error)


def not_compiled(place: str, text: str, error: NotCompiled) -> Cause:
    """Return the validation error for a CEL expression that does not compile."""
    if error.is_internal:
        return Cause("InternalError", f"Internal error: {error}", place)
    return invalid(place, text, str(error))


def match_conditions(conditions: Sequence[Object], place: str, environment: Environment) -> Iterator[Cause]:
    """Return the validation errors of the match conditions of a webhook or policy."""
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(place, len(conditions), _MOST_CONDITIONS)
    seen = set()
    for index, condition in enumerate(conditions):
        field, name, text = f"{place}[{index}]", condition.get("name", ""), condition.get("expression", "")
        if not text.strip():
            yield required(f"{field}.expression")
        else:
            yield from expression(text, f"{field}.expression", environment, types.BOOL)
        if not name:
            yield required(f"{field}.name")
        elif name in seen:
            yield duplicate(f"{field}.name", name)
        else:
            seen.add(name)
            yield from each(qualified_name_errors, name, f"{field}.name")
