# SPDX-License-Identifier: Apache-2.0
"""A chart renders to what its values say, and by default to the plain manifests.

The test data is what Go's `text/template` made of the charts, with the functions of Helm that they use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
import yaml
from kit.manifests.bundles import CHART_VALUES, DATA, RIGHTS, cabins_bundle, chart_data, difficult_bundle
from kit.manifests.go_templates import render

from apimachinery.errors import UsageError
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.rights import read_rights

CABINS = cabins_bundle(read_rights([RIGHTS]))


def rendered(bundle: Bundle, release: str, namespace: str, values: dict[str, Any]) -> dict[str, str]:
    files = dict(chart(bundle))
    data = chart_data(files, release, namespace, values)
    return {name: render(text, data) for name, text in sorted(files.items()) if name.startswith("templates/")}


def documents(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [one for text in texts.values() for one in yaml.safe_load_all(text) if one]


def objects(texts: Mapping[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in documents(texts)}


@pytest.mark.parametrize(
    ("bundle", "file", "values"),
    [
        *(pytest.param(CABINS, f"cabins-{case}", values, id=case) for case, values in CHART_VALUES.items()),
        pytest.param(difficult_bundle(), "difficult-usual", {}, id="difficult texts"),
    ],
)
def test_templates_render_as_gos_own_engine_renders_them(bundle: Bundle, file: str, values: dict[str, Any]) -> None:
    by_go = (DATA / "chart" / f"{file}.yaml").read_text(encoding="utf-8")
    expected = [one for one in yaml.safe_load_all(by_go.replace("# Source:", "---\n# Source:")) if one]

    assert documents(rendered(bundle, "hut", "huts", values)) == expected


@pytest.mark.parametrize("bundle", [CABINS, difficult_bundle()], ids=["cabins", "difficult texts"])
def test_a_chart_is_by_default_the_plain_manifests(bundle: Bundle) -> None:
    settings = bundle.settings
    values = {"serviceMonitor": {"enabled": bundle.has_monitor}}
    made = documents(rendered(bundle, settings.name, settings.namespace, values))
    plain = [one for one in bundle.objects() if one["kind"] != "Namespace"]

    _forget_what_helm_adds(made)
    assert sorted(made, key=str) == sorted(plain, key=str)


def _forget_what_helm_adds(value: Any) -> None:
    if isinstance(value, dict):
        value.pop("imagePullPolicy", None)
        for name in ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/resource-policy"):
            value.pop(name, None)
        for one in value.values():
            _forget_what_helm_adds(one)
        if value.get("annotations") == {}:
            del value["annotations"]
    if isinstance(value, list):
        for one in value:
            _forget_what_helm_adds(one)


def test_without_an_election_there_is_one_replica_and_its_pod_ends_before_the_next() -> None:
    made = objects(rendered(CABINS, "hut", "huts", {"replicas": 3, "leaderElection": {"enabled": False}}))

    spec = made["Deployment", "hut"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert not any("leader" in argument for argument in spec["template"]["spec"]["containers"][0]["args"])
    assert ("Role", "hut-leader-election") not in made


def test_the_role_names_the_lease_that_the_program_asks_for() -> None:
    made = objects(rendered(CABINS, "hut", "huts", {}))

    [_, named] = made["Role", "hut-leader-election"]["rules"]
    arguments = made["Deployment", "hut"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--leader-election-id={named['resourceNames'][0]}" in arguments


def test_definitions_stay_when_a_release_is_uninstalled() -> None:
    made = objects(rendered(CABINS, "hut", "huts", {}))

    definition = made["CustomResourceDefinition", "cabins.example.com"]
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_each_value_is_used_by_a_template() -> None:
    files = chart(CABINS)
    used = {path for text in files.values() for path in re.findall(r"\.Values\.([\w.]+)", text)}

    def paths(value: Any, path: str) -> set[str]:
        if path in used or not isinstance(value, dict):
            return {path}
        return {each for name, one in value.items() for each in paths(one, f"{path}.{name}".lstrip("."))}

    assert paths(yaml.safe_load(files["values.yaml"]), "") == used


def test_an_image_by_digest_is_refused() -> None:
    named = attrs.evolve(CABINS, settings=attrs.evolve(CABINS.settings, image="example.com/x@sha256:00"))

    with pytest.raises(UsageError, match=r"needs an image with a tag, such as example\.com/x:1\.0"):
        chart(named)
