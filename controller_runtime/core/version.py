# SPDX-License-Identifier: Apache-2.0
"""The version of the installed package."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_PREFIX, _SUFFIX = "controller_runtime-", ".dist-info"


def installed_version(folders: Sequence[str]) -> str:
    """Return the version of the first distribution installed in `folders` (directories or archives); else "unreleased".

    The version is read from the name of the directory that an installer makes. `importlib.metadata` reads the same
    names, but imports parsers of e-mail, CSV and archives, a tenth of what an idle manager imports. So it is used only
    for an archive, or for the older form of directory that has the version in a file.
    """
    others = []
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            others.append(folder)
            continue
        except OSError:
            continue
        for name in names:
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
                return name[len(_PREFIX) : -len(_SUFFIX)]
        others += [folder for name in names if name.startswith("controller_runtime") and name.endswith(".egg-info")]
    return _version_in(others) if others else "unreleased"  # as in a clone


def _version_in(folders: Sequence[str]) -> str:
    from importlib import metadata

    try:
        return next(iter(metadata.distributions(name="controller-runtime", path=[*folders]))).version
    except StopIteration:
        return "unreleased"


__version__ = installed_version(sys.path)
