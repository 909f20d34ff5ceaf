# SPDX-License-Identifier: Apache-2.0
"""The guide to deploying names the options of the migration, the values and the numbers there are."""

from __future__ import annotations

import re
from typing import Any

import attrs
import click
import yaml
from kit.manifests.bundles import cabins_bundle
from kit.manifests.manifests import ROOT

from controller_runtime.client.storage_migration import NOTE_EVERY
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.settings import GRACE, METRICS_PORT, PROBES_PORT, RESOURCES, TERMINATION
from controller_runtime.program.cli_migrate_storage import migrate_storage_command

GUIDE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")


def options_of(command: click.Command) -> set[str]:
    return {name for one in command.params if isinstance(one, click.Option) for name in one.opts}


def test_the_options_of_the_migration_are_those_there_are() -> None:
    text = GUIDE.partition("## A new storage version")[2].partition("\n## ")[0]

    assert set(re.findall(r"--[a-z-]+", text)) == options_of(migrate_storage_command)


def test_the_values_of_the_chart_are_those_there_are() -> None:
    table = GUIDE[GUIDE.index("| value of the chart |") : GUIDE.index("The templates are tested")]
    bundle = cabins_bundle()
    hooked = attrs.evolve(bundle, settings=attrs.evolve(bundle.settings, has_webhooks=True))
    values: dict[str, Any] = yaml.safe_load(chart(hooked)["values.yaml"])
    single = ("resources", "nodeSelector", "tolerations", "imagePullSecrets", "replicas", "installCRDs")
    known = {name if name in single else f"{name}.{part}" for name, value in values.items() for part in _parts(value)}

    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w.]+)`", row.partition(" | ")[0])}
    assert named == known


def _parts(value: object) -> list[str]:
    return list(value) if isinstance(value, dict) and value else [""]


def test_the_numbers_are_those_of_the_code() -> None:
    words = " ".join(GUIDE.split())

    assert f"`--metrics-bind-address=:{METRICS_PORT}`, `--health-probe-bind-address=:{PROBES_PORT}`" in words
    assert f"`--grace={GRACE}`. The pod has {TERMINATION} s to end" in words
    assert "The request of 64 MiB and 10 m CPU" in words
    assert RESOURCES["requests"] == {"cpu": "10m", "memory": "64Mi"}
    assert "The limit of 256 MiB" in words
    assert RESOURCES["limits"] == {"memory": "256Mi"}
    assert f"every {NOTE_EVERY} objects" in words
    [rate] = [one.default for one in migrate_storage_command.params if one.name == "rate"]
    assert f"at most {rate:.0f} a second" in words
