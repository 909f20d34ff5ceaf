# SPDX-License-Identifier: Apache-2.0
"""Attacks on the embedded server and on webhooks, each bounded in time: `python tests/attack/attacks.py [SUBJECT…]`.

A subject is a file beside this one with `ATTACKS`, a tuple of functions. Each gets an empty
directory of its own, says in its docstring what it tries, and returns what it saw. It raises
`Broken` if a promise of the server does not hold, and `Skipped` where it cannot be tried.
One line is printed for each attack; the exit status is 1 if any promise was broken.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

Attack = Callable[[Path], str]

SUBJECTS = tuple(sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - {"attacks", "target"}))
"""The files beside this one that hold attacks."""


class Broken(Exception):
    """A promise did not hold; the message says which and what was seen."""


class Skipped(Exception):
    """The attack cannot be tried here; the message says why."""


def check(holds: bool, otherwise: str) -> None:
    """Raise `Broken` with the message `otherwise` unless the promise holds."""
    if not holds:
        raise Broken(otherwise)


def result_of(attack: Attack, place: Path) -> tuple[str, str]:
    """Return `held`, `broken` or `skipped`, and what was seen."""
    try:
        return "held", attack(place)
    except Skipped as reason:
        return "skipped", str(reason)
    except Broken as reason:
        return "broken", str(reason)
    except Exception as error:  # noqa: BLE001  # an attack that cannot be carried out proves nothing
        return "broken", f"{type(error).__name__}: {error}"


def attacks_of(subjects: Sequence[str]) -> Iterator[tuple[str, Attack]]:
    """Yield each attack with its subject."""
    for subject in subjects:
        for attack in importlib.import_module(subject).ATTACKS:
            yield subject, attack


def main(arguments: Sequence[str]) -> int:
    """Carry out the attacks of the named subjects, or all; return 1 if a promise was broken."""
    unknown = set(arguments) - set(SUBJECTS)
    if unknown:
        sys.stderr.write(f"error: no such subject: {', '.join(unknown)}; there are {', '.join(SUBJECTS)}\n")
        return 2
    broken = 0
    for subject, attack in attacks_of(arguments or SUBJECTS):
        with tempfile.TemporaryDirectory(prefix="attack-") as place:
            verdict, seen = result_of(attack, Path(place))
        tried = (attack.__doc__ or attack.__name__).partition("\n")[0].rstrip(".")
        sys.stdout.write(f"{verdict:7} {subject}: {tried}: {seen}\n")
        sys.stdout.flush()
        broken += verdict == "broken"
    return 1 if broken else 0


if __name__ == "__main__":
    # The subjects import `Broken` from `attacks`. Without this they would get a second copy, whose `Broken` is another.
    sys.modules["attacks"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1:]))
