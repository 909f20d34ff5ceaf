# SPDX-License-Identifier: Apache-2.0
"""The official client in whichever release is installed: its number, and its configurations."""

from __future__ import annotations

from typing import Any

import kubernetes
import pytest
from kubernetes.client import Configuration

RELEASE = int(kubernetes.__version__.partition(".")[0])
"""The major version of the official client."""


def since(release: int, what: str) -> pytest.MarkDecorator:
    """Skip a test that needs what the official client has since a release, where an older one is installed."""
    return pytest.mark.skipif(
        release > RELEASE, reason=f"the official client has {what} since {release}; this is {kubernetes.__version__}"
    )


def configured(host: str, **attributes: Any) -> Configuration:
    """A configuration with these attributes, which older releases take one by one and not when it is made."""
    made = Configuration(host=host)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made
