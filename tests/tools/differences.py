# SPDX-License-Identifier: Apache-2.0
"""Writes docs/differences.md from tests/differential and tests/contract: `python tests/tools/differences.py`.

With --check nothing is written and a difference is an error. With --prune the requests whose answers are those of a
real server now are first taken out of the list of known differences, and classes are brought up to date.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "differences.md"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from differential.corpus import KNOWN, Case, Known, answers, heaviest, known, load, replayed  # noqa: E402
from differential.servers import Embedded  # noqa: E402
from kit.contract.deviations import DEVIATIONS  # noqa: E402

MEANINGS = {
    "3": "A kind, verb or subresource that is not served",
    "1a": "It accepts what a cluster refuses",
    "1b": "It refuses what a cluster accepts",
    "1c": "Both accept, but the answer or what is stored differs",
    "2a": "Both refuse, with another code or reason",
    "2b": "Both refuse, with other details",
    "2c": "Only a text or a warning differs",
    "doc": "Only the text of a decoding error differs",
    "4": "Cosmetic",
}
NEW = "found by comparison and not mended yet"


def page() -> str:
    """Return the page."""
    reasons, cases = known(), load()
    alike = len(cases) - len(reasons)
    lines = [
        "# Known differences from a real API server",
        "",
        "Generated from the corpus of `tests/differential` by `python tests/tools/differences.py`; a test keeps it",
        f"current. The corpus has {len(cases)} requests that showed a difference once. Every run of the tests sends",
        "each to the embedded server and compares the answer with the recorded one of Kubernetes 1.36.2:",
        f"{alike} are answered alike, and those below are not. `tox -e differential` looks for more at random:",
        "of 6,058 random operations with new seeds (10000 to 10019), 99.3 % were answered",
        "alike in every byte that is compared, and 1.2 in 1,000 differed in what was accepted, refused or stored. Of",
        "4,977 on the kinds that describe a cluster (10300 to 10319), 99.7 % were answered alike, and 0.8 in 1,000",
        "differed so. The real server runs without flow control there, whose consumer of flow schemas writes",
        "their status at any time. Where collections are deleted in parallel or maps are walked, any order is alike.",
        "",
        "Not listed, because no single request shows it: the embedded server speaks HTTP/1.1 and no HTTP/2; it makes",
        "the `IPAddress` of each address of a service only with `--cluster-objects`, and shows those to no webhook; it",
        "gives no service an address of a further `ServiceCIDR`; and pages of a collection end otherwise where a",
        "cluster has more objects of the kind than a bare server, such as priority classes.",
    ]
    for number, meaning in MEANINGS.items():
        found = [case for case in cases if case.name in reasons and reasons[case.name].number == number]
        if found:
            lines += ["", f"## {meaning}", "", "| Difference | Request | Reason |", "| --- | --- | --- |"]
            lines += [_row(case, reasons[case.name]) for case in found]
    lines += [
        "",
        "## In the recorded exchanges of tests/contract",
        "",
        "| Exchange | Difference | Reason |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {name} | {one.part.value} | {one.reason} |" for name, one in DEVIATIONS.items()]
    return "\n".join(lines) + "\n"


def _row(case: Case, difference: Known) -> str:
    request = case.request
    named = f"{request.method} {request.target}".replace("|", "\\|")
    return f"| {case.name} | `{named}` | {difference.reason} |"


def prune() -> None:
    """Bring the list of known differences up to date, and keep the reasons that were given."""
    reasons, expected, found = known(), answers(), {}
    with contextlib.closing(Embedded()) as embedded:
        for index, case in enumerate(load()):
            number = heaviest(replayed(case, embedded, expected[case.name], f"corpus-{index}"))
            if number:
                reason = reasons[case.name].reason if case.name in reasons else NEW
                found[case.name] = {"class": number, "reason": reason}
    KNOWN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    if "--prune" in arguments:
        prune()
    text = page()
    if "--check" in arguments:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE} is not what the corpus says: run python tests/tools/differences.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
