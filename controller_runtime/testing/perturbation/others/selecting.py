# SPDX-License-Identifier: Apache-2.0
"""The choice of plans to run: by text, by shard, and the findings that are known already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apimachinery.errors import UsageError
from controller_runtime.testing.perturbation.plans import Plan


def shard_of(text: str) -> tuple[int, int]:
    """Return the number of a shard and the number of shards, from a text such as `2/4`.

    Raises:
        UsageError: The text is not one of `1/N` to `N/N`.
    """
    number, _, parts = text.partition("/")
    if number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts):
        return int(number), int(parts)
    raise UsageError(f"--shard {text}: it takes the number of a part and how many there are, such as 2/4")


def selected(plans: Sequence[Plan], only: Sequence[str], shard: tuple[int, int]) -> list[Plan]:
    """Return one shard of the plans whose text is a text of `only`, or begins with it and a space (all without `only`).

    Raises:
        UsageError: A text of `only` matches no plan.
    """
    texts = [str(each) for each in plans]
    for each in only:
        if not any(_is_meant(text, each) for text in texts):
            raise UsageError(f"--only {each!r}: no plan has this text; --list shows them all")
    found = [each for each in plans if not only or any(_is_meant(str(each), one) for one in only)]
    number, parts = shard
    return found[number - 1 :: parts]


def _is_meant(text: str, only: str) -> bool:
    return text == only or text.startswith((f"{only} ", f"{only},"))


def read_baseline(path: Path | None) -> list[dict[str, Any]]:
    """Return the findings in a baseline file; an empty list if `path` is None or the file does not exist yet.

    Raises:
        UsageError: The file cannot be read, or holds no findings.
    """
    if path is None or not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [{"at": dict(each["at"]), "complaints": [*map(str, each["complaints"])]} for each in found]
    except OSError as error:
        raise UsageError(f"--baseline {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--baseline {path}: not a file of findings: {error}") from None
