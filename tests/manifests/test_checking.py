# SPDX-License-Identifier: Apache-2.0
"""Each difference between the code and the files is one line that names object and path."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.manifests.bundles import RIGHTS, cabins_bundle

from apimachinery.errors import UsageError
from controller_runtime.manifests.bundles import kustomization
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.checking import check_objects, check_texts
from controller_runtime.manifests.files import write_files
from controller_runtime.manifests.rights import read_rights

CABINS = cabins_bundle(read_rights([RIGHTS]))

Edit = Callable[[dict[str, Any]], None]


def schema(objects: dict[str, Any]) -> dict[str, Any]:
    version = objects["CustomResourceDefinition"]["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def container(objects: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    return found


IN_DEFINITION = "CustomResourceDefinition cabins.example.com: spec.versions[v1].schema.openAPIV3Schema.properties.spec"
IN_CONTAINER = "Deployment cabins-system/cabins: spec.template.spec.containers[cabins]"

ARGUMENTS = container({one["kind"]: one for one in CABINS.objects()})["args"]


def in_another_order(found: list[str]) -> str:
    """Return the line for arguments that are those of the code in another order; long lists are cut."""
    shown, wanted = (f"{str(values)[:77]}…" for values in (found, ARGUMENTS))
    return f"{IN_CONTAINER}.args: has another order or repetitions: {shown}, and {wanted} in the code"


EDITS: list[tuple[str, Edit, list[str]]] = [
    ("nothing", lambda o: None, []),
    (
        "a bound",
        lambda o: schema(o)["properties"]["beds"].update(maximum=8),
        [f"{IN_DEFINITION}.properties.beds.maximum: is 8, and 9 in the code"],
    ),
    (
        "a field of before",
        lambda o: schema(o)["properties"].update(bunks={"type": "integer"}),
        [f"{IN_DEFINITION}.properties.bunks: is {{'type': 'integer'}}, and not in the code"],
    ),
    (
        "a field that is missing",
        lambda o: schema(o)["properties"].pop("beds"),
        [
            f"{IN_DEFINITION}.properties.beds: is missing, and {{'type': 'integer', 'minimum': 1, 'maximum': 9}} in "
            "the code"
        ],
    ),
    (
        "an enum",
        lambda o: schema(o)["properties"]["heating"].update(enum=["gas", "oil"]),
        [
            f"{IN_DEFINITION}.properties.heating.enum: lacks 'wood'",
            f"{IN_DEFINITION}.properties.heating.enum: has 'oil', which is not in the code",
        ],
    ),
    (
        "a version",
        lambda o: o["CustomResourceDefinition"]["spec"]["versions"].append({"name": "v2"}),
        ["CustomResourceDefinition cabins.example.com: spec.versions[v2]: is not in the code"],
    ),
    (
        "what a server adds",
        lambda o: o["CustomResourceDefinition"].update(
            status={"storedVersions": ["v1"]},
            spec={**o["CustomResourceDefinition"]["spec"], "conversion": {"strategy": "None"}},
        ),
        [],
    ),
    (
        "a right",
        lambda o: o["ClusterRole"]["rules"][0]["verbs"].append("delete"),
        ["ClusterRole cabins: rules[0].verbs: has 'delete', which is not in the code"],
    ),
    ("a field of the user's", lambda o: container(o).update(workingDir="/work"), []),
    (
        "an argument",
        lambda o: container(o)["args"].remove("--leader-elect"),
        [f"{IN_CONTAINER}.args: lacks '--leader-elect'"],
    ),
    ("another order of the arguments", lambda o: container(o)["args"].reverse(), [in_another_order(ARGUMENTS[::-1])]),
    (
        "an argument twice",
        lambda o: container(o)["args"].append("--leader-elect"),
        [in_another_order([*ARGUMENTS, "--leader-elect"])],
    ),
    (
        "a privilege",
        lambda o: container(o)["securityContext"].update(readOnlyRootFilesystem=False),
        [f"{IN_CONTAINER}.securityContext.readOnlyRootFilesystem: is False, and True in the code"],
    ),
    ("an object of another program", lambda o: o["Deployment"]["metadata"].update(name="other"), []),
    ("no namespace", lambda o: o["ServiceAccount"]["metadata"].pop("namespace"), []),
    (
        "no definition",
        lambda o: o.pop("CustomResourceDefinition"),
        ["CustomResourceDefinition cabins.example.com: is missing"],
    ),
]


@pytest.mark.parametrize(("edit", "lines"), [pytest.param(*rest, id=name) for name, *rest in EDITS])
def test_a_difference_is_a_line(tmp_path: Path, edit: Edit, lines: list[str]) -> None:
    file = tmp_path / "all.yaml"
    objects = {one["kind"]: one for one in copy.deepcopy(CABINS.objects())}
    edit(objects)
    file.write_text(yaml.safe_dump_all(objects.values(), sort_keys=False))

    assert check_objects(CABINS, [file]) == [f"{file}: {line}" for line in lines]


def test_a_folder_is_read_as_a_whole(tmp_path: Path) -> None:
    write_files(tmp_path / "below", kustomization(CABINS))
    (tmp_path / "notes.yaml").write_text("- no object\n")

    [line] = check_objects(CABINS, [tmp_path])

    assert line.startswith(str(tmp_path / "below" / "deployment.yaml"))
    assert line.endswith("image: is 'cabins', and 'registry.example.com/cabins:1.0' in the code")


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("{{ .Values.x }}: [")

    with pytest.raises(UsageError, match=r"bad\.yaml cannot be read as YAML"):
        check_objects(CABINS, [tmp_path / "bad.yaml"])


def test_a_template_of_a_chart_is_compared_line_by_line(tmp_path: Path) -> None:
    files = chart(CABINS)
    write_files(tmp_path, files)
    assert check_texts(tmp_path, files) == []

    deployment, roles = tmp_path / "templates" / "deployment.yaml", tmp_path / "templates" / "roles.yaml"
    deployment.write_text(deployment.read_text().replace("--grace=20", "--grace=5"))
    number = 1 + deployment.read_text().splitlines().index("            - --grace=5")
    roles.unlink()
    (tmp_path / "values.yaml").write_text("replicas: 5\n")

    assert sorted(check_texts(tmp_path, files)) == [
        f"{deployment}:{number}: is '- --grace=5', and '- --grace=20' in the code",
        f"{roles}: is missing",
    ]
