# SPDX-License-Identifier: Apache-2.0
"""Converts OpenAPI v3 to v2, which kubectl before 1.27 and many older clients need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_apiserver.discovery.operations import REF

_REF = "#/definitions/"
_PARAMETER = "#/parameters/"
# Parameters that are not shared: kubectl looks for the first two in the operation itself, and the description of the
# third contains the kind.
_INLINE = ("dryRun", "fieldValidation", "name")
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")

Raw = Mapping[str, Any]


def swagger_definition(raw: Raw) -> dict[str, Any]:
    """Return a definition converted to OpenAPI v2: without defaults, as in a real API server, and without `allOf`
    around references.
    """
    made: dict[str, Any] = {}
    for name, value in raw.items():
        if name == "allOf":
            made["$ref"] = _reference(value[0])
        elif name == "$ref":
            made[name] = _reference(raw)
        elif name == "oneOf":
            made["type"] = "string"
        elif name == "properties":
            made[name] = {field: swagger_definition(child) for field, child in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, Mapping):
            made[name] = swagger_definition(value)
        elif name != "default":
            made[name] = value
    return made


class Swagger:
    """Converts OpenAPI v3 paths to v2, and collects their shared parameters.

    Attributes:
        parameters: The shared parameters to which converted paths refer, by name.
    """

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def path(self, item: Raw) -> dict[str, Any]:
        """Return a path item converted to OpenAPI v2, and add its shared parameters to `parameters`."""
        made: dict[str, Any] = {method: self._operation(method, item[method]) for method in _METHODS if method in item}
        if "parameters" in item:
            made["parameters"] = [self._parameter("", one) for one in item["parameters"]]
        return made

    def _operation(self, method: str, operation: Raw) -> dict[str, Any]:
        body = operation.get("requestBody")
        responses = operation["responses"]
        parameters = [self._parameter(method, one) for one in operation.get("parameters", ())]
        if body is not None:
            parameters.insert(0, _body(body))
        made = {name: value for name, value in operation.items() if name not in ("requestBody", "parameters")}
        return {
            **made,
            "consumes": list(body["content"]) if body else ["*/*"],
            "produces": list(responses["200"]["content"]),
            "schemes": ["https"],
            "parameters": parameters,
            "responses": {status: _response(response) for status, response in responses.items()},
        }

    def _parameter(self, method: str, parameter: Raw) -> dict[str, Any]:
        name = parameter["name"]
        made = {**{key: value for key, value in parameter.items() if key != "schema"}, **parameter["schema"]}
        if name in _INLINE:
            return made
        key, number = name, 0
        while self.parameters.setdefault(key, made) != made:  # others share the name with another description
            number += 1
            key = f"{method}.{name}" if method else f"{name}-{number}"
            if method:
                self.parameters[key] = made
        return {"$ref": _PARAMETER + key}


def _body(body: Raw) -> dict[str, Any]:
    made = {"name": "body", "in": "body", "schema": _content(body)}
    return {**made, "required": True} if body.get("required") else made


def _response(response: Raw) -> dict[str, Any]:
    made = {"description": response["description"]}
    return {**made, "schema": _content(response)} if "content" in response else made


def _content(message: Raw) -> dict[str, Any]:
    return swagger_definition(next(iter(message["content"].values()))["schema"])


def _reference(raw: Raw) -> str:
    return _REF + str(raw["$ref"]).removeprefix(REF)
