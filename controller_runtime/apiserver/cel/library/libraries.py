# SPDX-License-Identifier: Apache-2.0
"""All libraries that rules of definitions may use, as in Kubernetes 1.36."""

from __future__ import annotations

from controller_runtime.apiserver.cel.library.addresses import ADDRESSES
from controller_runtime.apiserver.cel.library.authorization import AUTHORIZATION
from controller_runtime.apiserver.cel.library.formats import FORMATS
from controller_runtime.apiserver.cel.library.list_shapes import LIST_SHAPES
from controller_runtime.apiserver.cel.library.lists import LISTS
from controller_runtime.apiserver.cel.library.quantities import QUANTITIES
from controller_runtime.apiserver.cel.library.regexes import REGEXES
from controller_runtime.apiserver.cel.library.sets import SETS
from controller_runtime.apiserver.cel.library.strings import STRINGS
from controller_runtime.apiserver.cel.library.urls import URLS
from controller_runtime.apiserver.cel.library.versions import VERSIONS

LIBRARIES = (LISTS, LIST_SHAPES, REGEXES, URLS, AUTHORIZATION, QUANTITIES, STRINGS, SETS, ADDRESSES, FORMATS, VERSIONS)
"""The libraries. Mutating policies have that of `jsonpatch`, too."""
