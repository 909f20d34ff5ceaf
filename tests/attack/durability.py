# SPDX-License-Identifier: Apache-2.0
"""Attacks on what a server keeps: its audit log, its files, and what it acknowledged."""

from __future__ import annotations

import json
from pathlib import Path

from attacks import check
from target import serving


def past_the_audit(place: Path) -> str:
    """Acting without a line in the audit log."""
    log = place / "audit.log"
    agents = (b"\xff", b"\xe9t\xe9", b"a\tb", b"\xed\xa0\x80", b'"}\\', b"x" * 60_000)
    with serving("--audit-log-path", str(log)) as (target, _):
        before = len(log.read_bytes().splitlines())
        answers = [target.exchange("GET", "/api/v1/secrets", b"", b"User-Agent: " + agent)[0] for agent in agents]
    lines = log.read_bytes().splitlines()[before:]
    check(answers == [200] * len(agents), f"answered {answers}")
    check(len(lines) == len(agents), f"{len(lines)} lines for {len(agents)} requests")
    check(all(json.loads(line)["responseStatus"] for line in lines), "a line is not JSON")
    return f"{len(agents)} user agents, {len(lines)} lines"


ATTACKS = (past_the_audit,)
