# SPDX-License-Identifier: Apache-2.0
"""The text of a failure, and the file that replays it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from controller_runtime.core.errors import UsageError
from controller_runtime.testing.perturbation.explaining import happened, story_of
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
        story: The numbers of the parts of the test's story that are told; None for the whole test.
    """

    test: str
    plan: Plan
    story: tuple[int, ...] | None = None

    @classmethod
    def read(cls, path: Path) -> Script:
        """Return the script in a file.

        Raises:
            UsageError: The file cannot be read, or holds no script.
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            story = found.get("story")
            return cls(found["test"], from_json(found["plan"]), None if story is None else tuple(map(int, story)))
        except OSError as error:
            raise UsageError(f"--perturb-script={path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"--perturb-script={path}: not a file that --perturb wrote: {error}") from None

    def write(self, folder: Path, name: str) -> Path:
        """Write the file, into a folder of its own in `folder`, and return its path."""
        path = folder / SCRIPTS / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name).strip('-')}.json"
        path.parent.mkdir(exist_ok=True)
        held = {"test": self.test, "plan": to_json(self.plan)} | ({} if self.story is None else {"story": self.story})
        path.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        return path


def judge(session: Session) -> list[str]:
    """Return what a perturbed run that has ended did and a correct program would not have done."""
    if session.calm is None or session.plan is None or session.is_void or not session.fired:
        return []
    return complaints(session.calm, session.run, session.ignored)


def report(session: Session, item: pytest.Function, test: str, folder: Path, found: Sequence[str]) -> str:
    """Return the text for a failure, and write the file that replays it.

    Args:
        session: The run that failed.
        item: The item that failed.
        test: The nodeid of the test, without the plan.
        folder: The directory that pytest was started in.
        found: What is wrong.
    """
    assert session.plan is not None, "a calm run has no plan"
    assert session.calm is not None, "neither has it a run to compare it with"
    plan, story = session.plan, session.run.story
    script = Script(test, plan, session.kept).write(folder, item.name)
    whole = "" if session.kept is None else ", the smallest that fails"
    lines = [f"{plan.pattern} ({plan.grade}): {happened(plan, session.calm)}"]
    lines += [f"  {each}" for each in found[:_SHOWN]]
    lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    lines += [f"  story{whole}: {told}"] if (told := story_of(story)) else []
    lines.append(f"  remedy: {plan.remedy}")
    lines.append(f"  replay: pytest {_quoted(test)} --perturb-script={script.relative_to(folder)}")
    return "\n".join(lines)


def _quoted(test: str) -> str:
    return f"'{test}'" if re.search(r"[^\w./:=-]", test) else test
