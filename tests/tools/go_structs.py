# SPDX-License-Identifier: Apache-2.0
"""Writes go_structs.json of `embedded_apiserver.typed`: the fields of the structs that messages show.

    python tests/tools/go_structs.py GIT_DIRECTORY

The git directory is of a repository with Kubernetes in `vendor`. Only names and types of fields are read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).parents[2] / "apiserver/embedded_apiserver/typed/data/go_structs.json"
_TYPES = "vendor/k8s.io/kubernetes/pkg/apis/{}/types.go"
_ROOTS = (
    *("PodSpec", "PodTemplateSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSource", "SecurityContext"),
    *("SeccompProfile", "PodResourceClaim", "PodFailurePolicy", "SuccessPolicy", "DeploymentStrategy"),
    *("DaemonSetUpdateStrategy", "StatefulSetUpdateStrategy", "PodDisruptionBudgetSpec", "ServicePort"),
    *("ObjectReference", "EventSource", "NodeSelectorTerm", "VolumeNodeAffinity", "PodIP", "HostIP", "NodeAddress"),
    *("ResourceClaimSpec", "ResourceClaimTemplateSpec", "AllocationResult", "VolumeAttachmentSpec", "CSINodeDriver"),
    *("ParentReference", "NetworkPolicyPort"),
    *("Taint", "ScopeSelector", "ClusterTrustBundleProjection", "NodeConfigSource", "UncountedTerminatedPods"),
)
_SCALARS = {
    **dict.fromkeys(("string", "types.UID", "uuid"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "float64"), "number"),
    "bool": "bool",
    "resource.Quantity": "quantity",
    "metav1.Time": "time",
    "metav1.MicroTime": "time",
    "intstr.IntOrString": "number",
    "metav1.ObjectMeta": "metadata",
    "metav1.LabelSelector": "selector",
}
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ALIAS = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(\w+(?:, \w+)*)\s+([\w.\[\]*]+)", re.MULTILINE)
_EMBEDDED = re.compile(r"^\t([\w.]+)\s*(?://.*|`.*)?$")
_PREFIX = re.compile(r"((?:\*|\[\]|map\[[\w.]+\])*)(.+)")


def main() -> None:
    """Read the types and write those that the roots need."""
    text = "\n".join(
        subprocess.run(
            ["git", "-C", sys.argv[1], "show", f"HEAD:{_TYPES.format(group)}"], check=True, capture_output=True
        ).stdout.decode()
        for group in ("networking", "resource", "storage", "core", "apps", "batch", "policy")
    )
    structs = dict(_STRUCT.findall(text))
    aliases = dict(_ALIAS.findall(text))
    made: dict[str, list[list[str]]] = {}
    left = list(_ROOTS)
    while left:
        name = left.pop()
        if name not in made:
            made[name] = [_resolved(field, kind, aliases) for field, kind in _fields(structs[name])]
            left += [base for _, kind in made[name] if (base := _PREFIX.fullmatch(kind)[2]) in structs]
    lines = [f"{json.dumps(name)}: {json.dumps(' '.join(':'.join(f) for f in made[name]))}" for name in sorted(made)]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _fields(body: str) -> list[tuple[str, str]]:
    found = []
    for line in body.splitlines():
        if line.strip().startswith("//"):
            continue
        if match := _EMBEDDED.match(line):
            found.append(("", match[1]))
        elif match := _FIELD.match(line):
            found += [(name.strip(), match[2]) for name in match[1].split(",")]
    return [(name, kind) for name, kind in found if kind != "metav1.TypeMeta"]


def _resolved(name: str, kind: str, aliases: dict[str, str]) -> list[str]:
    prefix, base = _PREFIX.fullmatch(kind.replace("api.", "").replace("core.", "").replace("apiext.", "")).groups()
    while base in aliases:
        more, base = _PREFIX.fullmatch(aliases[base]).groups()
        prefix += more
    prefix = re.sub(r"map\[[\w.]+\]", "{}", prefix)
    return [name, prefix + _SCALARS.get(base, base)]


if __name__ == "__main__":
    main()
