# SPDX-License-Identifier: Apache-2.0
"""The one suite of a process. Clients keep configuration and connections in global variables, so there is only one."""

from __future__ import annotations

from apimachinery.errors import UsageError
from embedded_apiserver.testing.suite import Suite

suite: Suite | None = None
"""The suite; None before a plugin or a mixin has begun it."""


def begin(*, changes_environment: bool, prepare: bool = True) -> Suite:
    """Create this process's suite, unless it exists, and return it.

    Args:
        changes_environment: True to set `KUBECONFIG` to the server's kubeconfig.
        prepare: True to change the environment now, rather than at the first use.
    """
    global suite
    if suite is None:
        suite = Suite(changes_environment=changes_environment)
    if prepare:
        suite.prepare()
    return suite


def present() -> Suite:
    """Return this process's suite.

    Raises:
        UsageError: There is no suite yet.
    """
    if suite is None:
        raise UsageError("no suite of tests has begun: load the plugin embedded_apiserver.pytest_plugin")
    return suite


def end() -> None:
    """Close this process's suite. Idempotent."""
    global suite
    ended, suite = suite, None
    if ended is not None:
        ended.close()
