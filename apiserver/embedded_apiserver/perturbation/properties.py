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
    """A property of a run: a CEL expression about a server's objects that is true or false.

    In the expression, the name of a kind, such as `Pod`, is the list of its objects. `object` and `oldObject` are the
    changed object and its former state, or null. `history` is the list of all changes so far, oldest first.

    Args:
        text: The expression.

    Attributes:
        text: The expression.
        kinds: The kinds that the expression names.

    Raises:
        ValueError: The text is not a CEL expression with a boolean result.

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
        """Return whether the property is true.

        Args:
            objects: All objects, by kind.
            old: The former state of the changed object; None if it was created.
            new: The current state of the changed object; None if it was deleted.
            history: All changes so far, oldest first.

        Raises:
            ValueError: The evaluation fails, for example because an object lacks a field.
        """
        bindings: dict[str, Any] = {kind: [*objects.get(kind, ())] for kind in self.kinds}
        bindings |= {"object": new, "oldObject": old, "history": [*history]}
        try:
            with Meter():
                return self._program.evaluate(bindings) is True
        except (EvaluationError, BudgetExceeded, OutOfSteps) as error:
            raise ValueError(str(error)) from None
