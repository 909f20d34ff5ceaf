# SPDX-License-Identifier: Apache-2.0
"""Write apiserver/reads/data/columns-1.36.json.gz: `python tests/tools/table_columns.py KUBECONFIG`.

Each kind that a server can list is asked for a table, whose column definitions are kept. Scale has no list: its
columns are those of one deployment's scale, made in the namespace `default` as a dry run is not enough.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from differential.servers import Real, decoded  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "apiserver/embedded_apiserver/reads/data/columns-1.36.json.gz"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def asked(real: Real, target: str, headers: dict[str, str] | None = None) -> Any:
    """Return the JSON of an answer."""
    return decoded(real.ask("GET", target, headers or {}, b"").body)


def columns(real: Real) -> dict[str, Any]:
    """Return the column definitions of all kinds, by apiVersion and kind."""
    groups = [version["groupVersion"] for group in asked(real, "/apis")["groups"] for version in group["versions"]]
    found = {}
    for api_version in ["v1", *groups]:
        root = f"/api/{api_version}" if api_version == "v1" else f"/apis/{api_version}"
        for resource in asked(real, root)["resources"]:
            if "list" in resource["verbs"] and "/" not in resource["name"]:
                table = asked(real, f"{root}/{resource['name']}?limit=1", TABLE)
                found[f"{api_version}/{resource['kind']}"] = table["columnDefinitions"]
    return found


def scale(real: Real) -> Any:
    """Return the column definitions of a scale."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = json.dumps({"metadata": {"name": "columns"}, "spec": spec}).encode()
    real.ask("POST", DEPLOYMENTS, {"content-type": "application/json"}, body)
    try:
        return asked(real, f"{DEPLOYMENTS}/columns/scale", TABLE)["columnDefinitions"]
    finally:
        real.ask("DELETE", f"{DEPLOYMENTS}/columns", {}, b"")


def main(arguments: list[str]) -> int:
    """Write the file."""
    with contextlib.closing(Real(Path(arguments[0]))) as real:
        found = {**columns(real), "autoscaling/v1/Scale": scale(real)}
    packed = json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    DATA.write_bytes(gzip.compress(packed, 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
