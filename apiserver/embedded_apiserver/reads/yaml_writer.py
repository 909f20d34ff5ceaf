# SPDX-License-Identifier: Apache-2.0
"""Writes YAML as a real API server does; a module of its own, so that PyYAML is imported only when it is needed."""

from __future__ import annotations

from typing import Any

import yaml

_BOOLEANS_ELSEWHERE = ("y", "Y", "n", "N")  # booleans in YAML 1.1, which PyYAML leaves unquoted


def yaml_of(content: Any) -> str:
    """Return a decoded JSON value as YAML: with sorted keys, lists not indented, and double quotes only where
    needed.
    """
    text: str = yaml.dump(content, Dumper=_Dumper, width=float("inf"), allow_unicode=True, default_flow_style=False)
    return text


class _Dumper(yaml.SafeDumper):
    """A dumper that writes no anchors, and double quotes instead of single ones, as a real API server does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def choose_scalar_style(self) -> str:
        style: str = super().choose_scalar_style()
        return '"' if style == "'" else style


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if text in _BOOLEANS_ELSEWHERE else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
