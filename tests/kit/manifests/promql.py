# SPDX-License-Identifier: Apache-2.0
"""A reader of Prometheus' expressions, as far as our dashboard and alerts use them; anything else is an error.

It finds which metrics and labels an expression names, and which labels its result can still have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TOKEN = re.compile(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<word>[a-zA-Z_:][\w:]*)|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<range>\[(?:\d+[smhd]|\$__rate_interval)\])|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/<>={}(),]))"
)
AGGREGATIONS = {"sum", "max", "min", "avg", "count"}
FUNCTIONS = {"rate": "range", "increase": "range", "absent": "vector"}
OPERATORS = {"+", "-", "*", "/", ">", "<", ">=", "<=", "==", "!="}

Labels = frozenset[str]


class NotAnExpression(Exception):
    """The text is no expression, or names a metric or a label that there is not."""


class Reader:
    """Reads one expression.

    Args:
        text: The expression.
        metrics: The labels of each series, with the suffixes that a scrape has.
    """

    def __init__(self, text: str, metrics: Mapping[str, Labels]) -> None:
        self._metrics = metrics
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            found = TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise NotAnExpression(f"{text[place:]!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()
        self.used: set[str] = set()

    def read(self) -> Labels:
        """Return the labels of the result."""
        labels = self._operation()
        if self._tokens:
            raise NotAnExpression(f"after the end: {self._tokens[0][1]}")
        return labels

    def _next(self, wanted: str = "") -> tuple[str, str]:
        if not self._tokens or (wanted and self._tokens[0][1] != wanted):
            raise NotAnExpression(f"{wanted or 'more'} is missing")
        return self._tokens.pop(0)

    def _sees(self, *wanted: str) -> bool:
        return bool(self._tokens) and self._tokens[0][1] in wanted

    def _operation(self) -> Labels:
        labels = self._operand()
        while self._sees(*OPERATORS):
            self._next()
            is_number = bool(self._tokens) and self._tokens[0][0] == "number"
            other = self._operand()
            if not is_number and other != labels:
                raise NotAnExpression(f"sides with other labels never match: {sorted(labels)}, {sorted(other)}")
        return labels

    def _operand(self) -> Labels:
        kind, text = self._next()
        if kind == "number":
            return frozenset()
        if kind != "word":
            raise NotAnExpression(f"{text} is no operand")
        if text in AGGREGATIONS:
            return self._aggregation()
        if text == "histogram_quantile":
            return self._quantile()
        if text in FUNCTIONS:
            self._next("(")
            inner = (
                self._selector(self._next()[1], FUNCTIONS[text]) if FUNCTIONS[text] == "range" else self._operation()
            )
            self._next(")")
            return inner
        return self._selector(text, "vector")

    def _aggregation(self) -> Labels:
        self._next("by")
        by = self._names()
        self._next("(")
        inner = self._operation()
        self._next(")")
        if not by <= inner:
            raise NotAnExpression(f"{sorted(by - inner)} are no labels of what is aggregated")
        return by

    def _quantile(self) -> Labels:
        self._next("(")
        self._next()
        self._next(",")
        inner = self._operation()
        self._next(")")
        if "le" not in inner:
            raise NotAnExpression("a quantile needs the label le")
        return inner - {"le"}

    def _selector(self, metric: str, kind: str) -> Labels:
        if metric not in self._metrics:
            raise NotAnExpression(f"there is no metric {metric}")
        self.used.add(metric)
        labels = self._metrics[metric]
        if self._sees("{"):
            self._next()
            while not self._sees("}"):
                name = self._next()[1]
                if name not in labels:
                    raise NotAnExpression(f"{metric} has no label {name}")
                if self._next()[1] not in ("=", "!=", "=~", "!~") or self._next()[0] != "string":
                    raise NotAnExpression(f"a matcher of {name} is malformed")
                if self._sees(","):
                    self._next()
            self._next("}")
        has_range = bool(self._tokens) and self._tokens[0][0] == "range"
        if has_range != (kind == "range"):
            raise NotAnExpression(f"{metric}: a {kind} is wanted")
        if has_range:
            self._next()
        return labels

    def _names(self) -> Labels:
        self._next("(")
        names = set()
        while not self._sees(")"):
            names.add(self._next()[1])
            if self._sees(","):
                self._next()
        self._next(")")
        return frozenset(names)
