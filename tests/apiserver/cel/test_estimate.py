# SPDX-License-Identifier: Apache-2.0
"""The static estimate, whose numbers a real server (1.36.2) tells when it refuses a rule: as multiples of a limit."""

from __future__ import annotations

import pytest

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.program import compile_expression
from embedded_apiserver.cel.types import Field, Type

LIMIT = 10_000_000
ELEMENT = types.object_of(
    "element",
    {
        "k": Field(types.STRING.sized(120), "k"),
        "v": Field(types.INT, "v"),
        "t": Field(types.list_of(types.STRING.sized(80), 20), "t"),
    },
)
FIELDS: dict[str, Type] = {
    "n": types.INT,
    "s": types.STRING.sized(400_000),
    "l": types.list_of(types.STRING.sized(200), 2000),
    "k": types.list_of(types.INT, 3000),
    "m": types.map_of(types.STRING, types.STRING.sized(240), 2000),
    "o": types.list_of(ELEMENT, 1500),
}
SELF = types.object_of("self", {name: Field(of, name) for name, of in FIELDS.items()})
RECORDED = {
    "self.l.all(x, self.l.all(y, x == y))": 10.0,
    "self.k.all(x, self.k.all(y, x == y))": 4.5,
    "self.k.all(x, self.k.exists(y, x < y || y > 3))": 8.1,
    "self.l.all(x, self.l.exists(y, x.startsWith(y)))": 10.4,
    "self.m.all(k, self.m.all(j, self.m[k] == self.m[j]))": 14.0,
    "self.o.all(e, self.o.exists_one(f, f.k == e.k))": 4.1,
    "self.o.all(e, e.t.all(x, self.l.exists(y, x == y)))": 84.0,
    "self.l.map(x, x + 'abc').all(z, self.k.all(y, z.size() > y))": 4.2,
    "self.l.filter(x, x.size() > 2).all(z, self.l.all(y, y != z))": 2.0,
    "self.k.all(i, self.k.all(j, has(self.n) ? i > j : i + j > self.n))": 9.0,
    "self.l.all(i, x, self.l.all(j, y, i == j || x != y))": 11.2,
    "self.m.transformList(k, v, k + v).all(x, self.l.all(y, x.endsWith(y)))": 10.0,
    "self.k.all(i, self.k.all(j, [i, j, 3].exists(q, q == i)))": 30.6,
    "self.k.all(i, self.k.all(j, {'a': i}.a == j))": 32.4,
    "self.k.all(i, self.k.all(j, self.?n.orValue(i) > j))": 8.1,
    "self.l.all(x, self.k.all(j, (x + x + x).size() > j))": 65.4,
    "self.k.all(i, self.l.all(x, (i > 2 ? x : x + 'y').startsWith('abc')))": 16.8,
    "self.k.all(i, self.k.all(j, dyn(i) == dyn(j)))": 6.3,
    "self.l.all(x, self.l.all(y, bytes(x).size() == string(bytes(y)).size()))": 51.2,
    "self.o.all(e, self.o.all(f, e == f))": 1.1259,
    "self.o.all(e, self.o.all(f, e.t == f.t))": 2.0,
    "self.k.all(i, self.l.transformMap(j, v, v + 'x').all(k, q, q.contains('abcdefghijklmno')))": 17.4,
    "self.k.all(i, self.k.all(j, self.l[0] == self.l[j]))": 27.0,
    "self.k.all(i, self.k.all(j, self.l[?0].orValue('a') == 'abcdefghijklmno'))": 8.1,
}


@pytest.mark.parametrize("rule", RECORDED)
def test_estimates_are_those_of_a_real_server(rule: str) -> None:
    program = compile_expression(rule, Environment({"self": SELF}))
    assert program.estimate().most / LIMIT == pytest.approx(RECORDED[rule], abs=0.051)


@pytest.mark.parametrize("rule", ["self.l.all(x, self.l.all(y, type(x) == type(y)))", "self.s.matches(self.s + 'a')"])
def test_estimates_of_sizes_that_nobody_knows_are_beyond_every_limit(rule: str) -> None:
    assert compile_expression(rule, Environment({"self": SELF})).estimate().most > 100 * LIMIT
