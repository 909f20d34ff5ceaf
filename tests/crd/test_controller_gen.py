# SPDX-License-Identifier: Apache-2.0
"""Classes give the structure that controller-gen gives the equivalent Go types, but for the differences listed here."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from kit.other_projects import ApplicationConstructs, Certificate, CronJob
from kit.structure import structure

from controller_runtime.crd import DEFINITIONS, definition, schema_of
from controller_runtime.crd.structural import schema_of_type
from controller_runtime.testing import EmbeddedCluster

DATA = Path(__file__).resolve().parents[1] / "data/controller_gen"

# A template's metadata has its labels and annotations here; controller-gen leaves them out unless it is told otherwise.
METADATA = ["annotations object", "{} string", "finalizers array", "[] string", "labels object", "{} string"]
METADATA += ["name string", "namespace string"]
# Go types that embed another one inline have its markers for controller-gen, and not for a server's OpenAPI documents.
INLINED = ["configMapRef object", "secretRef object"] * 3 + ["configMap object"] * 2 + ["secret object"]


def lines_of(name: str) -> list[str]:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def differences(theirs: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines that only `theirs` has and those that only `ours` has."""
    found = [line for line in difflib.ndiff(theirs, ours) if line[0] in "-+"]
    return [line[2:].strip() for line in found if line[0] == "-"], [
        line[2:].strip() for line in found if line[0] == "+"
    ]


def test_the_certificate_of_cert_manager_has_the_same_structure() -> None:
    assert [*structure(schema_of(Certificate), "Object")] == lines_of("certificate")


def test_eleven_constructs_of_argo_have_the_same_structure() -> None:
    assert [*structure(schema_of_type(ApplicationConstructs, "X"), "Constructs")] == lines_of("application")


def test_the_cron_job_of_kubebuilder_has_the_same_structure_but_for_two_differences() -> None:
    theirs, ours = lines_of("cronjob"), [*structure(schema_of(CronJob), "Object")]

    only_theirs, only_ours = differences(theirs, ours)

    assert sorted(only_theirs) == sorted(f"{line} atomic-map" for line in INLINED)
    assert sorted(only_ours) == sorted([*INLINED, *METADATA * 3])
    assert len(theirs) > 1300


@pytest.mark.parametrize("kind", [Certificate, CronJob])
def test_a_server_accepts_their_definitions(cluster: EmbeddedCluster, kind: type[Certificate | CronJob]) -> None:
    cluster.user.create(DEFINITIONS, definition(kind))

    assert cluster.user.list(kind) == []
