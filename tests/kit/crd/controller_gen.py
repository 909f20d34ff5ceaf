# SPDX-License-Identifier: Apache-2.0
"""Compares the structure of a class's schema with the one that controller-gen made of the equivalent Go types."""

from __future__ import annotations

import difflib
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data/controller_gen"

# A template's metadata has its labels and annotations here; controller-gen leaves them out unless it is told otherwise.
METADATA = ["annotations object", "{} string", "finalizers array", "[] string", "labels object", "{} string"]
METADATA += ["name string", "namespace string"]
# Go types that embed another one inline have its markers for controller-gen, and not for a server's OpenAPI documents.
ATOMIC_MAPS = ["configMapRef object", "secretRef object"] * 3 + ["configMap object"] * 2 + ["secret object"]


def lines_of(name: str) -> list[str]:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def differences(theirs: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines that only `theirs` has and those that only `ours` has."""
    found = [line for line in difflib.ndiff(theirs, ours) if line[0] in "-+"]
    return [line[2:].strip() for line in found if line[0] == "-"], [
        line[2:].strip() for line in found if line[0] == "+"
    ]
