# SPDX-License-Identifier: Apache-2.0
"""Records what a real server answers to rules of definitions: `python tests/tools/validations.py KUBECONFIG`.

The cases are in `tests/data/validations`. The server gets definitions of groups that end with `.cel.example.com`, and
loses them again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from differential.servers import Real  # noqa: E402
from kit.apiserver.validations import ANSWERS, FILES, Told, cases, evaluated, play, refusal  # noqa: E402
from kit.contract.real_server import wait_until  # noqa: E402


def main() -> None:
    """Record the answers."""
    with contextlib.closing(Real(Path(sys.argv[1]))) as real:

        def ask(method: str, target: str, body: Any) -> Told:
            sent = b"" if body is None else json.dumps(body).encode()
            answer = real.ask(method, target, {"content-type": "application/json"}, sent)
            warnings = [_text(line) for line in answer.headers.get("warning", ())]
            found = json.loads(answer.body) if answer.body.startswith(b"{") else None  # a text: there is no such path
            return Told(answer.status, found, warnings)

        def wait(things: str, refused: Any) -> None:
            wait_until(lambda: ask("GET", things, None).code == 200, "the kind is served")
            if refused is not None:
                wait_until(
                    lambda: ask("POST", f"{things}?dryRun=All", refused).code == 422, "the schema is the new one"
                )

        run, answers = f"r{os.getpid()}.cel.example.com", dict[str, Any]()
        for file in FILES:
            answers[file] = {
                case["name"]: play(case, f"{file}{index}.{run}", ask, wait) for index, case in enumerate(cases(file))
            }
        answers["refused"] = [refusal(case, f"refused.{run}", ask) for case in cases("refused")]
        answers["expressions"] = evaluated(f"expressions.{run}", ask, wait)
    # The type of `self` has another name in each definition.
    text = re.sub(r"selfType\d+", "selfType", json.dumps(answers, ensure_ascii=False, indent=1))
    ANSWERS.write_text(f"{text}\n", encoding="utf-8")


def _text(line: str) -> str:
    """Return the text of a warning's header: `299 - "the text"`."""
    return str(json.loads(line.partition(" ")[2].partition(" ")[2]))


if __name__ == "__main__":
    main()
