# SPDX-License-Identifier: Apache-2.0
"""All libraries that rules of definitions may use, as in Kubernetes 1.36."""

from __future__ import annotations

from embedded_apiserver.cel.library.addresses import ADDRESSES
from embedded_apiserver.cel.library.authorization import AUTHORIZATION
from embedded_apiserver.cel.library.formats import FORMATS
from embedded_apiserver.cel.library.list_shapes import LIST_SHAPES
from embedded_apiserver.cel.library.lists import LISTS
from embedded_apiserver.cel.library.quantities import QUANTITIES
from embedded_apiserver.cel.library.regexes import REGEXES
from embedded_apiserver.cel.library.sets import SETS
from embedded_apiserver.cel.library.strings import STRINGS
from embedded_apiserver.cel.library.urls import URLS
from embedded_apiserver.cel.library.versions import VERSIONS

LIBRARIES = (LISTS, LIST_SHAPES, REGEXES, URLS, AUTHORIZATION, QUANTITIES, STRINGS, SETS, ADDRESSES, FORMATS, VERSIONS)
"""The libraries. Mutating policies have that of `jsonpatch`, too."""
