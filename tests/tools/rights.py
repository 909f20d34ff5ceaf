# SPDX-License-Identifier: Apache-2.0
"""Writes config/rights/*.yaml from what the bundled programs ask: `python tests/tools/rights.py`.

Each program runs on an embedded API server that allows everything, in virtual time. Comments, names and bindings of the
files stay. With --check nothing is written, and a difference is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `kit`, which pytest finds by its configuration

from kit.controllers.bundled_programs import PROGRAMS

from controller_runtime.testing import Simulation


def main() -> int:
    different = []
    for program in PROGRAMS:
        with Simulation(0) as simulation:
            text = program.text(program.asked(simulation))
        if not program.file.exists() or program.file.read_text(encoding="utf-8") != text:
            different.append(program.file.name)
            if "--check" not in sys.argv:
                program.file.write_text(text, encoding="utf-8")
    if different and "--check" in sys.argv:
        print(f"run `python tests/tools/rights.py`: {', '.join(different)} would change", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
