# SPDX-License-Identifier: Apache-2.0
"""Records what a real server tells about pod security: `python tests/tools/pod_security.py KUBECONFIG AUDIT_LOG`.

The server writes its audit log while it answers: `--audit-log-mode=blocking`, with the level Metadata for pods, for
namespaces, and for the kinds with templates of pods. It must be without objects of a former run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from differential.servers import Answer, Real  # noqa: E402
from kit.apiserver.pod_security import (  # noqa: E402
    LEVELS,
    RECORDED,
    history,
    recorded_steps,
    requests_of_pods,
    spaces_of_pods,
    told_of,
)
from kit.apiserver.pod_security_pods import pods  # noqa: E402
from kit.apiserver.pod_security_steps import Request  # noqa: E402

from apimachinery.stop import Stop  # noqa: E402
from apimachinery.system import SystemHost  # noqa: E402

SETTLED = 0.3
"""Seconds after which a real server's caches have a write."""


def main(kubeconfig: Path, log: Path) -> None:
    """Record all answers."""
    real, never = Real(kubeconfig), Stop(SystemHost("recorder"), "never")

    def annotated(ask: Callable[[], Answer]) -> tuple[Answer, Mapping[str, str]]:
        before = log.stat().st_size if log.exists() else 0
        answer = ask()
        with log.open("rb") as lines:
            lines.seek(before)
            events = [json.loads(line) for line in lines]
        mine = [one for one in events if one["user"]["username"] == "admin"]
        return answer, mine[-1].get("annotations", {}) if mine else {}

    def settle(request: Request) -> None:
        if request.method != "POST" or "dryRun" not in request.target:
            never.wait(SETTLED)

    for request in spaces_of_pods():
        told = told_of(real, annotated, request)
        assert told.status == 201, told
    never.wait(2)
    texts: dict[str, int] = {}
    found: dict[str, Any] = {"texts": [], "pods": {}, "histories": {}, "steps": []}
    for name, request in requests_of_pods():
        found["pods"][name] = told_of(real, annotated, request).recorded()
    for name, pod in pods().items():
        for level in LEVELS:
            known = history(real, level, pod)
            found["histories"][f"{name}: {level}"] = [
                [minor, texts.setdefault(text, len(texts))] for minor, text in known
            ]
    found["texts"] = [*texts]
    found["steps"] = recorded_steps(real, annotated, settle)
    lines = []
    for key, value in found.items():
        if isinstance(value, dict):
            items = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()]
            lines.append(f"{json.dumps(key)}: {{\n" + ",\n".join(items) + "\n}")
        else:
            lines.append(f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(one) for one in value) + "\n]")
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
