# SPDX-License-Identifier: Apache-2.0
"""The options of `--perturb`, and the files that replay failures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from controller_runtime.incidents.incident import FORMAT
from controller_runtime.testing.perturbation.plans import Plan, from_json, to_json

SCRIPTS = ".perturb"
"""The folder for the files of failures, in the directory in which pytest was started."""


@attrs.frozen
class Script:
    """A plan, which is one fault at one point of a run, and its test.

    Attributes:
        test: The nodeid of the test.
        plan: The plan.
        story: The numbers of the actions and waits of the test that are played; None for the whole test.
    """

    test: str
    plan: Plan
    story: tuple[int, ...] | None = None

    @classmethod
    def read(cls, folder: Path, path: str) -> Script:
        """Return the script in a file.

        Args:
            folder: The folder for a relative path.
            path: The path of the file.

        Raises:
            UsageError: The file cannot be read, or holds no script.
        """
        try:
            found = json.loads((folder / path).read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.get("format") == FORMAT:
                raise ValueError("it is an incident, which `replay FILE` runs again")
            story = found.get("story")
            return cls(found["test"], from_json(found["plan"]), None if story is None else tuple(map(int, story)))
        except OSError as error:
            raise UsageError(f"--perturb-script={path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--perturb-script={path}: not a file that --perturb wrote: {error}") from None

    def write(self, folder: Path, name: str) -> Path:
        """Write the script to `folder/.perturb/`; return its path relative to `folder`."""
        path = Path(SCRIPTS) / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name).strip('-')}.json"
        (folder / SCRIPTS).mkdir(exist_ok=True)
        held = {"test": self.test, "plan": to_json(self.plan)} | ({} if self.story is None else {"story": self.story})
        (folder / path).write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        return path


@attrs.frozen
class Options:
    """The options of `--perturb`.

    Attributes:
        patterns: The patterns of faults to try.
        budget: Real seconds for the plans of one test, from the start of its first plan; later plans are left out.
        folder: The directory in which pytest was started.
        path: The file of the only plan to run; None for all plans.
        script: The content of that file; None for all plans.
        lists: True if the plans are shown and not run.
    """

    patterns: Sequence[str]
    budget: float
    folder: Path
    path: Path | None = None
    script: Script | None = None
    lists: bool = False
