# SPDX-License-Identifier: Apache-2.0
"""Rules of the expressions in CEL that choose devices. The scheduler evaluates them; the server compiles them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from embedded_apiserver.causes import forbidden, invalid, required, too_long
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import NotCompiled, compiled
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.cel.library.quantities import Quantity
from embedded_apiserver.cel.types import ANY, BOOL, STRING, Field, map_of, object_of
from embedded_apiserver.checks.expressions import not_compiled
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_LONGEST, _DEAREST = 10 * 1024, 1_000_000
# The most characters of the names of drivers and domains, of identifiers, and of the values of attributes.
_DOMAIN, _IDENTIFIER, _VALUE = 63, 32, 64
_MOST = 32
"""The most attributes and capacities of a device."""


@functools.cache
def _environment() -> Environment:
    def named(value: types.Type) -> types.Type:
        return map_of(STRING.sized(_DOMAIN), map_of(STRING.sized(_IDENTIFIER), value, _MOST), _MOST)

    fields = {
        "driver": STRING.sized(_DOMAIN),
        "allowMultipleAllocations": BOOL.sized(1),
        "attributes": named(ANY.sized(_VALUE)),
        "capacity": named(Quantity.type),
    }
    device = object_of("kubernetes.DRADevice", {name: Field(of, name) for name, of in fields.items()})
    return Environment({"device": device}, LIBRARIES, binds=True)


def selector(given: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a device selector: its CEL expression must compile and stay within the cost
    limit.
    """
    if (cel := given.get("cel")) is None:
        yield required(f"{place}.cel")
        return
    text, field = cel.get("expression", ""), f"{place}.cel.expression"
    if len(text.encode()) > _LONGEST:
        yield too_long(field, _LONGEST)
        return
    try:
        program = compiled(text, _environment())
    except NotCompiled as error:
        yield not_compiled(field, text, error)
        return
    if program.type not in (BOOL, ANY):
        yield invalid(field, text, f"must evaluate to bool or the unknown type, not {program.type}")
    elif program.estimate().most > _DEAREST:
        yield forbidden(field, "too complex, exceeds cost limit")
