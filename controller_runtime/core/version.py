# SPDX-License-Identifier: Apache-2.0
"""The version of the installed package."""

from __future__ import annotations

from importlib import metadata

try:
    __version__ = metadata.version("controller-runtime")
except metadata.PackageNotFoundError:  # run from a clone
    __version__ = "unreleased"
