# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions: refusals and warnings."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from kit.apiserver.asking import Asking, Object
from kit.apiserver.defining import (
    DEFINITIONS,
    GROUP,
    define,
    definition,
    structure,
    version,
)
from kit.contract.engines import WITH_RE2

NAME = f"widgets.{GROUP}"
ONE = f"{DEFINITIONS}/{NAME}"


def _listed(items: Object, _: int) -> Object:
    return {"type": "array", "items": items}


def causes(answer: tuple[int, Any]) -> list[str]:
    status, body = answer
    assert status == 422, body
    return [f"{cause['field']}: {cause['message']}" for cause in body["details"]["causes"]]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param(
            {**definition(), "metadata": {"name": "x"}},
            'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
            id="another name",
        ),
        pytest.param(
            definition(scope="World"),
            'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
            id="no scope",
        ),
        pytest.param(
            definition(group="demo"),
            'spec.group: Invalid value: "demo": should be a domain with at least one dot',
            id="a group without a dot",
        ),
        pytest.param(
            definition(group="demo.k8s.io"),
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
            'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
            id="a group of Kubernetes",
        ),
        pytest.param(
            definition(version("v1"), version("v2", storage=True)),
            'spec.versions: Invalid value: ["v1","v2"]: must have exactly one version marked as storage version',
            id="two storage versions",
        ),
        pytest.param(
            definition({"name": "v1", "served": True, "storage": True}),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            id="no schema",
        ),
        pytest.param(
            definition(version(schema=structure({"properties": {}}))),
            "spec.validation.openAPIV3Schema.properties[spec].type: Required value: "
            "must not be empty for specified object fields",
            id="a field without a type",
        ),
        pytest.param(
            definition(version(), version("v2", structure({"type": "array"}))),
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].items: Required value: must be specified",
            id="a list of nothing in one of several versions",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "array"}))),
            "spec.validation.openAPIV3Schema.properties[spec].items: Required value: must be specified",
            id="a list of nothing",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "integer", "default": "x"}))),
            "spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: "
            '"string":  in body must be of type integer: "string"',
            id="a default of another type",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"type": "string"}]}))),
            "spec.validation.openAPIV3Schema.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural",
            id="a type in a combination",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"$ref": "#/x"}]}))),
            "spec.validation.openAPIV3Schema.properties[spec].anyOf[0].$ref: Forbidden: $ref is not supported",
            id="a reference in a combination",
        ),
        pytest.param(
            definition(version(schema=structure({"type": "string", "anyOf": [{"pattern": "("}]}))),
            'spec.validation.openAPIV3Schema.properties[spec].anyOf[0].pattern: Invalid value: "(": '
            "must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            id="no pattern in a combination",
            marks=WITH_RE2,
        ),
        pytest.param(
            definition(version(schema=structure(functools.reduce(_listed, range(200), {"type": "string"})))),
            "spec.validation.openAPIV3Schema: Forbidden: must not be nested in more than 200 levels",
            id="a schema too deep",
        ),
        pytest.param(
            definition(version(additionalPrinterColumns=[{"name": "a", "type": "word", "jsonPath": "spec"}])),
            'spec.additionalPrinterColumns[0].type: Invalid value: "word": '
            "must be one of boolean,date,integer,number,string",
            id="a column of another type",
        ),
        pytest.param(
            definition(version(selectableFields=[{"jsonPath": ".spec"}])),
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, '
            "boolean or integer. Enum string fields and strings with formats are allowed.",
            id="an object that is selectable",
        ),
        pytest.param(
            definition(names={"kind": "Wi_dget"}),
            'spec.names.kind: Invalid value: "Wi_dget": may have mixed case, but should otherwise match: a DNS-1035 '
            "label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
            "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
            "'[a-z]([-a-z0-9]*[a-z0-9])?')",
            id="a kind that is no name",
        ),
    ],
)
def test_a_wrong_definition_is_refused_at_the_place_that_is_wrong(ask: Asking, wrong: Object, told: str) -> None:
    assert told in causes(ask("POST", DEFINITIONS, wrong))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"scope": "Cluster"}, 'spec.scope: Invalid value: "Cluster": field is immutable', id="scope"),
        pytest.param({"names": {"kind": "W"}}, 'spec.names.kind: Invalid value: "W": field is immutable', id="kind"),
        pytest.param({"group": "a.b"}, 'spec.group: Invalid value: "a.b": field is immutable', id="group"),
    ],
)
def test_an_established_kind_keeps_what_it_is(ask: Asking, change: Object, told: str) -> None:
    define(ask)

    assert told in causes(ask.patch(ONE, {"spec": change}))


def test_a_version_that_was_stored_has_to_stay(ask: Asking) -> None:
    define(ask)

    refused = causes(ask.patch(ONE, {"spec": {"versions": [version("v2", storage=True)]}}))

    assert refused[0].startswith('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was')


def test_what_this_server_leaves_out_it_says(ask: Asking) -> None:
    named = structure({"type": "string", "format": "gibberish"})

    by_format = ask.response("POST", DEFINITIONS, definition(version(schema=named)))
    again = ask.response("PUT", ONE, ask.ok("GET", ONE))

    assert by_format.headers["warning"] == '299 - "unrecognized format \\"gibberish\\""'
    assert "warning" not in again.headers


def test_a_warning_is_not_repeated_when_something_else_changes(ask: Asking) -> None:
    named = structure({"type": "string", "format": "gibberish"})
    define(ask, version(schema=named))
    other = {**ask.ok("GET", ONE)}
    other["spec"]["names"]["shortNames"] = ["wd"]

    assert "warning" not in ask.response("PUT", ONE, other).headers
