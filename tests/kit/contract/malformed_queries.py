# SPDX-License-Identifier: Apache-2.0
"""Makes malformed query parameters of lists and watches."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence

from kit.contract.malformed_bodies import TEXTS, cut, flipped

_LONG = "9" * 400
_NUMBERS = (
    "0",
    "-1",
    "1",
    "500",
    "007",
    "1e3",
    "1.5",
    "0x10",
    "NaN",
    " 1",
    "1_000",
    "\u0661",
    "9" * 19,
    _LONG,
    f"-{_LONG}",
)
_BOOLEANS = ("1", "true", "", "0", "False", "yes")
_TOKEN = '{"rv":1,"start":"default/a"}'
_FORGED = ('{"rv":-5,"start":""}', '{"rv":1e300,"start":"a"}', f'{{"rv":{_LONG},"start":"a"}}', "[" * 5000, "\0", "{}")
_LABELS = ("a", "b", "1", "/", " ", "=", "==", "!=", "!", ",", "(", ")", " in ", " notin ", ">", "<")
_FIELDS = ("metadata.name", "a", "spec.x", "status.phase", "..", "=", "==", "!=", ",", "\\")


def number(chance: random.Random) -> str:
    """Return a text for a number, valid or not."""
    return chance.choice((*_NUMBERS, "9" * 5000, chance.choice(TEXTS)))


def boolean(chance: random.Random) -> str:
    """Return a text for true or false, valid or not."""
    return chance.choice((*_BOOLEANS, chance.choice(TEXTS)))


def token(chance: random.Random) -> str:
    """Return a continue token that was cut, altered or forged."""
    good, forged = (base64.urlsafe_b64encode(one.encode()) for one in (_TOKEN, chance.choice(_FORGED)))
    return chance.choice((cut(chance, good), flipped(chance, good), forged)).decode("latin-1")


def version_match(chance: random.Random) -> str:
    """Return a value of `resourceVersionMatch`, valid or not."""
    return chance.choice(("Exact", "NotOlderThan", "exact", chance.choice(TEXTS)))


def label_selector(chance: random.Random) -> str:
    """Return pieces of a label selector in random order."""
    return "".join(chance.choices((*_LABELS, chance.choice(TEXTS)), k=chance.randrange(1, 12)))


def field_selector(chance: random.Random) -> str:
    """Return pieces of a field selector in random order."""
    return "".join(chance.choices((*_FIELDS, chance.choice(TEXTS)), k=chance.randrange(1, 8)))


def text(chance: random.Random) -> str:
    """Return any odd text."""
    return chance.choice(TEXTS)


_PARAMETERS = {
    "limit": number,
    "continue": token,
    "resourceVersion": number,
    "resourceVersionMatch": version_match,
    "labelSelector": label_selector,
    "fieldSelector": field_selector,
    "sendInitialEvents": boolean,
    "includeObject": text,
    "timeoutSeconds": number,
    "pretty": text,
}


def query(chance: random.Random, names: Sequence[str] = tuple(_PARAMETERS)) -> tuple[tuple[str, str], ...]:
    """Return a few parameters with these names, perhaps one of them twice."""
    chosen = chance.choices(names, k=chance.randrange(1, 4))
    return tuple((name, _PARAMETERS.get(name, number)(chance)) for name in chosen)
