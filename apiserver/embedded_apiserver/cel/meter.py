# SPDX-License-Identifier: Apache-2.0
"""The count of the steps that expressions take, before they take them.

Clients see the costs of a real API server, which are counted after a call and for each policy or rule only. So they
bound neither the time nor the memory of one request; this count does both, next to them.
"""

from __future__ import annotations

import contextvars

from embedded_apiserver.cel.values import Lists, Value
from embedded_apiserver.patterns import AnyPattern, compiled, steps_to_compile

MOST_STEPS = 2_000_000
"""Steps that the expressions of one request may take by default.

A step takes at most 0.2 µs of CPU, or makes at most 8 bytes. So 2,000,000 take at most 0.4 s, or 16 MB.
"""


_VISIT = 3  # steps to look at a value here, and where it is used
_INSTRUCTION = 25  # steps to compile an instruction of a pattern, up to 4 µs
_UNBOUNDED = 1 << 62
_current: contextvars.ContextVar[Meter | None] = contextvars.ContextVar("meter of expressions", default=None)


class OutOfSteps(Exception):
    """The CEL expressions of a request would exceed their maximum number of steps.

    Neither an operator nor a policy's `failurePolicy` ignores this error.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"limit is {most} steps of expressions in one request; --most-expression-steps changes it")


class Meter:
    """Counts the steps of all CEL expressions of one request; inside its `with` block it is the thread's
    `current_meter`.

    Args:
        most: The maximum number of steps; a step beyond it raises `OutOfSteps`.

    Threads: one.
    """

    __slots__ = ("_left", "_most", "_patterns", "_token")

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._left = self._most = most
        self._patterns: dict[str, AnyPattern] = {}

    # Not a generator, which would cost several times as much at each request.
    def __enter__(self) -> None:
        self._token = _current.set(self)

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)

    def spend(self, steps: int) -> None:
        """Count steps before they are taken.

        Raises:
            OutOfSteps: The maximum is exceeded.
        """
        self._left -= steps
        if self._left < 0:
            raise OutOfSteps(self._most)

    def pattern(self, text: str) -> AnyPattern:
        """Return a compiled regular expression. Its compilation is counted only once for a request.

        Raises:
            NoPattern: The text is not a regular expression.
            OutOfSteps: The maximum is exceeded.
        """
        made = self._patterns.get(text)
        if made is None:
            self.spend(steps_to_compile(text))
            made = self._patterns[text] = compiled(text)
            self.spend(_INSTRUCTION * made.size)
        return made

    def walk(self, *values: Value, times: int = 1) -> None:
        """Count the steps of reading values with everything nested in them.

        A list that occurs twice is counted twice, because it is also read twice.

        Args:
            values: The values.
            times: The number of times that the values are read.

        Raises:
            OutOfSteps: The maximum is exceeded; the count stopped there.
        """
        pending = [(value, _VISIT * times) for value in values]
        while pending:
            value, steps = pending.pop()
            self.spend(steps)
            if isinstance(value, (str, bytes)):
                self.spend(len(value) // 8 * times)
            elif isinstance(value, dict):
                self.spend(len(value))
                pending += [(part, steps) for item in value.items() for part in item]
            elif isinstance(value, list):
                self.spend(len(value))
                # In a list that stands for a set, each element is compared with each.
                steps *= max(len(value), 1) if isinstance(value, Lists) and value.is_pairwise else 1
                pending += [(part, steps) for part in value]


def current_meter() -> Meter:
    """Return the meter of the request on this thread; a new one outside of requests."""
    return _current.get() or Meter()


def compiled_again() -> Meter:
    """Return a context manager inside which the steps of compilation are not limited.

    They were counted in the request that stored the expressions. A later request that needs them must not be charged.
    """
    return Meter(_UNBOUNDED)
