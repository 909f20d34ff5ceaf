# SPDX-License-Identifier: Apache-2.0
"""Perturbation of the clients of a server: one of them is ended at a write, or sees a resource late or never.

`triggers.py` describes when this happens, in terms that apply to every run; `plan_file.py` reads that from a file;
`server.py` is the server as the client sees it; `handler.py` carries out a plan with it; `properties.py` checks what
must be true meanwhile. `testing/perturbation` has the same parts.
"""

from embedded_apiserver.perturbation.gates import Gate
from embedded_apiserver.perturbation.names import Name, name_of
from embedded_apiserver.perturbation.past import Past
from embedded_apiserver.perturbation.plan_file import to_fields
from embedded_apiserver.perturbation.properties import Property
from embedded_apiserver.perturbation.server import Answer, PerturbedServer, Write, unheard
from embedded_apiserver.perturbation.triggers import UNREAD, AtChange, AtRest, AtWrite, Trigger, matches, write_of

__all__ = [
    "UNREAD",
    "Answer",
    "AtChange",
    "AtRest",
    "AtWrite",
    "Gate",
    "Name",
    "Past",
    "PerturbedServer",
    "Property",
    "Trigger",
    "Write",
    "matches",
    "name_of",
    "to_fields",
    "unheard",
    "write_of",
]
