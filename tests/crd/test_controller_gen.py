# SPDX-License-Identifier: Apache-2.0
"""Classes give the structure that controller-gen gives the equivalent Go types, but for the differences listed here."""

from __future__ import annotations

import pytest
from kit.crd.controller_gen import ATOMIC_MAPS, METADATA, differences, lines_of
from kit.crd.other_projects import ApplicationConstructs, Certificate, CronJob
from kit.crd.structure import structure

from controller_runtime.crd import DEFINITIONS, definition, schema_of
from controller_runtime.crd.structural import schema_of_type
from controller_runtime.testing import EmbeddedCluster


def test_the_certificate_of_cert_manager_has_the_same_structure() -> None:
    assert [*structure(schema_of(Certificate), "Object")] == lines_of("certificate")


def test_eleven_constructs_of_argo_have_the_same_structure() -> None:
    assert [*structure(schema_of_type(ApplicationConstructs, "X"), "Constructs")] == lines_of("application")


def test_the_cron_job_of_kubebuilder_has_the_same_structure_but_for_two_differences() -> None:
    theirs, ours = lines_of("cronjob"), [*structure(schema_of(CronJob), "Object")]

    only_theirs, only_ours = differences(theirs, ours)

    assert sorted(only_theirs) == sorted(f"{line} atomic-map" for line in ATOMIC_MAPS)
    assert sorted(only_ours) == sorted([*ATOMIC_MAPS, *METADATA * 3])
    assert len(theirs) > 1300


@pytest.mark.parametrize("kind", [Certificate, CronJob])
def test_a_server_accepts_their_definitions(cluster: EmbeddedCluster, kind: type[Certificate | CronJob]) -> None:
    cluster.user.create(DEFINITIONS, definition(kind))

    assert cluster.user.list(kind) == []
