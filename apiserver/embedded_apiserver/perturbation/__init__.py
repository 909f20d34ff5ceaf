# SPDX-License-Identifier: Apache-2.0
"""Perturbation of the clients of a server: one of them ends at a write, or sees a resource late or never.

`triggers.py` says when it happens, by what can be told in every run; `plan_file.py` reads that from a file;
`handler.py` does it between the clients and the server. `testing/perturbation` is built on the same parts.
"""

from embedded_apiserver.perturbation.gates import Gate, gated
from embedded_apiserver.perturbation.names import Name, name_of
from embedded_apiserver.perturbation.past import ANY_VERSION, NO_STREAMS, as_of
from embedded_apiserver.perturbation.plan_file import to_fields
from embedded_apiserver.perturbation.triggers import UNREAD, AtChange, AtRest, AtWrite, Trigger, matches, write_of

__all__ = [
    "ANY_VERSION",
    "NO_STREAMS",
    "UNREAD",
    "AtChange",
    "AtRest",
    "AtWrite",
    "Gate",
    "Name",
    "Trigger",
    "as_of",
    "gated",
    "matches",
    "name_of",
    "to_fields",
    "write_of",
]
