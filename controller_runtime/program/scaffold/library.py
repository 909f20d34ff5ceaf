# SPDX-License-Identifier: Apache-2.0
"""Where pip finds this library, for the files of a new operator.

pip notes where it installed a distribution from, unless that was an index (PEP 610, `direct_url.json`).
"""

from __future__ import annotations

import json
import re
import shlex
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs

from apimachinery.errors import UsageError

NAME = "controller-runtime"


@attrs.frozen
class Library:
    """The source from which pip installs this library.

    Attributes:
        source: A folder, a wheel, a URL, or a requirement by name such as `controller-runtime>=1.0`.
    """

    source: str

    @property
    def is_on_an_index(self) -> bool:
        """Whether it is a requirement by name, which pip looks up in its index."""
        return bool(re.fullmatch(rf"{NAME}(\[[\w, -]*\])?\s*([<>=!~].*)?", self.source, re.IGNORECASE))

    def quoted(self, extras: str = "") -> str:
        """Return it as one word of a command line, with extras of the library, such as `testing,cli`."""
        if not extras:
            return shlex.quote(self.source)
        if self.is_on_an_index:
            return shlex.quote(re.sub(rf"^{NAME}(\[[^]]*\])?", f"{NAME}[{extras}]", self.source))
        if re.match(r"(\w+\+)?\w+://", self.source):
            return shlex.quote(f"{NAME}[{extras}] @ {self.source}")
        return shlex.quote(f"{self.source}[{extras}]")

    def beside(self, *folders: str) -> list[str]:
        """Return those of `folders` that hold a distribution in the clone that the source is, as words of a command.

        pip cannot find these by itself as long as no index has them.
        """
        clone = Path(self.source)
        return [shlex.quote(str(clone / folder)) for folder in folders if (clone / folder / "setup.cfg").is_file()]


def library(requirement: str | None) -> Library:
    """Return where pip finds this library: as given, or where the installed one came from.

    Raises:
        UsageError: The given text is empty or more than one line.
    """
    if requirement is None:
        return installed_library()
    if not requirement.strip() or not requirement.isprintable():
        raise UsageError(
            f"--requirement {requirement!r}: give what pip installs, such as a path or a version, in a line"
        )
    return Library(requirement.strip())


def installed_library() -> Library:
    """Return where the installed library came from; its name if that was an index, or if it is not installed."""
    try:
        found = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return Library(NAME)
    noted = found.read_text("direct_url.json")
    return Library(source_in(noted)) if noted else Library(f"{NAME}>={found.version}")


def source_in(direct_url: str) -> str:
    """Return what the text of a `direct_url.json` names, as pip takes it."""
    noted = json.loads(direct_url)
    url: str = noted["url"]
    if "vcs_info" in noted:
        within = f"#subdirectory={noted['subdirectory']}" if "subdirectory" in noted else ""
        return f"{noted['vcs_info']['vcs']}+{url}@{noted['vcs_info']['commit_id']}{within}"
    return unquote(urlsplit(url).path) if url.startswith("file://") else url
