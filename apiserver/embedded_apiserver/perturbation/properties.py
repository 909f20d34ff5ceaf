# SPDX-License-Identifier: Apache-2.0
"""Properties of a run in CEL, the language of rules and policies, over the objects of a server and their history."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import NotCompiled, compiled
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import BudgetExceeded, EvaluationError
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.cel.meter import Meter, OutOfSteps

_KIND = re.compile(r"(?<![\w.])[A-Z]\w*")
_VARIABLES = {"object": types.DYN, "oldObject": types.DYN, "history": types.list_of(types.DYN)}
Objects = Sequence[Mapping[str, Any]]


class Property:
    """An expression that is true or false of a server's objects.

    Each kind that it names, such as `Pod`, is the list of the objects of that kind. `object` and `oldObject` are the
    object that has changed and its former state, null if there is none; `history` has all changes so far, the last
    one last.

    Args:
        text: The expression.

    Attributes:
        text: As given.
        kinds: The kinds that it reads.

    Raises:
        ValueError: It is not an expression, or none that is true or false.

    Threads: any.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        of_kind = types.list_of(types.DYN)
        environment = Environment({**_VARIABLES, **dict.fromkeys(_KIND.findall(text), of_kind)}, LIBRARIES)
        try:
            with Meter():
                self._program = compiled(text, environment, (types.BOOL,))
        except (NotCompiled, OutOfSteps) as error:
            raise ValueError(str(error)) from None
        self.kinds = frozenset(self._program.reads) - frozenset(_VARIABLES)

    def holds(self, objects: Mapping[str, Objects], old: Any, new: Any, history: Objects) -> bool:
        """Return whether it is true.

        Args:
            objects: All objects, by their kinds.
            old: The former state of the object that has changed; None if it was created.
            new: Its present state; None if it was deleted.
            history: All changes.

        Raises:
            ValueError: It cannot be evaluated, such as that of a field that an object has not.
        """
        bindings: dict[str, Any] = {kind: [*objects.get(kind, ())] for kind in self.kinds}
        bindings |= {"object": new, "oldObject": old, "history": [*history]}
        try:
            with Meter():
                return self._program.evaluate(bindings) is True
        except (EvaluationError, BudgetExceeded, OutOfSteps) as error:
            raise ValueError(str(error)) from None
