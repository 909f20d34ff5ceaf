# SPDX-License-Identifier: Apache-2.0
"""Print the words of the hand-written guides, page by page: `guide_words.py [REVISION]`.

Guides are the pages in `docs/` itself, without those that a tool generates. The decisions (`docs/decisions/`) are notes
for those who change the code, and README.md and ARCHITECTURE.md have rules of their own, so neither counts. A word is
what white space separates, in code blocks and tables too.
"""

import subprocess
import sys

GENERATED = {
    "conformance.md",
    "differences.md",
    "flags.md",
    "kinds.md",
    "known-trouble.md",
    "metrics.md",
    "other-suites.md",
}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def words(revision: str) -> dict[str, int]:
    """Return the number of words of each hand-written guide at a revision, by its name."""
    names = [name.removeprefix("docs/") for name in _git("ls-tree", "--name-only", revision, "docs/").split()]
    guides = [name for name in names if name.endswith(".md") and name not in GENERATED]
    return {name: len(_git("show", f"{revision}:docs/{name}").split()) for name in guides}


if __name__ == "__main__":
    found = words(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    for page, count in sorted(found.items(), key=lambda pair: -pair[1]):
        print(f"{count:7,} {page}")  # noqa: T201
    print(f"{sum(found.values()):7,} in all")  # noqa: T201
