# SPDX-License-Identifier: Apache-2.0
"""Requests that are made to be expensive, as large as the server accepts."""

from bombs import bodies, definitions, expressions, forms, most, objects, owners, patches, roles
from bombs.making import BOMBS, Bomb

__all__ = [
    "BOMBS",
    "Bomb",
    "bodies",
    "definitions",
    "expressions",
    "forms",
    "most",
    "objects",
    "owners",
    "patches",
    "roles",
]
