# SPDX-License-Identifier: Apache-2.0
"""Requests made to be expensive, as large as a server takes them."""

from bombs import bodies, definitions, forms, most, objects, owners, patches
from bombs.making import BOMBS, Bomb

__all__ = ["BOMBS", "Bomb", "bodies", "definitions", "forms", "most", "objects", "owners", "patches"]
