# SPDX-License-Identifier: Apache-2.0
"""The text of a failure, and the file that replays it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from controller_runtime.core.errors import UsageError
from controller_runtime.testing.perturbation.judging import complaints
from controller_runtime.testing.perturbation.plans import Plan, from_json, to_json
from controller_runtime.testing.perturbation.session import Session

SCRIPTS = ".perturb"
"""The folder for the plans of failures, in the directory that pytest was started in."""

_SHOWN = 8


@attrs.frozen
class Script:
    """A plan and the test that it is for.

    Attributes:
        test: The nodeid of the test.
        plan: The plan.
    """

    test: str
    plan: Plan

    @classmethod
    def read(cls, path: Path) -> Script:
        """Return the script in a file.

        Raises:
            UsageError: The file cannot be read, or holds no script.
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(found["test"], from_json(found["plan"]))
        except OSError as error:
            raise UsageError(f"--perturb-script={path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--perturb-script={path}: not a file that --perturb wrote: {error}") from None

    def write(self, folder: Path) -> Path:
        """Write the file, into a folder of its own in `folder`, and return its path."""
        text = f"{self.test.rpartition('::')[2]}-{self.plan}"
        path = folder / SCRIPTS / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', text).strip('-')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"test": self.test, "plan": to_json(self.plan)}, indent=1) + "\n", encoding="utf-8")
        return path


def judge(session: Session) -> list[str]:
    """Return what a perturbed run that has ended did and a correct program would not have done."""
    if session.calm is None or session.plan is None or session.is_void or not session.fired:
        return []
    return complaints(session.calm, session.run, session.ignored)


def report(session: Session, test: str, folder: Path, found: Sequence[str]) -> str:
    """Return the text for a failure, and write the file that replays it.

    Args:
        session: The run that failed.
        test: The nodeid of the test, without the plan.
        folder: The directory that pytest was started in.
        found: What is wrong.
    """
    assert session.plan is not None, "a calm run has no plan"
    plan = session.plan
    script = Script(test, plan).write(folder)
    lines = [f"{plan.pattern} ({plan.grade}): {plan}", *(f"  {each}" for each in found[:_SHOWN])]
    lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    lines.append(f"  remedy: {plan.remedy}")
    lines.append(f"  replay: pytest {_quoted(test)} --perturb-script={script.relative_to(folder)}")
    return "\n".join(lines)


def _quoted(test: str) -> str:
    return f"'{test}'" if re.search(r"[^\w./:=-]", test) else test
