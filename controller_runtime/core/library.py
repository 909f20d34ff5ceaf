# SPDX-License-Identifier: Apache-2.0
"""The source from which pip installs this library and the distributions next to it, for messages and new operators.

They are on no index yet, so a requirement by name would not be found. pip records where it installed a distribution
from, unless that was an index or a folder of wheels (PEP 610, `direct_url.json`), and the four of this project lie
together: in one clone, one repository, or one folder of wheels.
"""

from __future__ import annotations

import json
import re
import shlex
from importlib import metadata
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

import attrs

NAME = "controller-runtime"
_GROUND, _SERVER, _CONTROLLERS = "controller-runtime-apimachinery", "embedded-apiserver", f"{NAME}-controllers"
_FOLDERS = {_GROUND: "apimachinery", _SERVER: "apiserver", _CONTROLLERS: "controllers"}
_VERSION = r"\s*(?:[<>~]=?|[=!]=|===)\s*[\w.*+!-]+\s*"
_BY_NAME = re.compile(  # PEP 508, with a marker that is not looked into
    rf"{NAME}\s*(\[[\w, -]*\])?(?:{_VERSION}(?:,{_VERSION})*)?\s*(?:;[\w\s.<>=!~()\"'-]+)?", re.ASCII | re.IGNORECASE
)
_ARCHIVE = re.compile(rf"{NAME.replace('-', '_')}(-[^/]+\.(?:whl|tar\.gz))$")
FOR_CONTROLLERS = "testing,cli,agent"
"""The extras of the library that the bundled controllers require."""


@attrs.frozen
class Library:
    """The source from which pip installs this library.

    Attributes:
        source: A folder, a wheel, a URL, or a requirement by name such as `controller-runtime>=1.0`.
    """

    source: str

    @property
    def is_by_name(self) -> bool:
        """Whether `source` is a requirement by name, which pip looks up in an index or in folders that it is given."""
        return bool(_BY_NAME.fullmatch(self.source))

    @property
    def is_place(self) -> bool:
        """Whether `source` is written as a path or a URL.

        A single word is a name to pip, even if a folder has that name.
        """
        return "/" in self.source

    @property
    def is_local(self) -> bool:
        """Whether `source` is a path on this machine, which another machine does not have."""
        return not self.is_by_name and not _is_url(self.source)

    def elsewhere(self, clone: str) -> Library:
        """Return the source to use on another machine: a local path becomes one below the folder `clone`."""
        if not self.is_local:
            return self
        archive = PurePosixPath(self.source).name
        return Library(f"{clone}/{archive}" if _ARCHIVE.search(self.source) else f"{clone}/")

    def requirements(self, extras: str = "", *, controllers: bool = False) -> list[str]:
        """Return the arguments of `pip install` that install the library and the distributions that it requires.

        Args:
            extras: Extras of the library, such as `testing,cli`; `testing` requires the embedded server.
            controllers: Also install the bundled controllers. They require the extras `FOR_CONTROLLERS`, which then
                replace `extras`.
        """
        extras = FOR_CONTROLLERS if controllers else extras
        server = [_SERVER] if "testing" in extras.split(",") else []
        last = [_CONTROLLERS] if controllers else []
        if self.is_by_name:  # pip finds what it requires where it finds the library
            return [re.sub(rf"^{NAME}(\[[^]]*\])?", NAME + _in_brackets(extras), self.source), *last]
        library = self._of(NAME, extras)
        return [*(self._of(each) for each in [_GROUND, *server]), library, *(self._of(each) for each in last)]

    def command(self, extras: str = "", *more: str, controllers: bool = False) -> str:
        """Return the command line that installs `requirements`, together with the packages `more`.

        The other arguments are those of `requirements`.
        """
        return shlex.join(["pip", "install", *self.requirements(extras, controllers=controllers), *more])

    def remedy(self, extras: str = "", *, controllers: bool = False) -> str:
        """Return `command` for a message, with a note if pip finds the library by name, since no index has it yet."""
        note = "" if not self.is_by_name else " (on no index yet: add --find-links with the folder of its wheels)"
        return self.command(extras, controllers=controllers) + note

    def _of(self, distribution: str, extras: str = "") -> str:
        place = self._place_of(distribution)
        return f"{distribution}{_in_brackets(extras)} @ {place}" if _is_url(place) else place + _in_brackets(extras)

    def _place_of(self, distribution: str) -> str:
        if distribution == NAME:
            return self.source
        if _ARCHIVE.search(self.source):
            return _ARCHIVE.sub(rf"{distribution.replace('-', '_')}\1", self.source)
        if not _is_url(self.source):
            return f"{self.source.rstrip('/')}/{_FOLDERS[distribution]}"  # "./x" is a folder, and "x" a name
        repository, _, within = self.source.partition("#subdirectory=")
        return f"{repository}#subdirectory={PurePosixPath(within) / _FOLDERS[distribution]}"


def installed_library() -> Library:
    """Return the source of the installed library: its name, if pip recorded no other source or it is not installed."""
    found = [*metadata.distributions(name=NAME)]
    for each in found:  # a clone that is on the path comes first, with metadata that a build has left
        if noted := each.read_text("direct_url.json"):
            return Library(source_in(noted))
    return Library(f"{NAME}>={found[0].version}" if found else NAME)


def source_in(direct_url: str) -> str:
    """Return the source that the text of a `direct_url.json` records, in the form that `pip install` takes."""
    noted = json.loads(direct_url)
    url: str = noted["url"]
    if "vcs_info" in noted:
        within = f"#subdirectory={noted['subdirectory']}" if "subdirectory" in noted else ""
        return f"{noted['vcs_info']['vcs']}+{url}@{noted['vcs_info']['commit_id']}{within}"
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def _is_url(text: str) -> bool:
    return bool(re.match(r"(\w+\+)?\w+://", text))


def _in_brackets(extras: str) -> str:
    return f"[{extras}]" if extras else ""
